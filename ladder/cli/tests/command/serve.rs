//! `tollgate serve`: from its first line to its final report.

use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use crate::program::{Serve, keys, refused, run, scratch, signal};

#[test]
fn the_signing_provider_and_the_final_counts_are_printed() {
    let mut serve = Serve::start("serve.log", &["--engine", "openssl", "--key-type", "ecdsa-p256"]);
    for line in ["certificate: ecdsa-p256, self-signed", "engine: openssl", "provider \"default\""]
    {
        assert!(serve.said.contains(line), "{line:?} in {}", serve.said);
    }
    // not TLS: the handshake fails, and the server closes the connection
    let mut client = TcpStream::connect(&serve.address).unwrap();
    std::io::Write::write_all(&mut client, b"GET /\r\n\r\n").unwrap();
    let _ = client.read_to_end(&mut Vec::new());
    while fs::read_to_string(&serve.log).unwrap().lines().count() < 2 {
        std::thread::yield_now();
    }
    signal("TERM", serve.child.id());
    let mut report = String::new();
    serve.stdout.read_to_string(&mut report).unwrap();
    assert_eq!(serve.child.wait().unwrap().code(), Some(0), "{report}");
    assert!(report.contains("handshakes: 0 full, 0 resumed, 1 failed (violation 1)"), "{report}");
    assert!(report.contains("log: 1 lines, 0 lost"), "{report}");
    let log = fs::read_to_string(&serve.log).unwrap();
    assert!(log.lines().last().unwrap().contains("\"stop\""), "{log}");
}

/// The log may have no more than a block of 512 or 1024 bytes: as on a full disk, lines are lost.
#[test]
fn lost_lines_of_the_log_are_reported_at_the_end() {
    let log = scratch("full.log");
    let limited = "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"";
    let mut child = Command::new("sh")
        .args([
            "-c",
            limited,
            env!("CARGO_BIN_EXE_tollgate-ladder"),
            "serve",
            "--address",
            "127.0.0.1:0",
        ])
        .args(["--key-type", "ecdsa-p256", "--access-log", log.name()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    stdout.read_line(&mut first).unwrap();
    let address = first.trim().trim_start_matches("listening on https://").trim_end_matches('/');
    for _ in 0..20 {
        let mut client = TcpStream::connect(address).unwrap();
        // not TLS: the handshake fails, and the server closes the connection
        std::io::Write::write_all(&mut client, b"GET /\r\n\r\n").unwrap();
        let _ = client.read_to_end(&mut Vec::new());
    }
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    stderr.read_line(&mut said).unwrap();
    assert!(said.contains("log"), "{said}");
    signal("TERM", child.id());
    let mut report = String::new();
    stdout.read_to_string(&mut report).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{report}");
    assert!(report.contains(" lost, INCOMPLETE"), "{report}");
    let counts = report.split("log: ").nth(1).unwrap();
    let numbers: Vec<u64> = counts.split(' ').filter_map(|word| word.parse().ok()).collect();
    assert_eq!(numbers.iter().sum::<u64>(), 20, "written and lost: {report}");
    assert!(fs::metadata(&log).unwrap().len() <= 1024);
}

#[test]
fn impossible_configurations_give_one_line() {
    let first = Serve::start("first.log", &[]);
    let serve = |flags: &[&str]| run(&[&["serve", "--address", "127.0.0.1:0"], flags].concat());
    refused(&run(&["serve", "--address", &first.address]), "the port is in use");
    refused(&serve(&["--cert", "/no/such.pem", "--key", "/no/such.pem"]), "/no/such.pem");
    refused(&serve(&["--cert", "x.pem"]), "--key");
    refused(&serve(&["--key-type", "rsa-1024"]), "rsa-2048");
    refused(&serve(&["--workers", "2", "--cores", "0"]), "one core per worker");
    // the engine supports RSA and ECDSA with P-256
    refused(&serve(&["--key-type", "ecdsa-p384"]), "ecdsa-p384");
    refused(&serve(&["--protocol", "ssl3"]), "tls13");
    refused(&serve(&["--access-log", "/no/such/folder/log"]), "/no/such/folder/log");
    refused(&run(&["serve", "--address", "localhost:1"]), "localhost:1");
}

#[test]
fn missing_descriptors_and_permissions_are_reported() {
    let command = format!(
        "ulimit -n 5; exec {} serve --address 127.0.0.1:0",
        env!("CARGO_BIN_EXE_tollgate-ladder")
    );
    let output = Command::new("sh").args(["-c", &command]).output().unwrap();
    refused(&output, "no file descriptors left");

    let key = scratch("unreadable.pem");
    fs::copy(keys().join("rsa-2048.pem"), &key).unwrap();
    fs::set_permissions(&key, Permissions::from_mode(0o0)).unwrap();
    if fs::read(&key).is_ok() {
        println!("skipped: this user may read everything");
    } else {
        let name = key.name();
        refused(&run(&["serve", "--cert", name, "--key", name]), name);
        refused(&run(&["serve", "--address", "127.0.0.1:1"]), "no permission");
    }
}
