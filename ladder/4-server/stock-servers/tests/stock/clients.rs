//! Clients of other TLS libraries complete handshakes with nginx and the provider: one for each
//! kind of key, version of TLS and group.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use tollgate_stock_servers::{Product, Running, Settings};

use crate::rig::{BYTES, certificate, counted, eventually, is_long, start, with_provider};

/// Clients of TLS libraries: program and arguments, with `{url}`, `{host}` and `{port}`.
const CLIENTS: [&str; 4] = [
    "openssl s_client -quiet -connect {host}:{port}",
    "curl --silent --insecure {url}",
    "gnutls-cli --insecure --logfile /dev/null --port {port} {host}",
    // NSS; -D: no database of certificates; -o: any certificate
    "tstclnt -D -o -h {host} -p {port}",
];

/// Clients that take seconds to start.
const SLOW: [&str; 3] = [
    concat!("go run ", env!("CARGO_MANIFEST_DIR"), "/tests/stock/clients/fetch.go {url}"),
    concat!("java ", env!("CARGO_MANIFEST_DIR"), "/tests/stock/clients/Fetch.java {url}"),
    "chromium --headless --no-sandbox --disable-gpu --ignore-certificate-errors --dump-dom {url}",
];

/// Fetches a body; returns whether the program is installed. In CI, every program is.
fn fetch(client: &str, running: &Running) -> bool {
    let (address, target) = (running.address(), format!("/bytes/{BYTES}"));
    let command = client
        .replace("{url}", &format!("https://{address}{target}"))
        .replace("{host}", &address.ip().to_string())
        .replace("{port}", &address.port().to_string());
    let [stock, path] =
        ["TOLLGATE_STOCK", "PATH"].map(|name| env::var_os(name).unwrap_or_default());
    // curl ignores it. tstclnt does not end if its input is a pipe.
    let request = Path::new(env!("CARGO_TARGET_TMPDIR")).join(address.port().to_string());
    fs::write(&request, format!("GET {target} HTTP/1.0\r\n\r\n")).unwrap();
    let output = Command::new("timeout")
        .arg("120") // Go compiles its library first
        .args(command.split_whitespace())
        .env("PATH", [&*stock, &*path, OsStr::new("/usr/local/go/bin")].join(OsStr::new(":")))
        .env("OPENSSL_CONF", "/dev/null")
        .stdin(File::open(&request).unwrap())
        .output()
        .unwrap();
    fs::remove_file(request).unwrap();
    if output.status.code() == Some(127) {
        eprintln!("not tested: {command} is not installed");
        assert!(env::var_os("CI").is_none(), "CI has every client");
        return false;
    }
    let body = output.stdout.iter().filter(|&&byte| byte == b'x').count();
    assert!(body >= usize::try_from(BYTES).unwrap(), "{command}: {body} bytes; {output:?}");
    true
}

/// Returns settings that allow one group and one version of TLS.
fn settings(key: &str, group: &str, version: &str) -> Settings {
    let directives = [
        ("http.ssl_ecdh_curve", group),
        ("http.ssl_protocols", version),
        ("http.default_type", "text/plain"), // Chromium shows it
    ];
    Settings {
        certificate: certificate(key),
        provider: ["x25519", "ecdsa"].map(|curve| (curve.to_owned(), "on".to_owned())).into(),
        directives: directives.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        ..with_provider()
    }
}

const KEYS: [(&str, &str); 2] =
    [("rsa-2048.pem", "signatures"), ("ec-p256.pem", "ecdsa_signatures")];

/// The provider has signed each handshake, and has exchanged keys if the group is on X25519.
#[test]
fn clients_complete_handshakes() {
    for (group, is_ours) in [("X25519", true), ("P-256", false)] {
        for version in ["TLSv1.2", "TLSv1.3"] {
            all_complete_handshakes(&CLIENTS, (group, is_ours), version);
        }
    }
}

#[test]
fn clients_that_start_slowly_complete_handshakes() {
    if is_long() {
        for (group, is_ours) in [("X25519", true), ("P-256", false)] {
            all_complete_handshakes(&SLOW, (group, is_ours), "TLSv1.3");
        }
    }
}

/// Servers with OpenSSL 3.5 have the group, and the client of the same release.
#[test]
fn a_client_with_the_hybrid_group_completes_handshakes() {
    const GROUP: &str = "X25519MLKEM768";
    let plain = Settings { module: None, ..settings(KEYS[0].0, GROUP, "TLSv1.3") };
    if Product::Nginx.start(&plain).is_ok() {
        all_complete_handshakes(&CLIENTS[..1], (GROUP, true), "TLSv1.3");
    } else {
        eprintln!("not tested: before version 3.5, OpenSSL lacks {GROUP}");
    }
}

fn all_complete_handshakes(clients: &[&str], (group, is_ours): (&str, bool), version: &str) {
    for (key, signatures) in KEYS {
        let Some(running) = start(Product::Nginx, &settings(key, group, version)) else { return };
        let fetched = clients.iter().filter(|client| fetch(client, &running)).count();
        let fetched = u64::try_from(fetched).unwrap();
        // A browser makes further connections on its own.
        let may_be_more = clients.iter().any(|client| client.starts_with("chromium"));
        eventually(&format!("{key}, {version}, {group}: counts of {fetched} handshakes"), || {
            let [signed, agreed] =
                [signatures, "x25519_derivations"].map(|name| counted(&running, name));
            (signed == fetched || may_be_more && signed > fetched)
                && agreed == if is_ours { signed } else { 0 }
        });
    }
}
