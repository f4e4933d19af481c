//! `openssl s_server` in its own process.

#![allow(clippy::print_stderr, reason = "a test that cannot run says so")]

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use openssl::x509::X509;

use super::socket::{PATIENCE, connect};

/// Emulates a server that predates RFC 7627.
const OLD: &str = "openssl_conf = init\n[init]\nssl_conf = ssl\n[ssl]\nsystem_default = default\n\
     [default]\nOptions = -ExtendedMasterSecret\n";

/// A server that is killed when it is dropped.
pub(crate) struct Server {
    child: Child,
    port: u16,
    folder: PathBuf,
}

impl Server {
    /// Returns `None`, with a message, if `openssl` is not installed; fails in CI.
    pub(crate) fn start(name: &str, arguments: &[&str]) -> Option<Self> {
        let folder =
            std::env::temp_dir().join(format!("tollgate-tls-client-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (certificate, _) = super::certificate(super::RSA_2048);
        let pem = X509::from_der(&certificate).unwrap().to_pem().unwrap();
        std::fs::write(folder.join("certificate.pem"), pem).unwrap();
        std::fs::write(folder.join("key.pem"), super::RSA_2048).unwrap();
        let (certificate, _) = super::certificate(super::EC_P256);
        let pem = X509::from_der(&certificate).unwrap().to_pem().unwrap();
        std::fs::write(folder.join("ec-certificate.pem"), pem).unwrap();
        std::fs::write(folder.join("ec-key.pem"), super::EC_P256).unwrap();
        std::fs::write(folder.join("old.cnf"), OLD).unwrap();
        let old = name == "old-master-secret";
        let child = Command::new("openssl")
            .args(["s_server", "-accept", "127.0.0.1:0", "-cert", "certificate.pem"])
            .args(["-key", "key.pem", "-naccept", "1000"])
            .args(["-dcert", "ec-certificate.pem", "-dkey", "ec-key.pem"])
            .args(arguments)
            .envs(old.then(|| ("OPENSSL_CONF", folder.join("old.cnf"))))
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut child = match child {
            Ok(child) => child,
            Err(error) => {
                assert!(std::env::var_os("CI").is_none(), "no openssl: {error}");
                eprintln!("skipped: no openssl command ({error})");
                return None;
            }
        };
        // it prints its address: `ACCEPT 127.0.0.1:PORT`
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            while lines.read_line(&mut line).is_ok_and(|count| count > 0) {
                if let Some(port) = line.strip_prefix("ACCEPT ").and_then(|l| l.rsplit(':').next())
                {
                    let _ = tell.send(port.trim().parse::<u16>().unwrap());
                }
                line.clear();
            }
        });
        let mut server = Self { child, port: 0, folder };
        server.port = told.recv_timeout(PATIENCE).expect("s_server says where it listens");
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
