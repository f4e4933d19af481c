//! Clients of other TLS libraries complete handshakes with nginx and the provider: one for each
//! kind of key, version of TLS and group.

use std::env;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use tollgate_stock_servers::{Product, Running, Settings};

use crate::rig::{
    BYTES, GROUPS, HYBRID, certificate, counted, eventually, is_long, openssl_has_the_hybrid,
    program_path, start, with_directives, with_groups, with_provider,
};

/// The support of a client for the hybrid group.
#[derive(Clone, Copy, PartialEq)]
enum Hybrid {
    Has,
    Lacks,
    /// With OpenSSL 3.0, the provider has it.
    WithProvider,
}

/// A TLS library's client: program and arguments, with `{url}`, `{host}` and `{port}`.
type Client = (&'static str, Hybrid);

const CLIENTS: [Client; 5] = [
    ("openssl s_client -quiet -connect {host}:{port}", Hybrid::WithProvider),
    ("curl --silent --insecure {url}", Hybrid::WithProvider),
    (
        concat!(
            "/usr/bin/python3 ",
            env!("CARGO_MANIFEST_DIR"),
            "/tests/stock/clients/fetch.py {url}"
        ),
        Hybrid::WithProvider,
    ),
    ("gnutls-cli --insecure --logfile /dev/null --port {port} {host}", Hybrid::Lacks),
    // NSS; -D: no database of certificates; -o: any certificate
    ("tstclnt -D -o -h {host} -p {port}", Hybrid::Lacks),
];

/// Clients that take seconds to start.
const SLOW: [Client; 3] = [
    (
        concat!("go run ", env!("CARGO_MANIFEST_DIR"), "/tests/stock/clients/fetch.go {url}"),
        Hybrid::Has,
    ),
    (
        concat!("java ", env!("CARGO_MANIFEST_DIR"), "/tests/stock/clients/Fetch.java {url}"),
        Hybrid::Lacks,
    ),
    (
        concat!(
            "chromium --headless --no-sandbox --disable-gpu ",
            "--ignore-certificate-errors --dump-dom {url}"
        ),
        Hybrid::Has,
    ),
];

/// Fetches a body; returns whether the program is installed. In CI, every program is.
fn fetch(client: &str, conf: &Path, running: &Running) -> bool {
    let (address, target) = (running.address(), format!("/bytes/{BYTES}"));
    let command = client
        .replace("{url}", &format!("https://{address}{target}"))
        .replace("{host}", &address.ip().to_string())
        .replace("{port}", &address.port().to_string());
    // curl ignores it. tstclnt does not end if its input is a pipe.
    let request = Path::new(env!("CARGO_TARGET_TMPDIR")).join(address.port().to_string());
    fs::write(&request, format!("GET {target} HTTP/1.0\r\n\r\n")).unwrap();
    let output = Command::new("timeout")
        .arg("120") // Go compiles its library first
        .args(command.split_whitespace())
        .env("PATH", program_path())
        .env("OPENSSL_CONF", conf)
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

/// Returns settings that allow these groups and one version of TLS. Their `OPENSSL_CONF` is for
/// clients too.
fn settings(key: &str, groups: &str, version: &str) -> Settings {
    let directives = [
        ("http.ssl_protocols", version),
        ("http.default_type", "text/plain"), // Chromium shows it
        ("openssl.Groups", GROUPS),
    ];
    let provider = [("ecdsa".to_owned(), "on".to_owned())].into();
    let settings = Settings { certificate: certificate(key), provider, ..with_provider() };
    with_groups(Product::Nginx, groups, with_directives(&directives, settings))
}

const KEYS: [(&str, &str); 2] =
    [("rsa-2048.pem", "signatures"), ("ec-p256.pem", "ecdsa_signatures")];

const HYBRID_OR_X25519: &str = "X25519MLKEM768:X25519";

#[test]
fn clients_complete_handshakes() {
    for groups in ["X25519", "P-256", HYBRID_OR_X25519] {
        for version in ["TLSv1.2", "TLSv1.3"] {
            all_complete_handshakes(&CLIENTS, groups, version);
        }
    }
}

#[test]
fn clients_that_start_slowly_complete_handshakes() {
    if is_long() {
        for groups in ["X25519", "P-256", HYBRID_OR_X25519] {
            all_complete_handshakes(&SLOW, groups, "TLSv1.3");
        }
    }
}

/// The client of OpenSSL 3.5 has the group without the provider.
#[test]
fn openssl_s_own_hybrid_group_agrees() {
    if openssl_has_the_hybrid() {
        all_complete_handshakes(&[(CLIENTS[0].0, Hybrid::Has)], HYBRID, "TLSv1.3");
    } else {
        eprintln!("not tested: before version 3.5, OpenSSL lacks {HYBRID}");
    }
}

/// The provider has signed each handshake, and has exchanged keys if the group is one of its own,
/// in clients with the hybrid group too.
fn all_complete_handshakes(clients: &[Client], groups: &str, version: &str) {
    for (key, signatures) in KEYS {
        let Some(running) = start(Product::Nginx, &settings(key, groups, version)) else { return };
        let mut expected = [0; 4];
        for &(command, has) in clients {
            let is_hybrid = groups.contains(HYBRID) && version == "TLSv1.3" && has != Hybrid::Lacks;
            let provides = is_hybrid && has == Hybrid::WithProvider;
            let conf = running.folder().join("openssl.cnf");
            let conf = if provides { &conf } else { Path::new("/dev/null") };
            if fetch(command, conf, &running) {
                let agrees = !is_hybrid && groups.contains("X25519");
                for (sum, is) in expected.iter_mut().zip([true, agrees, is_hybrid, provides]) {
                    *sum += u64::from(is);
                }
            }
        }
        // A browser makes further connections on its own.
        let may_be_more = clients.iter().any(|(command, _)| command.starts_with("chromium"));
        eventually(&format!("{key}, {version}, {groups}: counts {expected:?}"), || {
            let counts = [signatures, "x25519_derivations", "encapsulations", "decapsulations"]
                .map(|name| counted(&running, name));
            let is = |(count, expected): (&u64, &u64)| {
                count == expected || may_be_more && *expected > 0 && count > expected
            };
            counts.iter().zip(&expected).all(is)
        });
    }
}
