//! `tollgate bench URL --client-cert`: servers that require a client certificate.

use core::time::Duration;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use tollgate_server::{Certificate, KeyKind};

use crate::bench::bench;
use crate::program::{Scratch, keys, refused, scratch, text};

/// `openssl s_server`, killed when dropped.
pub(crate) struct SServer {
    child: Child,
    pub(crate) url: String,
}

/// Writes `body`, `key.pem` and `chain.pem` for [`SServer`] into a new folder.
pub(crate) fn files_of_server(name: &str) -> Scratch {
    let folder = scratch(name);
    fs::create_dir_all(&folder).unwrap();
    let made = Certificate::SelfSigned(KeyKind::EcdsaP256).to_pem().unwrap();
    let Certificate::Pem { chain, key } = made else { panic!("texts were made") };
    fs::write(folder.join("body"), "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc").unwrap();
    fs::write(folder.join("chain.pem"), chain).unwrap();
    fs::write(folder.join("key.pem"), &*key).unwrap();
    folder
}

impl SServer {
    /// Starts the server in a folder of [`files_of_server`].
    pub(crate) fn start(folder: &Path, arguments: &[&str]) -> Self {
        // the server does not print its port, so choose one that was free a moment ago
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let address = format!("127.0.0.1:{port}");
        let child = Command::new("openssl")
            .args(["s_server", "-WWW", "-accept", &address])
            .args(["-cert", "chain.pem", "-key", "key.pem"])
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let start = Instant::now();
        while TcpStream::connect(&address).is_err() {
            assert!(start.elapsed() < Duration::from_secs(20), "nobody listens on {address}");
            std::thread::sleep(Duration::from_millis(10));
        }
        Self { child, url: format!("https://{address}/body") }
    }
}

impl Drop for SServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn clients_send_their_certificate_on_request() {
    let folder = files_of_server("shown");
    // the server's own certificate is also the client certificate that it accepts
    let verify = ["-Verify", "1", "-verify_return_error", "-CAfile", "chain.pem"];
    let server = SServer::start(&folder, &verify);
    let file = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let with = |chain: &str, key: &str| {
        bench(&[&server.url, "--rounds", "1", "--client-cert", chain, "--client-key", key])
    };
    refused(
        &bench(&[&server.url]),
        "certificate_required (116) in phase confirm; the server requires",
    );
    let other = keys().join("rsa-2048.pem").to_str().unwrap().to_owned();
    refused(&with(&file("chain.pem"), &other), "client certificate and key do not fit");
    refused(&with(&file("body"), &file("key.pem")), "client certificate and key do not fit");
    refused(&with(&file("chain.pem"), &file("body")), "no private key");
    let stdout = text(&with(&file("chain.pem"), &file("key.pem")));
    assert!(stdout.contains("a certificate to show (ecdsa-p256)"), "{stdout}");
    let counted = stdout.lines().find(|line| line.contains("the client counted")).unwrap();
    assert!(!counted.contains("counted 0 ") && counted.contains(" 0 failures"), "{counted}");
    drop(server);
}
