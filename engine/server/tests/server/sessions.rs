//! The cache of sessions, and sessions that servers share through Redis.

use core::net::SocketAddr;
use core::time::Duration;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use tollgate_server::log::Outcome;
use tollgate_server::{Config, Engine, Notice, Redis, RedisCounters, Resumption, Sessions};

use crate::rig::{Folder, Notices, ONE_REQUEST, Rig, eventually, notices, s_client, tcp};

/// The longest wait for Redis in these tests: longer than a handshake takes on a busy machine.
const LIMIT: Duration = Duration::from_millis(400);

const VERSIONS: [&str; 2] = ["-tls1_2", "-tls1_3"];

/// A server of Redis on a free port of this machine, which ends with the test.
pub(crate) struct RedisServer {
    child: Child,
    address: SocketAddr,
}

impl RedisServer {
    pub(crate) fn start(address: SocketAddr, args: &[&str]) -> Self {
        let (ip, port) = (address.ip().to_string(), address.port().to_string());
        let child = Command::new("redis-server")
            .args(["--bind", &ip, "--port", &port, "--save", "", "--appendonly", "no"])
            .args(args)
            .current_dir(std::env::temp_dir())
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server is missing: install it (apt-get install redis-server)");
        let this = Self { child, address };
        eventually("redis-server", || TcpStream::connect(address).is_ok());
        this
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Replaces all values.
    pub(crate) fn overwrite(&self, value: &str) {
        let mut socket = tcp(self.address);
        let script =
            "for _, k in ipairs(redis.call('KEYS', '*')) do redis.call('SET', k, ARGV[1]) end";
        let parts = ["EVAL", script, "0", value];
        let parts: Vec<_> = parts.iter().map(|it| format!("${}\r\n{it}\r\n", it.len())).collect();
        write!(socket, "*4\r\n{}", parts.concat()).unwrap();
        let mut reply = [0; 5];
        socket.read_exact(&mut reply).unwrap();
        assert_eq!(&reply, b"$-1\r\n");
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// Servers with the same ticket keys that use one Redis.
struct Pair {
    servers: [Rig; 2],
    folder: Folder,
    notices: Notices,
}

impl Pair {
    fn start(redis: Redis, engine: Engine) -> Self {
        let folder = Folder::new();
        let keys = folder.path("keys");
        fs::write(&keys, [7; 160]).unwrap();
        let (notices, notify) = notices();
        let config = Config {
            engine,
            workers: 2,
            resumption: Resumption::Cache,
            sessions: Sessions { redis: Some(redis), ..Sessions::default() },
            ticket_keys: Some(keys),
            notify,
            ..Config::default()
        };
        let servers = [Rig::start(config.clone()), Rig::start(config)];
        Self { servers, folder, notices }
    }

    fn at(address: SocketAddr) -> Self {
        Self::start(Redis { limit: LIMIT, ..Redis::at(address) }, Engine::OpenSsl)
    }

    fn redis(&self, server: usize) -> RedisCounters {
        self.servers[server].running.counters().sessions.unwrap().redis.unwrap()
    }

    fn until_connected(&self) {
        for server in 0..2 {
            eventually("connections to Redis", || self.redis(server).workers == 2);
        }
    }

    /// Gets a session from a server.
    fn visit(&self, server: usize, version: &str) {
        let before = self.redis(server);
        assert!(!self.connect(server, version, "-sess_out"));
        let stores = |it: RedisCounters| it.stored + it.unstored;
        eventually("a store", || stores(self.redis(server)) > stores(before));
    }

    /// Offers the session to a server, and returns whether it resumed.
    fn resumes(&self, server: usize, version: &str) -> bool {
        self.connect(server, version, "-sess_in")
    }

    fn connect(&self, server: usize, version: &str, option: &str) -> bool {
        let file = self.folder.path("session");
        let args = [version, option, file.to_str().unwrap()];
        let (_, words) = s_client(self.servers[server].running.addr(), &args, ONE_REQUEST);
        assert!(words.contains("HTTP/1.1 200 OK"), "{words}");
        words.contains("Reused, ")
    }

    /// Returns the outcomes of one server's handshakes and the times that they took.
    fn finish(self) -> [Vec<(Outcome, Duration)>; 2] {
        self.servers.map(|rig| {
            rig.until_closed();
            let log = rig.finish();
            let mut lines = log.handshakes();
            lines.sort_by_key(|line| line.time_us);
            lines.iter().map(|it| (it.outcome, Duration::from_micros(it.took_us))).collect()
        })
    }
}

#[test]
fn servers_share_sessions_through_redis() {
    let redis = RedisServer::start(free_address(), &["--requirepass", "secret"]);
    let folder = Folder::new();
    let password = folder.path("password");
    fs::write(&password, "secret\n").unwrap();
    // the engine pauses handshakes, too
    for engine in [Engine::OpenSsl, Engine::Tollgate] {
        let password = Some(password.clone());
        let pair = Pair::start(Redis { password, ..Redis::at(redis.address) }, engine);
        pair.until_connected();
        for (already, version) in VERSIONS.iter().enumerate() {
            pair.visit(0, version);
            assert!(pair.resumes(1, version), "{version}");
            assert_eq!(pair.redis(1).found, 1 + already as u64);
            assert!(pair.resumes(1, version), "from memory, {version}");
            assert!(pair.resumes(0, version), "{version}");
        }
        let (first, second) = (pair.redis(0), pair.redis(1));
        assert_eq!((first.found, first.absent), (0, 0), "IDs of TLS 1.3 clients are not ours");
        assert_eq!((second.found, second.absent, second.unreadable), (2, 0, 0));
        let counters = pair.servers[1].running.counters().sessions.unwrap();
        assert_eq!((counters.found, counters.absent), (4, 0));
        assert!(pair.notices.lock().unwrap().is_empty());
        pair.finish();
    }
}

#[test]
fn changed_or_missing_sessions_in_redis_mean_full_handshakes() {
    let redis = RedisServer::start(free_address(), &[]);
    let pair = Pair::at(redis.address);
    pair.until_connected();
    for version in VERSIONS {
        pair.visit(0, version);
        redis.overwrite("nonsense");
        assert!(!pair.resumes(1, version), "{version}");
    }
    assert_eq!(pair.redis(1).unreadable, 2);
    pair.visit(0, "-tls1_2");
    let mut socket = tcp(redis.address);
    socket.write_all(b"FLUSHALL\r\n").unwrap();
    socket.read_exact(&mut [0; 5]).unwrap();
    assert!(!pair.resumes(1, "-tls1_2"));
    assert_eq!(pair.redis(1).absent, 1);
    assert!(pair.resumes(0, "-tls1_2"), "still in memory");
    // other keys: nobody asks
    fs::write(pair.folder.path("keys"), [8; 80]).unwrap();
    pair.servers[1].running.reload().unwrap();
    assert!(!pair.resumes(1, "-tls1_2"));
    let counts = pair.redis(1);
    assert_eq!((counts.found, counts.absent, counts.unreadable), (0, 1, 2));
    pair.finish();
}

#[test]
fn without_redis_handshakes_are_full_until_it_is_back() {
    let address = free_address();
    let redis = RedisServer::start(address, &[]);
    let pair = Pair::at(address);
    pair.until_connected();
    for version in VERSIONS {
        pair.visit(0, version);
    }
    drop(redis);
    eventually("a lost connection", || pair.redis(1).workers == 0);
    for version in VERSIONS {
        assert!(!pair.resumes(1, version), "{version}");
        // memory does without Redis
        assert!(!pair.connect(0, version, "-sess_out"));
        assert!(pair.resumes(0, version), "{version}");
    }
    let failure = |notice: &Notice| match notice {
        Notice::Redis { failure, .. } => failure.is_some(),
        other => panic!("{other}"),
    };
    let said: Vec<_> = pair.notices.lock().unwrap().iter().map(failure).collect();
    assert_eq!(said, [true, true], "each server says it once");
    let _redis = RedisServer::start(address, &[]);
    pair.until_connected();
    pair.visit(0, "-tls1_2");
    assert!(pair.resumes(1, "-tls1_2"));
    let said: Vec<_> = pair.notices.lock().unwrap().iter().map(failure).collect();
    assert_eq!(said, [true, true, false, false]);
    for (outcome, took) in pair.finish().concat() {
        assert!(took < LIMIT, "{outcome:?} took {took:?}");
    }
}

#[test]
fn a_redis_that_hangs_delays_one_handshake_of_a_worker_by_its_limit() {
    let redis = RedisServer::start(free_address(), &[]);
    let pair = Pair::at(redis.address);
    pair.until_connected();
    pair.visit(0, "-tls1_3");
    redis.signal(Signal::STOP);
    for _ in 0..6 {
        assert!(!pair.resumes(1, "-tls1_3"));
    }
    let counts = pair.redis(1);
    assert!((1..=2).contains(&counts.unanswered), "once for each worker: {counts:?}");
    redis.signal(Signal::CONT);
    pair.until_connected();
    assert!(pair.resumes(1, "-tls1_3"));
    let handshakes = pair.finish();
    let slow = handshakes[1].iter().filter(|(_, took)| *took >= LIMIT);
    assert_eq!(slow.clone().count() as u64, counts.unanswered);
    for (_, took) in slow {
        assert!(*took < LIMIT + Duration::from_millis(300), "{took:?}");
    }
}

/// Answers as Redis does until it is asked for a session; then sends these bytes.
fn impostor(answer: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for socket in listener.incoming() {
            let Ok(mut socket) = socket else { return };
            thread::spawn(move || {
                let mut piece = [0; 4096];
                while let Ok(count @ 1..) = socket.read(&mut piece) {
                    let asked = &piece[..count];
                    let is = |word: &[u8]| asked.windows(word.len()).any(|it| it == word);
                    let reply: &[u8] = match () {
                        () if is(b"PING") => b"+PONG\r\n",
                        () if is(b"SET") => b"+OK\r\n",
                        () => answer,
                    };
                    if reply.is_empty() || socket.write_all(reply).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

#[test]
fn nonsense_instead_of_sessions_means_full_handshakes() {
    let answers: [&[u8]; 6] = [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"$5\r\nhello\r\n",
        b"$1000000000\r\n",
        b"+OK\r\n+OK\r\n+OK\r\n",
        &[0; 100],
        b"", // closes
    ];
    for answer in answers {
        let pair = Pair::at(impostor(answer));
        pair.until_connected();
        pair.visit(0, "-tls1_2");
        assert!(!pair.resumes(1, "-tls1_2"), "{answer:?}");
        for (outcome, took) in pair.finish().concat() {
            assert!(outcome == Outcome::Full && took < LIMIT, "{answer:?}: {outcome:?} {took:?}");
        }
    }
}

#[test]
fn a_server_that_is_not_redis_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let talkative = thread::spawn(move || {
        for _ in 0..2 {
            let (mut socket, _) = listener.accept().unwrap();
            let _ = socket.write_all(b"220 mail.example ESMTP\r\n");
            let _ = socket.read(&mut [0]);
        }
    });
    let pair = Pair::at(address);
    eventually("two notices", || pair.notices.lock().unwrap().len() == 2);
    let notice = pair.notices.lock().unwrap()[0].to_string();
    let expected = "is not used (it answered what nobody asked for: is it Redis?), so sessions";
    assert!(notice.contains(expected), "{notice}");
    assert!(!pair.connect(0, "-tls1_2", "-sess_out"));
    assert!(pair.resumes(0, "-tls1_2"), "from memory");
    pair.finish();
    talkative.join().unwrap();
}

#[test]
fn workers_share_the_cache_in_memory() {
    let rig = Rig::start(Config {
        resumption: Resumption::Cache,
        sessions: Sessions { sessions_max: 1000, redis: None },
        workers: 4,
        ..Config::default()
    });
    let file = rig.folder.path("session");
    let file = file.to_str().unwrap();
    for version in VERSIONS {
        for (option, resumes) in [("-sess_out", false), ("-sess_in", true), ("-sess_in", true)] {
            let (_, words) = s_client(rig.running.addr(), &[version, option, file], ONE_REQUEST);
            assert_eq!(words.contains("Reused, "), resumes, "{version} {option}: {words}");
        }
    }
    let counters = rig.running.counters().sessions.unwrap();
    assert_eq!((counters.found, counters.absent, counters.redis), (4, 0, None));
    // new sessions: one of TLS 1.2, and one for each connection with TLS 1.3
    assert_eq!((counters.stored, counters.sessions, counters.evicted), (4, 4, 0));
    let metrics = crate::rig::fetch(&[&rig.url("/metrics")]);
    let metrics = String::from_utf8(metrics).unwrap();
    assert!(metrics.contains("tollgate_session_lookups_total{result=\"found\"} 4"), "{metrics}");
    rig.finish();
}
