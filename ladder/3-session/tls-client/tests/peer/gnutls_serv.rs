//! `gnutls-serv` in its own process.

#![allow(clippy::print_stderr, reason = "a test that cannot run says so")]

use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use openssl::x509::X509;

use super::socket::{PATIENCE, connect};

/// A server that is killed when it is dropped.
pub(crate) struct Server {
    child: Child,
    port: u16,
    folder: PathBuf,
}

impl Server {
    /// Returns `None`, with a message, if `gnutls-serv` is not installed; fails in CI.
    pub(crate) fn start(name: &str, priority: &str, arguments: &[&str]) -> Option<Self> {
        let folder =
            std::env::temp_dir().join(format!("tollgate-gnutls-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut command = Command::new("gnutls-serv");
        for (kind, key) in [("rsa", super::RSA_2048), ("ec", super::EC_P256)] {
            let (certificate, _) = super::certificate(key);
            let pem = X509::from_der(&certificate).unwrap().to_pem().unwrap();
            let [key_path, path] =
                ["key", "certificate"].map(|what| folder.join(format!("{kind}-{what}.pem")));
            std::fs::write(&key_path, key).unwrap();
            std::fs::write(&path, pem).unwrap();
            command.arg("--x509keyfile").arg(key_path).arg("--x509certfile").arg(path);
        }
        // it does not print the port that it got, so choose one that was free a moment ago
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

    pub(crate) fn connect(&self) -> TcpStream {
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
