//! Stopping: running work is completed, and nothing is left behind.

use core::time::Duration;
use std::fs;
use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::thread;

use crate::rig::{self, Rig, Valve, bytes, connect, fetch, response};
use tollgate_server::log::{Line, Outcome, Reader, read};
use tollgate_server::{Config, End, Notice, Notify, Server};

const LONG: usize = 30_000_000;

#[test]
fn a_running_download_is_completed() {
    let rig = Rig::start(Config { workers: 2, ..Config::default() });
    let address = rig.running.addr();
    let mut client = connect(address);
    let mut idle = connect(address);
    idle.write_all(b"GET /bytes/1 HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    assert_eq!(response(&mut idle).1, bytes(1));
    client.write_all(format!("GET /bytes/{LONG} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()).unwrap();
    rig::head(&mut client);
    let stopping = thread::spawn(move || rig.finish());
    // The listener closes first; the download is still running.
    rig::eventually("no new connections", || TcpStream::connect(address).is_err());
    assert_eq!(idle.read(&mut [0]).unwrap(), 0, "an idle connection is closed with close_notify");
    drop(idle);
    let mut body = vec![0; LONG];
    client.read_exact(&mut body).unwrap();
    assert!(body == bytes(LONG));
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
    drop(client);
    let log = stopping.join().unwrap();
    let lengths: Vec<_> = log.requests().iter().map(|line| (line.bytes, line.complete)).collect();
    assert!(lengths.contains(&(LONG as u64, true)) && lengths.contains(&(1, true)), "{lengths:?}");
}

/// The client is in the middle of its handshake when the server stops, and sends no request.
#[test]
fn a_running_handshake_is_completed_without_delay() {
    let rig = Rig::start(Config::default());
    let address = rig.running.addr();
    let mut client = rig::client(Valve { socket: rig::tcp(address), reads: false, held: None });
    assert!(client.connect().is_err(), "only the ClientHello was sent");
    rig::eventually("the connection is open", || rig.running.counters().connections_open == 1);
    let stopping = thread::spawn(move || rig.finish());
    rig::eventually("no new connections", || TcpStream::connect(address).is_err());
    client.get_mut().reads = true;
    client.connect().unwrap();
    assert_eq!(client.read(&mut [0]).unwrap(), 0, "closed with close_notify");
    drop(client);
    let log = stopping.join().unwrap();
    let handshakes = log.handshakes();
    let first = handshakes.iter().find(|line| line.connection == 1).unwrap();
    assert_eq!(first.outcome, Outcome::Full);
}

#[test]
fn timeouts_are_logged() {
    let rig = Rig::start(Config::default());
    let mut client = connect(rig.running.addr());
    client.write_all(b"GET /bytes/1073741824 HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    rig::head(&mut client);
    let shaking = rig::tcp(rig.running.addr());
    rig::eventually("both connections are open", || rig.running.counters().connections_open == 2);
    let report = rig.running.stop(Duration::from_millis(300));
    assert_eq!(report.connections_cut, 2);
    assert_eq!((report.counters.requests_cut, report.counters.ended(End::Stopped)), (1, 1));
    assert!(report.log_complete);
    let log = rig::Log::of(&rig.folder);
    assert!(!log.requests()[0].complete);
    let failed = log.handshakes().iter().filter(|line| line.outcome == Outcome::Failed).count();
    assert_eq!(failed, 1);
    drop((client, shaking));
}

#[test]
fn an_idle_server_stops_at_once_and_frees_the_port() {
    let first = Server::start(Config { workers: 3, ..Config::default() }).unwrap();
    let address = first.addr();
    let report = first.stop(Duration::from_secs(30));
    assert!(report.took < rig::TIMEOUT, "{:?}", report.took);
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
    let Some(Line::Stop(stop)) = log.0.last() else { panic!("no stop line") };
    assert_eq!((stop.lines, stop.lost), (201 + 301, 0));
}

#[test]
fn the_log_is_appended_to() {
    let folder = rig::Folder::new();
    let path = folder.path("access.log");
    for _ in 0..2 {
        let config = Config { access_log: Some(path.clone()), ..Config::default() };
        let running = Server::start(config).unwrap();
        fetch(&[&format!("https://{}/bytes/1", running.addr())]);
        assert!(running.stop(rig::TIMEOUT).log_complete);
    }
    let lines = read(&*fs::read(&path).unwrap()).unwrap();
    let events: Vec<_> = lines
        .iter()
        .map(|line| match line {
            Line::Handshake(_) => 'h',
            Line::Lost(_) => 'l',
            Line::Request(_) => 'r',
            Line::Start(_) => 's',
            Line::Stop(_) => 'e',
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

/// The log is a full pipe without a reader.
#[test]
fn a_slow_log_counts_lost_lines_and_blocks_no_worker() {
    const REQUESTS: u64 = 45_000; // more than pipe, queue and worker can hold
    let folder = rig::Folder::new();
    let path = folder.path("pipe");
    assert!(rig::run("mkfifo", &[path.to_str().unwrap()], b"").status.success());
    let config = || Config { access_log: Some(path.clone()), ..Config::default() };
    let refused = Server::start(config()).unwrap_err().to_string();
    assert!(refused.contains("cannot append to the access log"), "{refused}");

    let reader = fs::File::options().read(true).write(true).open(&path).unwrap();
    let (said, notify) = rig::notices();
    let running = Server::start(Config { notify, ..config() }).unwrap();
    let mut client = connect(running.addr());
    pipeline(&mut client, REQUESTS / 100);
    client.shutdown().unwrap();
    drop(client);
    rig::eventually("lines are lost", || running.counters().log_lines_lost > 0);
    rig::eventually("a notice is sent", || !said.lock().unwrap().is_empty());
    assert_eq!(*said.lock().unwrap(), [Notice::LogLost], "one notice");

    // Read the pipe again: the kept lines arrive, and one line gives the number of lost lines.
    let reading = thread::spawn(move || {
        let mut lines = Vec::new();
        for line in Reader::new(BufReader::new(reader)) {
            lines.push(line.unwrap());
            if matches!(lines.last(), Some(Line::Stop(_))) {
                return lines;
            }
        }
        unreachable!("the pipe stays open");
    });
    let report = running.stop(rig::TIMEOUT);
    assert!(!report.log_complete);
    let lines = reading.join().unwrap();
    let Some(Line::Stop(stop)) = lines.last() else { unreachable!("checked by the reader") };
    let holes = lines.iter().filter_map(|line| match line {
        Line::Lost(lost) => Some(lost.lines),
        _ => None,
    });
    assert_eq!(holes.sum::<u64>(), stop.lost);
    assert_eq!(stop.lines + stop.lost, REQUESTS + 1);
    assert_eq!(stop.lost, report.counters.log_lines_lost);
}

#[test]
fn a_blocked_log_does_not_delay_the_stop() {
    let folder = rig::Folder::new();
    let path = folder.path("pipe");
    assert!(rig::run("mkfifo", &[path.to_str().unwrap()], b"").status.success());
    let _reader = fs::File::options().read(true).write(true).open(&path).unwrap();
    let quiet = Notify::new(|_| ());
    let config = Config { access_log: Some(path), notify: quiet, ..Config::default() };
    let running = Server::start(config).unwrap();
    let mut client = connect(running.addr());
    pipeline(&mut client, 10);
    drop(client);
    let report = running.stop(Duration::ZERO);
    assert!(report.took < rig::TIMEOUT, "{:?}", report.took);
    assert!(!report.log_complete);
}
