//! `openssl s_server` in its own process.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc;

use super::socket::{Folder, PATIENCE, Process};

/// Emulates a server that predates RFC 7627.
const OLD: &str = "openssl_conf = init\n[init]\nssl_conf = ssl\n[ssl]\nsystem_default = default\n\
     [default]\nOptions = -ExtendedMasterSecret\n";

/// Returns `None`, with a message, if `openssl` is not installed; fails in CI.
pub(crate) fn start(name: &str, arguments: &[&str]) -> Option<Process> {
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
    let mut server = Process::start(&mut command, folder)?;
    // s_server prints its address: `ACCEPT 127.0.0.1:PORT`
    let lines = BufReader::new(server.child.stdout.take().unwrap()).lines();
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            if let Some(port) = line.strip_prefix("ACCEPT ").and_then(|l| l.rsplit(':').next()) {
                let _ = tell.send(port.trim().parse::<u16>().unwrap());
            }
        }
    });
    server.port = told.recv_timeout(PATIENCE).expect("s_server says where it listens");
    Some(server)
}
