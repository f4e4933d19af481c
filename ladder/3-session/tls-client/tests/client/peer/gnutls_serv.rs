//! `gnutls-serv` in its own process.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::socket::{Folder, PATIENCE, Process, connect};

/// Returns `None`, with a message, if `gnutls-serv` is not installed; fails in CI.
pub(crate) fn start(name: &str, priority: &str, arguments: &[&str]) -> Option<Process> {
    let mut command = Command::new("gnutls-serv");
    for kind in ["rsa", "ec"] {
        command.arg(format!("--x509keyfile={kind}-key.pem"));
        command.arg(format!("--x509certfile={kind}-certificate.pem"));
    }
    // gnutls-serv does not print its port, so the test chooses a port that was free a moment ago
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    command
        .args(["--http", "--priority", priority, "--port", &port.to_string()])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut server = Process::start(&mut command, Folder::new(&format!("gnutls-{name}")))?;
    server.port = port;
    let start = Instant::now();
    while connect(port).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused) {
        assert!(start.elapsed() < PATIENCE, "gnutls-serv does not listen on port {port}");
        std::thread::sleep(core::time::Duration::from_millis(10));
    }
    Some(server)
}
