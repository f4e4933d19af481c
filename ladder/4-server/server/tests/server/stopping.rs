//! Stopping: the log is complete, and nothing is left behind.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;

use crate::rig::{self, Rig, connect, fetch, response};
use tollgate_server::log::{Line, Outcome};
use tollgate_server::{Config, Server};

#[test]
fn cut_connections_are_logged() {
    let rig = Rig::start(Config::default());
    let mut client = connect(rig.running.addr());
    client.write_all(b"GET /bytes/1073741824 HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    rig::head(&mut client);
    let shaking = rig::tcp(rig.running.addr());
    rig::eventually("both connections are open", || rig.running.counters().connections_open == 2);
    let report = rig.running.stop();
    assert_eq!(report.connections_cut, 2);
    assert_eq!(report.counters.requests_cut, 1);
    assert!(report.log_complete);
    let log = rig::Log::new(&rig.folder);
    assert!(!log.requests()[0].complete);
    let failed = log.handshakes().iter().filter(|line| line.outcome == Outcome::Failed).count();
    assert_eq!(failed, 1);
    drop((client, shaking));
}

#[test]
fn an_idle_server_stops_at_once_and_frees_the_port() {
    let first = Server::start(Config { workers: 3, ..Config::default() }).unwrap();
    let address = first.addr();
    assert_eq!(first.stop().workers_lost, 0);
    let second = Server::start(Config { address, ..Config::default() }).unwrap();
    assert_eq!(second.addr(), address);
    drop(second); // dropping stops the server too
    assert!(TcpStream::connect(address).is_err());
}

/// The log has exactly one line for each connection and each request.
#[test]
fn two_hundred_connections_are_logged() {
    let rig = Rig::start(Config { workers: 2, ..Config::default() });
    let url = rig.url("/bytes/100");
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let address = rig.running.addr();
            thread::spawn(move || {
                for n in 0..50 {
                    let mut client = connect(address);
                    for _ in 0..=(n % 2) {
                        let request = b"GET /bytes/14336 HTTP/1.1\r\nHost: a\r\n\r\n";
                        client.write_all(request).unwrap();
                        assert_eq!(response(&mut client).1.len(), 14_336);
                    }
                    // Some connections close with close_notify, others without.
                    if n % 3 != 0 {
                        client.shutdown().unwrap();
                    }
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    fetch(&[&url]);
    let cpu = rig.running.counters().worker_cpu;
    assert!(cpu.len() == 2 && cpu.iter().all(|time| *time < rig::TIMEOUT * 6));
    assert!(cpu.iter().any(|time| !time.is_zero()));
    let log = rig.finish();
    let (handshakes, requests) = (log.handshakes(), log.requests());
    assert_eq!(handshakes.len(), 201);
    assert!(handshakes.iter().all(|line| line.outcome == Outcome::Full));
    assert_eq!(requests.len(), 4 * 75 + 1);
    assert!(requests.iter().all(|line| line.complete && line.status == 200));
    let bytes: u64 = requests.iter().map(|line| line.bytes).sum();
    assert_eq!(bytes, 300 * 14_336 + 100);
    let mut numbers: Vec<_> = handshakes.iter().map(|line| line.connection).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 201, "every connection has a number of its own");
    assert!(matches!(log.0.first(), Some(Line::Start(_))));
    let last = log.0.last();
    assert!(matches!(last, Some(Line::Stop { lines: 502, lost: 0, .. })), "{last:?}");
}

#[test]
fn the_log_is_appended_to() {
    let folder = rig::Folder::new();
    let path = folder.path("access.log");
    for _ in 0..2 {
        let config = Config { access_log: Some(path.clone()), ..Config::default() };
        let running = Server::start(config).unwrap();
        fetch(&[&format!("https://{}/bytes/1", running.addr())]);
        assert!(running.stop().log_complete);
    }
    let events: Vec<_> = rig::Log::new(&folder)
        .0
        .iter()
        .map(|line| match line {
            Line::Handshake(_) => 'h',
            Line::Lost { .. } => 'l',
            Line::Request(_) => 'r',
            Line::Start(_) => 's',
            Line::Stop { .. } => 'e',
        })
        .collect();
    assert_eq!(events, ['s', 'h', 'r', 'e', 's', 'h', 'r', 'e']);
}

/// Sends `hundreds` times a hundred requests, and reads the responses.
fn pipeline(client: &mut (impl Read + Write), hundreds: u64) {
    let requests = b"GET /bytes/0 HTTP/1.1\r\nHost: a\r\n\r\n".repeat(100);
    for _ in 0..hundreds {
        client.write_all(&requests).unwrap();
        for _ in 0..100 {
            rig::head(client);
        }
    }
}

/// The log is a pipe that nobody reads.
#[test]
fn a_slow_log_counts_lost_lines_and_blocks_no_worker() {
    let folder = rig::Folder::new();
    let path = folder.path("pipe");
    assert!(rig::run("mkfifo", &[path.to_str().unwrap()], b"").status.success());
    let config = || Config { access_log: Some(path.clone()), ..Config::default() };
    let refused = Server::start(config()).unwrap_err().to_string();
    assert!(refused.contains("cannot append to the access log"), "{refused}");

    let _reader = fs::File::options().read(true).write(true).open(&path).unwrap();
    let running = Server::start(config()).unwrap();
    let mut client = connect(running.addr());
    pipeline(&mut client, 20);
    drop(client);
    rig::eventually("lines are lost", || running.counters().log_lines_lost > 0);
    let report = running.stop();
    assert!(!report.log_complete);
    let lines = report.counters.log_lines + report.counters.log_lines_lost;
    assert_eq!(lines, 2001);
}
