//! Clients of other TLS libraries complete handshakes with nginx and the provider: one for each
//! kind of key, version of TLS and group.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use tollgate_stock_servers::{Product, Running, Settings};

use crate::rig::{BYTES, certificate, counted, eventually, is_long, start, with_provider};

/// A client of a TLS library.
struct Client {
    library: &'static str,
    /// Program and arguments, with `{url}`, `{host}` and `{port}`.
    command: &'static str,
    /// The client makes further connections on its own.
    is_browser: bool,
}

const fn client(library: &'static str, command: &'static str) -> Client {
    Client { library, command, is_browser: false }
}

const OPENSSL: Client = client("OpenSSL", "openssl s_client -quiet -connect {host}:{port}");
const GO: Client = client(
    "Go",
    concat!("go run ", env!("CARGO_MANIFEST_DIR"), "/tests/stock/clients/fetch.go {url}"),
);
const CHROMIUM: Client = Client {
    is_browser: true,
    ..client(
        "BoringSSL of Chromium",
        "chromium --headless --no-sandbox --disable-gpu --ignore-certificate-errors --dump-dom \
         {url}",
    )
};

const QUICK: [Client; 4] = [
    OPENSSL,
    client("curl", "curl --silent --insecure {url}"),
    client("GnuTLS", "gnutls-cli --insecure --logfile /dev/null --port {port} {host}"),
    // -D: no database of certificates; -o: any certificate
    client("NSS", "tstclnt -D -o -h {host} -p {port}"),
];

/// Clients that take seconds to start.
const SLOW: [Client; 3] = [
    GO,
    client(
        "Java",
        concat!("java ", env!("CARGO_MANIFEST_DIR"), "/tests/stock/clients/Fetch.java {url}"),
    ),
    CHROMIUM,
];

/// The result of a client that was not refused.
#[derive(PartialEq, Eq)]
enum Fetched {
    Body,
    /// There is no such program. In CI, every program is there.
    Missing,
}

impl Client {
    /// Fetches a body.
    ///
    /// # Errors
    ///
    /// The output of the program, if it lacks the body.
    fn fetch(&self, running: &Running) -> Result<Fetched, String> {
        let (address, path) = (running.address(), format!("/bytes/{BYTES}"));
        let command = self
            .command
            .replace("{url}", &format!("https://{address}{path}"))
            .replace("{host}", &address.ip().to_string())
            .replace("{port}", &address.port().to_string());
        let [first, rest] =
            ["TOLLGATE_STOCK", "PATH"].map(|name| env::var_os(name).unwrap_or_default());
        // Clients with an URL ignore it. tstclnt does not end if its input is a pipe.
        let request = Path::new(env!("CARGO_TARGET_TMPDIR")).join(address.port().to_string());
        fs::write(&request, format!("GET {path} HTTP/1.0\r\n\r\n")).unwrap();
        let output = Command::new("timeout")
            .arg("120") // Go compiles its library first
            .args(command.split_whitespace())
            .env("PATH", [&*first, &*rest, OsStr::new("/usr/local/go/bin")].join(OsStr::new(":")))
            .env("OPENSSL_CONF", "/dev/null")
            .stdin(File::open(&request).unwrap())
            .output()
            .unwrap();
        fs::remove_file(request).unwrap();
        assert_ne!(output.status.code(), Some(124), "no end of: {command}");
        if output.status.code() == Some(127) {
            eprintln!("not tested: {} is not installed", self.command);
            assert!(env::var_os("CI").is_none(), "CI has every client");
            return Ok(Fetched::Missing);
        }
        let body = output.stdout.iter().filter(|&&byte| byte == b'x').count();
        if body >= usize::try_from(BYTES).unwrap() {
            return Ok(Fetched::Body);
        }
        let said = [output.stdout, output.stderr].concat();
        Err(format!("{}: {body} bytes; {}", self.library, String::from_utf8_lossy(&said)))
    }
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

/// Fetches with each client, and checks that the provider has signed each handshake, and that it
/// has exchanged keys if the group is on X25519.
fn all_complete_handshakes(clients: &[Client], group: &str, version: &str) {
    for (key, signatures) in KEYS {
        let Some(running) = start(Product::Nginx, &settings(key, group, version)) else { return };
        let mut fetched = 0;
        for client in clients {
            let result = client.fetch(&running);
            let result = result.unwrap_or_else(|why| panic!("{key}, {version}, {group}: {why}"));
            fetched += u64::from(result == Fetched::Body);
        }
        let may_be_more = clients.iter().any(|client| client.is_browser);
        eventually(&format!("{key}, {version}, {group}: counts of {fetched} handshakes"), || {
            let [signed, agreed] =
                [signatures, "x25519_derivations"].map(|name| counted(&running, name));
            let is_ours = group.starts_with('X');
            (signed == fetched || may_be_more && signed > fetched)
                && agreed == if is_ours { signed } else { 0 }
        });
    }
}

#[test]
fn clients_complete_handshakes() {
    for group in ["X25519", "P-256"] {
        for version in ["TLSv1.2", "TLSv1.3"] {
            all_complete_handshakes(&QUICK, group, version);
        }
    }
}

#[test]
fn clients_that_start_slowly_complete_handshakes() {
    if is_long() {
        for group in ["X25519", "P-256"] {
            all_complete_handshakes(&SLOW, group, "TLSv1.3");
        }
    }
}

/// Servers with OpenSSL 3.5 have the group. Clients that lack it cannot connect without the
/// provider either.
#[test]
fn clients_with_the_hybrid_group_complete_handshakes() {
    const GROUP: &str = "X25519MLKEM768";
    let plain = Settings { module: None, ..settings(KEYS[0].0, GROUP, "TLSv1.3") };
    let Ok(plain) = Product::Nginx.start(&plain) else {
        eprintln!("not tested: before version 3.5, OpenSSL lacks {GROUP}");
        return;
    };
    let clients = if is_long() { vec![OPENSSL, GO, CHROMIUM] } else { vec![OPENSSL] };
    for client in clients {
        match client.fetch(&plain) {
            Ok(_) => all_complete_handshakes(&[client], GROUP, "TLSv1.3"),
            Err(why) => {
                assert_ne!(client.library, OPENSSL.library, "the server's own release: {why}");
                eprintln!("not tested: {} lacks {GROUP}", client.library);
            }
        }
    }
}
