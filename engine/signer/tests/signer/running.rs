//! The audit log, the metrics, draining, and a signer that starts again.

use core::time::Duration;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::thread;

use tollgate_keyless::{ErrorCode, PING};
use tollgate_signer::Signer;

use crate::rig::{Rig, SIGN, digest, is_valid, own_client, read, request, settings, ski};

fn own() -> String {
    own_client(r#"["site"]"#, r#"["sign"]"#)
}

#[test]
fn the_audit_log_has_each_operation_and_no_payload() {
    let rig = Rig::start(r#"["site"]"#, r#"["sign"]"#);
    let mut client = rig.connect();
    let signature = client.run("rsa-2048.pem", SIGN, &digest()).unwrap();
    // It is there before the answer comes.
    let log = rig.audit();
    let name = ski("rsa-2048.pem").to_string();
    let line = log.lines().last().unwrap();
    for part in
        ["\"event\":\"operation\"", "\"client\":\"own\"", "sign-pkcs1v15-sha256", &name, "done"]
    {
        assert!(line.contains(part), "{part}: {line}");
    }
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert!(!log.contains(&hex(&digest())[..16]) && !log.contains(&hex(&signature)[..16]));
    let mode = fs::metadata(rig.folder.path("audit.log")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7, 0, "others cannot read it");

    fs::rename(rig.folder.path("audit.log"), rig.folder.path("old.log")).unwrap();
    client.run("rsa-2048.pem", SIGN, &digest()).unwrap();
    rig.running.reopen_log().unwrap();
    client.run("rsa-2048.pem", SIGN, &digest()).unwrap();
    assert_eq!(rig.audit().lines().count(), 1);
}

/// The answers of the first batch find a peer that is gone. Its place may be another connection's
/// then.
#[test]
fn the_operations_of_a_lost_connection_are_nobody_s() {
    let rig = Rig::start(r#"["site"]"#, r#"["sign"]"#);
    let mut lost = rig.connect();
    let other = request(1, Some(ski("rsa-2048.pem")), SIGN.code(), &[7; 32]);
    lost.send(&other.repeat(64));
    drop(lost);
    rig.logged("\"outcome\":\"abandoned\"");
    let mut client = rig.connect();
    let signature = client.run("rsa-2048.pem", SIGN, &digest()).unwrap();
    assert!(is_valid("rsa-2048.pem", SIGN, &signature));
    assert_eq!(rig.running.counts().connections_open, 1);
}

/// No result leaves that is not in the log.
#[test]
fn operations_that_cannot_be_logged_are_refused() {
    let folder = crate::rig::Folder::new();
    let text = settings(&folder, &own())
        .replace(&folder.path("audit.log").display().to_string(), "/dev/full");
    let said = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let hear = std::sync::Arc::clone(&said);
    let say = move |line: &str| hear.lock().unwrap().push_str(line);
    let running = Signer::start(read(&folder, &text).unwrap(), say).unwrap();
    let stream = std::os::unix::net::UnixStream::connect(folder.path("socket")).unwrap();
    let mut client = crate::rig::Client::new(stream);
    for _ in 0..2 {
        let answer = client.run("rsa-2048.pem", SIGN, &digest());
        assert_eq!(answer, Err(ErrorCode::Internal));
    }
    assert_eq!(running.counts().audit_failures, 2);
    assert_eq!(said.lock().unwrap().matches("audit log").count(), 1, "said once");
}

#[test]
fn metrics_count_requests() {
    let rig = Rig::with("metrics = \"127.0.0.1:0\"\n", &own());
    let mut client = rig.connect();
    client.run("rsa-2048.pem", SIGN, &digest()).unwrap();
    assert!(client.run("rsa-4096.pem", SIGN, &digest()).is_err());
    let text = rig.metrics();
    assert!(!text.contains("gpu"), "there is none: {text}");
    for line in [
        "tollgate_signer_requests_total{kind=\"sign\",outcome=\"done\"} 1",
        "tollgate_signer_requests_total{kind=\"sign\",outcome=\"key-not-found\"} 1",
        "tollgate_signer_connections_open 1",
        "tollgate_signer_connections_total{kind=\"unix\"} 1",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
}

/// Requests that have come are answered; then connections and the socket are closed.
#[test]
fn a_stopping_signer_answers_what_has_come() {
    // The clients read after the stop. A socket holds so many answers, even if each came alone.
    const REQUESTS: u32 = 40;
    let rig = Rig::with("", &own());
    let mut clients = [rig.connect(), rig.connect()];
    for client in &mut clients {
        client.send(&request(1, None, PING, &[]));
        client.receive().unwrap(); // it is accepted
        for id in 0..REQUESTS {
            client.send(&request(id, Some(ski("rsa-2048.pem")), SIGN.code(), &digest()));
        }
    }
    let socket = rig.folder.path("socket");
    assert!(rig.running.responds(Duration::from_secs(20)));
    let report = rig.running.stop(Duration::from_secs(20));
    assert_eq!((report.connections_cut, report.workers_lost), (0, 0));
    for client in &mut clients {
        for _ in 0..REQUESTS {
            client.receive().expect("an answer");
        }
        assert_eq!(client.receive(), None);
    }
    assert_eq!(report.counts.requests_of("sign", "done"), u64::from(2 * REQUESTS));
    assert!(!socket.exists());
}

#[test]
fn a_stop_has_a_limit() {
    let rig = Rig::with("", &own());
    let mut stuck = rig.connect();
    let ping = request(1, None, PING, &[7; 4000]);
    stuck.stream.set_nonblocking(true).unwrap();
    // until the buffers of both directions are full
    let mut full = 0;
    while full < 20 {
        match stuck.stream.write_all(&ping) {
            Ok(()) => full = 0,
            Err(_) => {
                full += 1;
                thread::sleep(Duration::from_millis(10));
            }
        }
    }
    let report = rig.running.stop(Duration::from_millis(200));
    assert_eq!(report.connections_cut, 1);
}
