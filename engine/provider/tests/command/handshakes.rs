//! Handshakes of `openssl s_client` with `s_server`: the counters show which operations were this
//! provider's.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use crate::host::openssl_conf::Folder;
use crate::host::{has_curves, pem};

const COUNTERS: [&str; 5] =
    ["signatures", "decryptions", "x25519_generations", "x25519_derivations", "ecdsa_signatures"];

/// `openssl s_server`, killed at the end.
struct Server(Child);

impl Server {
    /// Starts the server on a free port, and reads the port from its output.
    fn start(mut command: Command) -> (Self, String) {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let server = Self(child);
        let mut addresses = lines.map_while(Result::ok);
        let address = addresses.find_map(|line| line.strip_prefix("ACCEPT ").map(str::to_owned));
        (server, address.expect("s_server listens"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The server may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Which ends have the module.
#[derive(Clone, Copy, PartialEq)]
enum With {
    Server,
    Client,
}

/// Performs one handshake, and returns the counts of the end with the module.
fn handshake(folder: &Folder, with: With, server: &str, client: &str) -> [u64; 5] {
    let before = COUNTERS.map(|name| folder.counted(name).0);
    let certificates = "-CAfile cert.pem -verify_return_error";
    let words = format!("s_server -accept 127.0.0.1:0 -naccept 1 -www {certificates} {server}");
    let (mut running, address) = Server::start(folder.command(with == With::Server, &words));
    let words = format!("s_client -connect {address} {certificates} {client}");
    let client = folder.command_under("timeout 20", with == With::Client, &words);
    let output = { client }.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{server} {words}: {said}");
    running.0.wait().unwrap();
    let after = COUNTERS.map(|name| folder.counted(name).0);
    core::array::from_fn(|i| after[i] - before[i])
}

/// Returns a folder with this key, and a certificate of it.
fn folder(lines: &str, key: &str) -> Folder {
    let folder = Folder::new();
    folder.configure_counted(lines);
    folder.write("key.pem", pem(key).as_bytes());
    folder.openssl(false, "req -x509 -key key.pem -subj /CN=localhost -out cert.pem");
    folder
}

const TLS12: &str = "-tls1_2 -cipher ECDHE-RSA-AES128-GCM-SHA256";
const SERVER: &str = "-cert cert.pem -key key.pem -cipher ALL:@SECLEVEL=0";

#[test]
fn servers_sign_and_decrypt_with_rsa() {
    for (key, ours) in [("rsa-2048.pem", 1), ("rsa-3072.pem", 1), ("rsa-2048-3primes.pem", 0)] {
        let folder = folder("x25519 = off", key);
        for (client, signs) in [
            ("-tls1_3", true),
            ("-tls1_3 -sigalgs rsa_pss_rsae_sha512", true),
            (TLS12, true),
            (&format!("{TLS12} -sigalgs RSA+SHA384"), true),
            ("-tls1_2 -cipher AES128-GCM-SHA256", false),
            ("-tls1_2 -cipher AES128-SHA", false),
            // These signatures use MD5 and SHA-1, concatenated.
            ("-tls1 -cipher ECDHE-RSA-AES128-SHA:@SECLEVEL=0", true),
            ("-tls1_1 -cipher ECDHE-RSA-AES128-SHA:@SECLEVEL=0", true),
        ] {
            let expected = if signs { [ours, 0, 0, 0, 0] } else { [0, ours, 0, 0, 0] };
            let modes = if key == "rsa-2048.pem" { &["", "-async"][..] } else { &[""] };
            for mode in modes {
                let server = format!("{SERVER} {mode}");
                let counts = handshake(&folder, With::Server, &server, client);
                assert_eq!(counts, expected, "{key} {mode} {client}");
            }
        }
    }
}

/// The empty query is that of nginx, Apache and HAProxy; the second one is that of stunnel.
#[test]
fn keys_are_exchanged_with_x25519() {
    if !has_curves() {
        return;
    }
    let folder = folder("x25519 = on", "rsa-2048.pem");
    for query in ["", "-propquery provider!=fips"] {
        for (of_server, of_client, ours) in [
            ("X25519:P-256", "X25519:P-256", 1),
            ("X25519:P-256", "P-256", 0),
            ("P-256", "X25519:P-256", 0), // in TLS 1.3, after a HelloRetryRequest
            ("X25519", "P-256:X25519", 1), // as above
        ] {
            for version in ["-tls1_3", TLS12] {
                let server = format!("{SERVER} -groups {of_server} {query}");
                let client = format!("{version} -groups {of_client}");
                let counts = handshake(&folder, With::Server, &server, &client);
                assert_eq!(counts, [1, 0, ours, ours, 0], "{server} {client}");
            }
        }
    }
    for (groups, ours) in [("X25519", 1), ("P-256", 0)] {
        for version in ["-tls1_3", TLS12] {
            let client = format!("{version} -groups {groups}");
            let [.., made, derived, _] = handshake(&folder, With::Client, SERVER, &client);
            assert_eq!([made, derived], [ours; 2], "{client}");
        }
    }
}

#[test]
fn keys_on_p256_sign() {
    if !has_curves() {
        return;
    }
    let folder = folder("ecdsa = on\nx25519 = off", "ec-p256.pem");
    for query in ["", "-propquery provider!=fips"] {
        for client in [
            "-tls1_3",
            "-tls1_2 -sigalgs ECDSA+SHA256",
            "-tls1_2 -sigalgs ECDSA+SHA384",
            "-tls1_2 -sigalgs ECDSA+SHA512 -groups P-384:P-256",
        ] {
            let counts = handshake(&folder, With::Server, &format!("{SERVER} {query}"), client);
            assert_eq!(counts, [0, 0, 0, 0, 1], "{query} {client}");
        }
    }
    folder.openssl(false, "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384 -out key.pem");
    folder.openssl(false, "req -x509 -key key.pem -subj /CN=localhost -out cert.pem");
    for version in ["-tls1_3", "-tls1_2"] {
        let client = format!("{version} -groups P-384:P-256");
        assert_eq!(handshake(&folder, With::Server, SERVER, &client), [0; 5], "{client}");
    }
}

/// The client's key signs too, and the server verifies.
#[test]
fn clients_with_certificates_sign() {
    for (key, expected) in [("rsa-2048.pem", [1, 0, 0, 0, 0]), ("ec-p256.pem", [0, 0, 0, 0, 1])] {
        if key == "ec-p256.pem" && !has_curves() {
            continue;
        }
        let folder = folder("ecdsa = on\nx25519 = off", key);
        for with in [With::Server, With::Client] {
            for version in ["-tls1_3", "-tls1_2"] {
                let client = format!("{version} -cert cert.pem -key key.pem");
                let counts = handshake(&folder, with, &format!("{SERVER} -Verify 1"), &client);
                assert_eq!(counts, expected, "{key} {client}");
            }
        }
    }
}
