//! Faults while clients come without a pause: every response is in the log once, what is lost is
//! counted, and no wait is longer than its limit.

use core::time::Duration;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::thread;
use std::time::Instant;

use rustix::process::{Resource, Signal};
use tollgate_server::log::{Line, Outcome, read};
use tollgate_server::{Config, Engine, Notify, Redis, RedisCounters, Resumption, Sessions};

use crate::apart::Apart;
use crate::load::Load;
use crate::proxy::{Backend, proxy_to, request};
use crate::rig::{
    Folder, Log, Rig, TIMEOUT, bytes, certify, client_hello, connect, eventually, keys, response,
    tcp,
};
use crate::sessions::{RedisServer, free_address};

/// A back end that answers `/bytes/N` as the server itself does.
fn backend() -> Backend {
    Backend::start(|socket| {
        while let Some((head, _)) = request(socket) {
            let body = bytes(asked(&head));
            write!(socket, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).unwrap();
            socket.write_all(&body).unwrap();
        }
    })
}

/// Returns N of `GET /bytes/N`.
fn asked(head: &str) -> usize {
    let number = head.strip_prefix("GET /bytes/").unwrap().split(' ').next().unwrap();
    number.parse().unwrap()
}

#[test]
fn a_stop_under_load_loses_no_line_and_answers_nothing_twice() {
    let backend = backend();
    for proxy in [None, Some(proxy_to(&[&backend]))] {
        let rig = Rig::start(Config { workers: 2, proxy, ..Config::default() });
        let load = Load::start(&[rig.running.addr()], 6);
        load.until_more(200);
        let log = rig.finish();
        let seen = load.end();
        assert!(seen.whole.len() >= 200 && seen.longest < TIMEOUT, "{:?}", seen.longest);
        seen.agrees_with(&[log]);
    }
}

/// Clients that give up while they wait for an overloaded server.
#[test]
fn a_client_that_has_closed_before_its_handshake_costs_no_signature() {
    let server = Apart::start_with("workers = 1\nengine = \"tollgate\"", "", &[]);
    server.pause();
    let signature_algorithms = [0, 13, 0, 4, 0, 2, 4, 1]; // rsa_pkcs1_sha256
    let hello = client_hello(&[[0xc0, 0x2f]], &signature_algorithms);
    for _ in 0..20 {
        tcp(server.address).write_all(&hello).unwrap();
    }
    server.go_on();
    drop(connect(server.address));
    let (ended, folder) = server.stop();
    assert_eq!(ended.signatures, 1);
    let log = Log::of(&folder);
    let reasons: Vec<_> =
        log.handshakes().into_iter().filter_map(|line| line.reason.as_deref()).collect();
    assert_eq!(reasons, ["closed"; 20]);
}

/// The limit of the stop is shorter than the responses take.
#[test]
fn a_stop_that_cuts_connections_says_so_in_the_log() {
    let slow = Backend::start(|socket| {
        while let Some((head, _)) = request(socket) {
            let body = bytes(asked(&head));
            write!(socket, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).unwrap();
            thread::sleep(Duration::from_millis(if body.len() > 30 { 2000 } else { 0 }));
            let _ = socket.write_all(&body);
        }
    });
    let rig =
        Rig::start(Config { workers: 2, proxy: Some(proxy_to(&[&slow])), ..Config::default() });
    let load = Load::start(&[rig.running.addr()], 6);
    load.until_more(31);
    eventually("slow responses", || rig.running.counters().responses[1] == 31 + 6);
    let report = rig.running.stop(Duration::from_millis(100));
    let seen = load.end();
    assert_eq!((report.connections_cut, report.counters.requests_cut), (6, 6));
    assert!(report.took < TIMEOUT && report.log_complete);
    assert_eq!(seen.cut.len(), 6);
    seen.agrees_with(&[Log::of(&rig.folder)]);
}

#[test]
fn a_back_end_that_dies_in_bodies_cuts_these_responses_only() {
    const SENT: usize = 100;
    let dying = Backend::start(|socket| {
        while let Some((head, _)) = request(socket) {
            let body = bytes(asked(&head) + 2 * SENT);
            write!(socket, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).unwrap();
            if asked(&head).is_multiple_of(5) {
                return socket.write_all(&body[..SENT]).unwrap();
            }
            socket.write_all(&body).unwrap();
        }
    });
    let rig =
        Rig::start(Config { workers: 2, proxy: Some(proxy_to(&[&dying])), ..Config::default() });
    let load = Load::start(&[rig.running.addr()], 6);
    load.until_more(400);
    let seen = load.end();
    let is_cut =
        |target: &str| target["/bytes/".len()..].parse::<usize>().unwrap().is_multiple_of(5);
    assert!(seen.cut.len() > 80 && seen.cut.iter().all(|target| is_cut(target)), "{:?}", seen.cut);
    assert!(!seen.whole.keys().any(|target| is_cut(target)));
    assert_eq!((seen.with_status(200), seen.unconnected), (seen.whole.len(), 0));
    rig.until_closed();
    let counters = rig.running.counters();
    assert_eq!(counters.requests_cut, seen.cut.len() as u64);
    let log = rig.finish();
    let cut = log
        .requests()
        .iter()
        .filter(|line| !line.complete)
        .map(|line| line.bytes)
        .collect::<Vec<_>>();
    assert_eq!(cut, vec![SENT as u64; seen.cut.len()]);
    seen.agrees_with(&[log]);
}

/// Redis hangs, is gone, has nonsense in place of sessions, and is back, one after the other.
#[test]
fn no_client_notices_that_redis_fails() {
    const LIMIT: Duration = Duration::from_millis(400);
    let address = free_address();
    let redis = RedisServer::start(address, &[]);
    let folder = Folder::new();
    let keys = folder.path("keys");
    fs::write(&keys, [7; 80]).unwrap();
    let redis_at = Redis { limit: LIMIT, ..Redis::at(address) };
    let config = Config {
        engine: Engine::OpenSsl,
        workers: 2,
        resumption: Resumption::Cache,
        sessions: Sessions { redis: Some(redis_at), ..Sessions::default() },
        ticket_keys: Some(keys),
        notify: Notify::new(|_| ()),
        ..Config::default()
    };
    let servers = [Rig::start(config.clone()), Rig::start(config)];
    let counts = |at: usize| servers[at].running.counters().sessions.unwrap().redis.unwrap();
    let until = |what: &str, check: &dyn Fn(RedisCounters) -> bool| {
        eventually(what, || check(counts(0)) && check(counts(1)));
    };
    let until_used = || {
        let before = [counts(0).found, counts(1).found];
        until("connections", &|it| it.workers == 2);
        eventually("resumptions", || (0..2).all(|at| counts(at).found > before[at]));
    };
    let addresses = [0, 1].map(|at: usize| servers[at].running.addr());
    let load = Load::start(&addresses, 4);
    until_used();

    redis.signal(Signal::STOP);
    until("no connections", &|it| it.workers == 0);
    load.until_more(100);
    redis.signal(Signal::CONT);
    until_used();

    drop(redis);
    until("no connections", &|it| it.workers == 0);
    load.until_more(100);

    let redis = RedisServer::start(address, &[]);
    until_used();
    let unreadable = [0, 1].map(|at| counts(at).unreadable);
    eventually("nonsense", || {
        redis.overwrite("nonsense");
        (0..2).all(|at| counts(at).unreadable > unreadable[at])
    });
    load.until_more(100);
    until_used();
    let seen = load.end();
    assert_eq!((seen.cut.len(), seen.unconnected), (0, 0), "{:?}", seen.cut);
    let logs = servers.map(|rig| {
        rig.until_closed();
        rig.finish()
    });
    let handshakes: Vec<_> = logs.iter().flat_map(|log| log.handshakes()).collect();
    let resumed = handshakes.iter().filter(|line| line.outcome == Outcome::Resumed).count();
    assert_eq!(resumed, seen.resumed);
    for line in handshakes {
        let took = Duration::from_micros(line.took_us);
        assert!(took < LIMIT + Duration::from_secs(1), "{took:?}");
    }
    seen.agrees_with(&logs);
}

/// The log's file may not grow for a while, as on a full disk.
#[test]
fn a_full_disk_loses_lines_that_are_counted_until_there_is_room() {
    let server = Apart::start("", &[]);
    let load = Load::start(&[server.address], 4);
    load.until_more(50);
    let log = server.folder.path("access.log");
    let length = fs::metadata(&log).unwrap().len();
    server.limit(Resource::Fsize, Some(length + 10_000));
    load.until_more(400);
    server.limit(Resource::Fsize, None);
    load.until_more(100);
    let seen = load.end();
    assert_eq!((seen.cut.len(), seen.unconnected), (0, 0), "no client notices");
    let (ended, folder) = server.stop();
    assert!(ended.log_lines_lost > 0 && !ended.log_complete, "{ended:?}");
    assert_eq!(ended.log_lines + ended.log_lines_lost, seen.connections + seen.whole.len());

    // at most one line is torn; all others are counted
    let text = fs::read_to_string(folder.path("access.log")).unwrap();
    let parsed: Vec<_> = text.lines().map(|line| read(format!("{line}\n").as_bytes())).collect();
    assert!(parsed.iter().filter(|it| it.is_err()).count() <= 1, "{text}");
    let lines: Vec<Line> = parsed.into_iter().flatten().flatten().collect();
    let lost: u64 = lines.iter().map(|it| if let Line::Lost(it) = it { it.lines } else { 0 }).sum();
    assert_eq!(lost, ended.log_lines_lost as u64);
    let is_counted = |line: &&Line| matches!(line, Line::Handshake(_) | Line::Request(_));
    assert_eq!(lines.iter().filter(is_counted).count(), ended.log_lines);
}

/// The server has fewer descriptors than clients and back ends need.
#[test]
fn without_descriptors_clients_wait_and_none_is_lost() {
    let backend = backend();
    let settings = format!("[proxy]\nbackends = [\"{}\"]", backend.address);
    let mut server = Apart::start(&settings, &[]);
    let load = Load::start(&[server.address], 16);
    load.until_more(50);
    let used = fs::read_dir(format!("/proc/{}/fd", server.id())).unwrap().count();
    server.limit(Resource::Nofile, Some(used as u64));
    load.until_more(100);
    server.limit(Resource::Nofile, Some(3)); // no new descriptor at all
    let refused = server.reload();
    assert!(refused.contains("Too many open files"), "{refused}");
    server.limit(Resource::Nofile, None);
    load.until_more(100);
    assert_eq!(server.reload(), "");
    let seen = load.end();
    assert_eq!((seen.cut.len(), seen.unconnected), (0, 0), "{:?}", seen.cut);
    assert!(seen.longest < TIMEOUT, "{:?}", seen.longest);
    // without a descriptor for the back end, a client that was accepted is refused
    let served = [200, 502, 503].map(|status| seen.with_status(status));
    assert_eq!(served.iter().sum::<usize>(), seen.whole.len(), "{served:?}");
    let (ended, folder) = server.stop();
    assert!(ended.log_complete && ended.descriptor_pauses > 0, "{ended:?}");
    seen.agrees_with(&[Log::of(&folder)]);
}

/// Sets the clock of the server, by the time that its file says.
fn set_clock(file: &Path, time: &str) {
    let new = file.with_extension("new");
    fs::write(&new, time).unwrap();
    fs::rename(new, file).unwrap();
}

/// The system's clock jumps by a day, forward and back. Limits do not notice it.
#[test]
#[allow(clippy::print_stdout, reason = "a skipped test is announced")]
fn a_clock_that_jumps_neither_ends_connections_nor_keeps_them() {
    const LIBRARY: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";
    if !Path::new(LIBRARY).exists() {
        assert!(std::env::var_os("CI").is_none(), "{LIBRARY} is missing");
        return println!("not run: {LIBRARY} is missing; install faketime");
    }
    let times = Folder::new();
    let clock = times.path("clock");
    set_clock(&clock, "+0");
    let variables = [
        ("LD_PRELOAD", LIBRARY.as_ref()),
        ("FAKETIME_TIMESTAMP_FILE", clock.as_os_str()),
        ("FAKETIME_NO_CACHE", "1".as_ref()),
        ("DONT_FAKE_MONOTONIC", "1".as_ref()),
    ];
    let server = Apart::start("resumption = \"cache\"\n[limits]\nidle = 2", &variables);
    let mut client = connect(server.address);
    let mut ask = || {
        client.write_all(b"GET /bytes/1 HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        let head = response(&mut client).0;
        head.lines().find_map(|line| line.strip_prefix("Date: ")).unwrap().to_owned()
    };
    let mut dates = vec![ask()];
    for time in ["+1d", "-1d", "+0"] {
        set_clock(&clock, time);
        thread::sleep(Duration::from_millis(200)); // two checks of the limits
        dates.push(ask());
    }
    let days: Vec<&str> = dates.iter().map(|date| &date[..7]).collect();
    assert!(days[1] != days[0] && days[2] != days[0] && days[3] == days[0], "{dates:?}");
    // the limit for idle connections ends them also if the clock goes back
    set_clock(&clock, "-1d");
    let begun = Instant::now();
    assert_eq!(client.read(&mut [0]).unwrap(), 0, "closed");
    assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
    let (ended, folder) = server.stop();
    assert!(ended.log_complete);
    let log = Log::of(&folder);
    let second = Duration::from_secs(1).as_micros();
    assert!(log.requests().iter().all(|line| u128::from(line.took_us) < second));
}

/// As `names::new_certificates_serve_new_connections_and_no_connection_is_lost`, for longer.
#[test]
#[ignore = "a minute: ./x test --long"]
fn a_reload_each_second_for_a_minute_loses_nothing() {
    let rig = Rig::start(Config { workers: 2, ..Config::default() });
    let load = Load::start(&[rig.running.addr()], 4);
    for _ in 0..60 {
        certify(&rig.folder, &keys().join("rsa-2048.pem")); // a new certificate
        rig.running.reload().unwrap();
        thread::sleep(Duration::from_secs(1));
    }
    let seen = load.end();
    assert_eq!((seen.cut.len(), seen.unconnected), (0, 0), "{:?}", seen.cut);
    rig.until_closed();
    let counters = rig.running.counters();
    assert_eq!(counters.handshakes_full, seen.connections as u64);
    seen.agrees_with(&[rig.finish()]);
}
