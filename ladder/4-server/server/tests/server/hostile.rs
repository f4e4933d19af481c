//! Invalid, slow and rude clients: no worker panics, and every wait ends.

use core::time::Duration;
use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::thread;
use std::time::Instant;

use crate::rig::{self, Log, Rig, TIMEOUT, bytes, connect, eventually, response, tcp};
use tollgate_server::{Config, Counters, Failure, Group};

const SHORT: Duration = Duration::from_millis(300);

/// Checks that the server still serves, on every worker.
fn alive(rig: &Rig) {
    for _ in 0..8 {
        let mut client = connect(rig.running.addr());
        client.write_all(rig::ONE_REQUEST.as_bytes()).unwrap();
        assert_eq!(response(&mut client).1, bytes(10));
    }
}

#[test]
fn garbage_instead_of_tls() {
    let rig = Rig::start(Config { workers: 2, ..Config::default() });
    let seed = 0x70_11;
    let mut random = fastrand::Rng::with_seed(seed);
    for round in 0..60 {
        let mut garbage: Vec<u8> = (0..random.usize(1..3000)).map(|_| random.u8(..)).collect();
        // One third of the inputs begins with a valid record header. Another third begins like a
        // valid ClientHello.
        match round % 3 {
            0 => {}
            1 => garbage.splice(0..0, [22, 3, 1, 0x40, 0]).for_each(drop),
            _ => garbage.splice(0..0, [22, 3, 1, 1, 0, 1, 0, 0, 252, 3, 3]).for_each(drop),
        }
        let mut client = tcp(rig.running.addr());
        // The server may have closed already.
        let _ = client.write_all(&garbage);
        // A client that has closed before the server reads its first bytes would count as that.
        client.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let _ = client.read_to_end(&mut Vec::new());
        let _ = client.shutdown(Shutdown::Write);
        client.set_read_timeout(Some(TIMEOUT)).unwrap();
        let _ = client.read_to_end(&mut Vec::new());
    }
    let mut client = tcp(rig.running.addr());
    client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = client.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP"), "plain HTTP is not answered");
    drop(client);
    drop(tcp(rig.running.addr())); // a connection without any bytes
    eventually("all connections are closed", || {
        rig.running.counters().handshakes_failed_total() == 62
    });
    let counters = rig.running.counters();
    assert_eq!(counters.handshakes_failed_total(), 62, "seed {seed}: {counters:?}");
    assert!(counters.failed(Failure::Violation) >= 20, "{counters:?}");
    assert!(counters.failed(Failure::Closed) >= 1, "{counters:?}");
    assert_eq!(counters.failed(Failure::Internal), 0, "{counters:?}");
    alive(&rig);
    let log = rig.finish();
    assert_eq!(log.handshakes().len(), 62 + 8);
}

/// A valid TLS 1.2 `ClientHello`, followed by a key share that is not a point on the curve.
#[test]
fn a_bad_key_share_counts_as_a_violation() {
    let rig = Rig::start(Config { groups: vec![Group::P256], ..Config::default() });
    let mut client = tcp(rig.running.addr());
    let extensions = [
        0, 13, 0, 6, 0, 4, 4, 1, 8, 4, // signature_algorithms: RSA with SHA-256, PSS
        0, 23, 0, 0, // extended_master_secret
    ];
    let hello = rig::client_hello(&[[0xc0, 0x2f]], &extensions);
    let key_exchange = rig::handshake_record(16, &[&[65, 4][..], &[9; 64]].concat());
    client.write_all(&[hello, key_exchange].concat()).unwrap();
    let _ = client.read_to_end(&mut Vec::new());
    eventually("the failure is counted", || rig.running.counters().handshakes_failed_total() == 1);
    let counters = rig.running.counters();
    assert_eq!(counters.failed(Failure::Violation), 1, "{counters:?}");
}

#[test]
fn garbage_instead_of_http() {
    let rig = Rig::start(Config { workers: 2, ..Config::default() });
    let seed = 0x70_12;
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..40 {
        let mut client = connect(rig.running.addr());
        let mut garbage = b"GET /bytes/10 HTTP/1.1\r\nHost: a\r\n\r\n".to_vec();
        for _ in 0..random.usize(1..6) {
            let at = random.usize(..garbage.len());
            garbage[at] = random.u8(..);
        }
        let _ = client.write_all(&garbage);
        let _ = client.get_ref().shutdown(Shutdown::Write);
        let _ = client.read_to_end(&mut Vec::new());
    }
    // A modified record.
    let mut client = connect(rig.running.addr());
    client.get_mut().write_all(&[23, 3, 3, 0, 20]).unwrap();
    client.get_mut().write_all(&[9; 20]).unwrap();
    assert_eq!(client.read(&mut [0]).unwrap_or(0), 0);
    alive(&rig);
    rig.until_closed();
    let counters = rig.running.counters();
    assert_eq!(counters.handshakes_full, 41 + 8);
    let log = rig.finish();
    let refused = log.requests().iter().filter(|line| line.status / 100 == 4).count();
    assert!(refused > 5, "seed {seed}: {counters:?}");
    let complete = log.requests().iter().filter(|line| line.complete).count() as u64;
    assert_eq!(complete, counters.requests);
}

/// Runs a client that reaches a short limit of a server, and checks the outcome.
fn meets(client: impl FnOnce(&Rig)) -> (Counters, Log) {
    let rig = Rig::start(Config { time_limit: SHORT, ..Config::default() });
    client(&rig);
    rig.until_closed();
    (rig.running.counters(), rig.finish())
}

#[test]
fn an_endless_handshake_times_out() {
    let (counters, _) = meets(|rig| {
        let mut half = tcp(rig.running.addr());
        half.write_all(&[22, 3, 1]).unwrap();
        for mut client in [tcp(rig.running.addr()), half] {
            let _ = client.read_to_end(&mut Vec::new());
        }
    });
    assert_eq!(counters.failed(Failure::Timeout), 2);
}

#[test]
fn idle_connections_and_endless_requests_are_closed() {
    for sent in ["", "GET /bytes/1 HTTP/1.1\r\nHo"] {
        let (counters, _) = meets(|rig| {
            let mut client = connect(rig.running.addr());
            client.write_all(sent.as_bytes()).unwrap();
            assert_eq!(client.read(&mut [0]).unwrap(), 0, "{sent:?}: closed with close_notify");
        });
        assert_eq!(counters.requests, 0);
    }
}

#[test]
fn an_unread_response_times_out() {
    let mut deaf = None;
    let (counters, log) = meets(|rig| {
        let mut client = connect(rig.running.addr());
        client.write_all(b"GET /bytes/1073741824 HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        eventually("the response is cut", || rig.running.counters().requests_cut == 1);
        deaf = Some(client);
    });
    assert_eq!((counters.requests, log.requests().len()), (0, 1));
    assert!(!log.requests()[0].complete);
    drop(deaf);
}

/// A single byte is not a request. If each byte restarted the timeout, this client would never
/// reach the timeout.
#[test]
fn a_slow_request_has_one_time_limit() {
    meets(|rig| {
        let mut client = connect(rig.running.addr());
        let begun = Instant::now();
        let request = b"GET /bytes/1 HTTP/1.1\r\nHost: aaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
        for byte in request.iter().cycle() {
            assert!(begun.elapsed() < TIMEOUT);
            if client.write_all(&[*byte]).is_err() {
                break;
            }
            thread::sleep(Duration::from_millis(20));
        }
    });
}

#[test]
fn closing_without_notice_is_logged() {
    let rig = Rig::start(Config::default());
    let client = connect(rig.running.addr());
    client.get_ref().shutdown(Shutdown::Both).unwrap(); // no close_notify
    rig.until_closed();
    let mut client = connect(rig.running.addr());
    client.write_all(b"GET /bytes/100000000 HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    client.read_exact(&mut [0; 1000]).unwrap();
    drop(client);
    rig.until_closed();
    let log = rig.finish();
    let line = log.requests()[0];
    assert!(!line.complete && line.bytes < 100_000_000);
}
