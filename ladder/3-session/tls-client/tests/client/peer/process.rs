//! Servers in their own processes: `openssl s_server`.

#![allow(clippy::print_stderr, reason = "a test that cannot run says so")]

use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use openssl::x509::X509;

/// Timeout of every wait in these tests.
const PATIENCE: Duration = Duration::from_secs(10);

/// Emulates a server that predates RFC 7627.
const OLD: &str = "openssl_conf = init\n[init]\nssl_conf = ssl\n[ssl]\nsystem_default = default\n\
     [default]\nOptions = -ExtendedMasterSecret\n";

/// The folder of a server, with its keys and certificates.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tollgate-tls-client-{}-{number}-{name}", std::process::id());
        let folder = Self(std::env::temp_dir().join(name));
        std::fs::create_dir_all(&folder.0).unwrap();
        for (kind, key) in [("rsa", super::RSA_2048), ("ec", super::EC_P256)] {
            let (certificate, _) = super::certificate(key);
            let pem = X509::from_der(&certificate).unwrap().to_pem().unwrap();
            std::fs::write(folder.0.join(format!("{kind}-key.pem")), key).unwrap();
            std::fs::write(folder.0.join(format!("{kind}-certificate.pem")), pem).unwrap();
        }
        folder
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A server in its own process. Dropping this value kills the process.
pub(crate) struct Process {
    child: Child,
    port: u16,
    _folder: Folder,
}

impl Process {
    /// Returns `None`, with a message, if the program is not installed; fails in CI.
    fn start(command: &mut Command, folder: Folder) -> Option<Self> {
        match command.current_dir(&folder.0).spawn() {
            Ok(child) => Some(Self { child, port: 0, _folder: folder }),
            Err(error) => {
                let program = command.get_program().display();
                assert!(std::env::var_os("CI").is_none(), "no {program}: {error}");
                eprintln!("skipped: no {program} command ({error})");
                None
            }
        }
    }

    /// Starts `openssl s_server`, if it is installed.
    pub(crate) fn s_server(name: &str, arguments: &[&str]) -> Option<Self> {
        let folder = Folder::new(name);
        let old = folder.0.join("old.cnf");
        std::fs::write(&old, OLD).unwrap();
        let mut command = Command::new("openssl");
        command
            .args(["s_server", "-accept", "127.0.0.1:0", "-naccept", "1000"])
            .args(["-cert", "rsa-certificate.pem", "-key", "rsa-key.pem"])
            .args(["-dcert", "ec-certificate.pem", "-dkey", "ec-key.pem"])
            .args(arguments)
            .envs((name == "old-master-secret").then_some(("OPENSSL_CONF", old)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut server = Self::start(&mut command, folder)?;
        // s_server prints its address: `ACCEPT 127.0.0.1:PORT`
        let lines = BufReader::new(server.child.stdout.take().unwrap()).lines();
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                if let Some(port) = line.strip_prefix("ACCEPT ").and_then(|l| l.rsplit(':').next())
                {
                    let _ = tell.send(port.trim().parse::<u16>().unwrap());
                }
            }
        });
        server.port = told.recv_timeout(PATIENCE).expect("s_server says where it listens");
        Some(server)
    }

    pub(crate) fn connect(&self) -> TcpStream {
        connect(self.port).unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn connect(port: u16) -> std::io::Result<TcpStream> {
    let socket = TcpStream::connect(("127.0.0.1", port))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    Ok(socket)
}
