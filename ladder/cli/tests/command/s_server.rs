//! `openssl s_server` as the server of `tollgate bench URL`.

use core::time::Duration;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use tollgate_server::{Certificate, KeyKind};

use crate::program::{Scratch, scratch};

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
