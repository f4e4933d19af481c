//! Servers in their own processes: `openssl s_server`.

#![allow(clippy::print_stderr, reason = "a test that cannot run says so")]

use core::time::Duration;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use openssl::x509::X509;
use tempfile::TempDir;

/// Timeout of every wait in these tests.
const PATIENCE: Duration = Duration::from_secs(10);

/// The name of a server that predates RFC 7627.
pub(crate) const OLD_MASTER_SECRET: &str = "old-master-secret";

/// The configuration of that server.
const OLD: &str = "openssl_conf = init\n[init]\nssl_conf = ssl\n[ssl]\nsystem_default = default\n\
     [default]\nOptions = -ExtendedMasterSecret\n";

/// Returns the folder of a server, with its keys and certificates.
fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    for (kind, key) in [("rsa", super::RSA_2048), ("ec", super::EC_P256)] {
        let (certificate, _) = super::certificate(key);
        let pem = X509::from_der(&certificate).unwrap().to_pem().unwrap();
        std::fs::write(folder.path().join(format!("{kind}-key.pem")), key).unwrap();
        std::fs::write(folder.path().join(format!("{kind}-certificate.pem")), pem).unwrap();
    }
    folder
}

/// A server in its own process. Dropping this value kills the process.
pub(crate) struct Process {
    child: Child,
    port: u16,
    _folder: TempDir,
}

impl Process {
    /// Starts `openssl s_server`. Returns `None`, with a message, if the program is not installed;
    /// fails in CI.
    pub(crate) fn s_server(name: &str, arguments: &[&str]) -> Option<Self> {
        let folder = folder();
        let old = folder.path().join("old.cnf");
        std::fs::write(&old, OLD).unwrap();
        let mut command = Command::new("openssl");
        command
            .args(["s_server", "-accept", "127.0.0.1:0", "-naccept", "1000"])
            .args(["-cert", "rsa-certificate.pem", "-key", "rsa-key.pem"])
            .args(["-dcert", "ec-certificate.pem", "-dkey", "ec-key.pem"])
            .args(arguments)
            .envs((name == OLD_MASTER_SECRET).then_some(("OPENSSL_CONF", old)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .current_dir(folder.path());
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => {
                assert!(std::env::var_os("CI").is_none(), "no openssl: {error}");
                eprintln!("skipped: no openssl command ({error})");
                return None;
            }
        };
        // s_server prints its address: `ACCEPT 127.0.0.1:PORT`
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                if let Some(port) = line.strip_prefix("ACCEPT ").and_then(|l| l.rsplit(':').next())
                {
                    let _ = tell.send(port.trim().parse::<u16>().unwrap());
                }
            }
        });
        let mut server = Self { child, port: 0, _folder: folder };
        server.port = told.recv_timeout(PATIENCE).expect("s_server says where it listens");
        Some(server)
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let socket = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.set_write_timeout(Some(PATIENCE)).unwrap();
        socket
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
