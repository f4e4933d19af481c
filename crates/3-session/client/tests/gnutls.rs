//! Sessions with `gnutls-serv`, a process of its own: the oracle that has every suite, those of
//! 2001 too, and prime fields by their names in TLS 1.2.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

mod peer;

use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use openssl::x509::X509;
use peer::socket::{PATIENCE, connect, page};
use tollgate_client::{Group, KeyExchange, Settings, SignatureScheme, Suite};

/// All that `GnuTLS` can do in TLS 1.2 and 1.3.
const ALL: &str = "NORMAL:-VERS-ALL:+VERS-TLS1.2:+VERS-TLS1.3:+ARCFOUR-128:+3DES-CBC:\
     +AES-128-CBC:+AES-256-CBC:+SHA1:+SHA256:+SHA384:+RSA:+DHE-RSA:+GROUP-ALL";

/// A server that is killed when it is dropped.
struct Server {
    child: Child,
    port: u16,
    folder: PathBuf,
}

impl Server {
    /// `None`, said aloud, where there is no `gnutls-serv`; that is a failure in CI.
    fn start(name: &str, priority: &str, arguments: &[&str]) -> Option<Self> {
        let folder =
            std::env::temp_dir().join(format!("tollgate-gnutls-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut command = Command::new("gnutls-serv");
        for (kind, key) in [("rsa", peer::RSA_2048), ("ec", peer::EC_P256)] {
            let (certificate, _) = peer::certificate(key);
            let pem = X509::from_der(&certificate).unwrap().to_pem().unwrap();
            let [key_path, path] =
                ["key", "certificate"].map(|what| folder.join(format!("{kind}-{what}.pem")));
            std::fs::write(&key_path, key).unwrap();
            std::fs::write(&path, pem).unwrap();
            command.arg("--x509keyfile").arg(key_path).arg("--x509certfile").arg(path);
        }
        // it does not say which port it was given: this one was free a moment ago
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = command
            .args(["--http", "--priority", priority, "--port", &port.to_string()])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let child = match child {
            Ok(child) => child,
            Err(error) => {
                assert!(std::env::var_os("CI").is_none(), "no gnutls-serv: {error}");
                eprintln!("skipped: no gnutls-serv command ({error})");
                return None;
            }
        };
        let server = Self { child, port, folder };
        let start = Instant::now();
        while connect(port).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused) {
            assert!(start.elapsed() < PATIENCE, "gnutls-serv does not listen on port {port}");
            std::thread::sleep(core::time::Duration::from_millis(10));
        }
        Some(server)
    }

    fn connect(&self) -> TcpStream {
        connect(self.port).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// As `GnuTLS` spells it: `RSA_AES_128_CBC_SHA256`; of TLS 1.3 the cipher, `AES-128-GCM`.
fn name_of_gnutls(suite: Suite) -> String {
    let name = suite.name().trim_start_matches("TLS_").replace("WITH_", "");
    if suite.is_tls13() {
        let (cipher, _hash) = name.rsplit_once('_').unwrap();
        return cipher.replace('_', "-");
    }
    let name = name.replace("RC4", "ARCFOUR").replace("POLY1305_SHA256", "POLY1305");
    if name.ends_with("_SHA") { name + "1" } else { name }
}

#[test]
fn every_suite_carries_pages() {
    let Some(server) = Server::start("suites", ALL, &["--disable-client-cert"]) else { return };
    for suite in Suite::ALL {
        for encrypt_then_mac in [true, false] {
            let settings = Settings { encrypt_then_mac, ..Settings::new(suite) };
            let group = Some(settings.groups[0]).filter(|_| suite.has_group());
            let mut client = peer::client(settings);
            for _ in 0..2 {
                let text = String::from_utf8(page(server.connect(), &mut client)).unwrap();
                assert!(text.starts_with("HTTP/1.0 200 OK"), "{suite}: {text}");
                assert!(text.contains(&name_of_gnutls(suite)), "{suite}: {text}");
                let facts = client.facts();
                assert_eq!(facts.group, group, "{suite}");
                assert_eq!(facts.signature_verified, suite.exchange() != KeyExchange::Rsa);
                let covers = encrypt_then_mac && suite.cipher().is_cbc();
                assert_eq!(facts.encrypt_then_mac, covers, "{suite}");
                client.reset().unwrap();
            }
            if !suite.cipher().is_cbc() {
                break; // once is enough
            }
        }
    }
}

#[test]
fn every_group_of_either_version_agrees() {
    let Some(server) = Server::start("groups", ALL, &["--disable-client-cert"]) else { return };
    let ecdhe = Suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256;
    let dhe = Suite::TLS_DHE_RSA_WITH_AES_128_GCM_SHA256;
    let curves = [Group::X25519, Group::P256, Group::P384];
    let fields = [Group::Ffdhe2048, Group::Ffdhe3072, Group::Ffdhe4096];
    let tls13 = curves.into_iter().chain(fields).map(|g| (Suite::TLS_AES_256_GCM_SHA384, g));
    let old = curves.map(|group| (ecdhe, group)).into_iter().chain(fields.map(|g| (dhe, g)));
    for (suite, group) in old.chain(tls13) {
        let settings = Settings { groups: vec![group], ..Settings::new(suite) };
        let mut client = peer::client(settings);
        assert!(page(server.connect(), &mut client).starts_with(b"HTTP/1.0 200 OK"), "{group}");
        assert_eq!(client.facts().group, Some(group), "{suite}");
    }
}

#[test]
fn a_certificate_of_either_kind_is_asked_for_by_schemes() {
    let Some(server) = Server::start("schemes", ALL, &["--disable-client-cert"]) else { return };
    for (schemes, expected) in [
        (SignatureScheme::RSA.to_vec(), SignatureScheme::PssSha256),
        (SignatureScheme::CURVES.to_vec(), SignatureScheme::EcdsaSha256),
    ] {
        let settings = Settings { schemes, ..Settings::new(Suite::TLS_AES_128_GCM_SHA256) };
        let mut client = peer::client(settings);
        assert!(page(server.connect(), &mut client).starts_with(b"HTTP/1.0 200 OK"));
        assert_eq!(client.facts().signature, Some(expected));
    }
}
