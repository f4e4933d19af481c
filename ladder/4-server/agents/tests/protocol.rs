//! The agent with a controller of the test, and the controller with agents of the test.
#![allow(clippy::unwrap_used, reason = "tests")]

use core::net::SocketAddr;
use core::time::Duration;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread::{self, JoinHandle};

use tollgate_agents::{Controller, FromAgent, FromController, Site, read, serve, write};
use tollgate_load::{Exchange, Plan, Protocol, Segment};
use tollgate_record::Machine;

/// A server for HTTP without TLS, which ends with the test.
fn server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, mut head) = (stream.unwrap(), Vec::new());
            while !head.ends_with(b"\r\n\r\n") {
                let mut bytes = [0; 1024];
                match stream.read(&mut bytes) {
                    Ok(count @ 1..) => head.extend_from_slice(&bytes[..count]),
                    _ => break,
                }
            }
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc");
        }
    });
    address
}

fn plan() -> Plan {
    Plan {
        plain_share: 1.0,
        exchange: Exchange::Get { path: "/".to_owned(), bytes: 3 },
        connections: 2,
        threads: 2,
        warm_up_ms: 0,
        sustain_ms: 200,
        ..Plan::new(Protocol::Tls13)
    }
}

/// An agent in a thread, and the controller's end of its connection.
struct Served {
    stream: UnixStream,
    agent: JoinHandle<Result<(), String>>,
}

impl Served {
    fn start() -> Self {
        let (stream, other) = UnixStream::pair().unwrap();
        let agent = thread::spawn(move || {
            let from = other.try_clone().unwrap();
            serve(from, other, "1.2.3".to_owned(), Machine::unknown("test"))
        });
        let mut served = Self { stream, agent };
        let FromAgent::Enrol { version, machine, .. } = served.next() else { panic!("enrols") };
        assert_eq!((version.as_str(), machine.cpu.as_str()), ("1.2.3", "test"));
        served
    }

    fn send(&mut self, frame: &FromController) {
        write(&mut self.stream, frame).unwrap();
    }

    fn target(&mut self, address: SocketAddr) {
        let url = format!("http://{address}/");
        self.send(&FromController::Target { url, address, may_test: None });
    }

    fn arm(&mut self, run: u64, segment: Segment) {
        self.send(&FromController::Arm { run, plan: Box::new(plan()), segment });
    }

    /// Returns the next frame that is not a heartbeat.
    fn next(&mut self) -> FromAgent {
        loop {
            match read(&mut self.stream).unwrap().expect("a frame") {
                FromAgent::Alive { .. } => {}
                other => return other,
            }
        }
    }

    fn clock(&mut self) -> u64 {
        self.send(&FromController::Clock { number: 9 });
        match self.next() {
            FromAgent::Clock { number: 9, at_ns } => at_ns,
            other => panic!("{other:?}"),
        }
    }

    /// Expects the agent to refuse, and to end.
    #[track_caller]
    fn refuses(mut self, words: &str) {
        let FromAgent::Refused { why } = self.next() else { panic!("refuses") };
        assert!(why.contains(words) && !why.contains('\n'), "{why}");
        assert_eq!(self.agent.join().unwrap(), Err(why));
    }
}

#[test]
fn an_agent_runs_its_segments_and_ignores_frames_of_other_runs() {
    let mut served = Served::start();
    served.target(server());
    for run in [1, 2] {
        served.arm(run, Segment { from: 1, to: 2 });
        let FromAgent::Ready { run: ready, plan: hash } = served.next() else { panic!("ready") };
        assert_eq!((ready, hash), (run, plan().hash()));
        served.send(&FromController::Start { run: run + 1, at_ns: 0 });
        served.send(&FromController::Stop { run: run + 1 });
        served.send(&FromController::Alive);
        let at_ns = served.clock() + 1_000_000_000;
        served.send(&FromController::Start { run, at_ns });
        let FromAgent::Ended { run: ended, part } = served.next() else { panic!("ended") };
        assert!(ended == run && part.fits(&plan()));
        let counts = part.counts();
        // one alone, and those of the loop
        assert!(counts.transactions > 1 && counts.failed() == 0, "{counts:?}");
        assert!(served.clock() >= at_ns + 200_000_000, "it began and ended by its own clock");
    }
    drop(served.stream);
    served.agent.join().unwrap().unwrap();
}

#[test]
fn an_agent_asks_for_consent_itself() {
    let mut served = Served::start();
    // RFC 5737: an address for documentation
    served.target("192.0.2.1:80".parse().unwrap());
    served.refuses("neither loopback nor private");
    let mut served = Served::start();
    served.arm(1, Segment { from: 0, to: 2 });
    served.refuses("no target");
}

#[test]
fn an_agent_that_learns_the_start_too_late_refuses() {
    let mut served = Served::start();
    served.target(server());
    served.arm(1, Segment { from: 0, to: 1 });
    assert!(matches!(served.next(), FromAgent::Ready { .. }));
    served.send(&FromController::Start { run: 1, at_ns: 0 });
    served.refuses("too late");
}

#[test]
fn segments_that_are_not_of_the_plan_are_refused() {
    for (from, to) in [(0, 3), (1, 1), (2, 1), (7, u32::MAX)] {
        let mut served = Served::start();
        served.target(server());
        served.arm(1, Segment { from, to });
        served.refuses("a segment of its threads");
    }
}

#[test]
fn a_stopped_agent_sends_what_it_has() {
    let mut served = Served::start();
    served.target(server());
    let plan = Box::new(Plan { sustain_ms: 600_000, ..plan() });
    let segment = Segment { from: 0, to: 2 };
    served.send(&FromController::Arm { run: 1, plan, segment });
    assert!(matches!(served.next(), FromAgent::Ready { .. }));
    let at_ns = served.clock() + 1_000_000_000;
    served.send(&FromController::Start { run: 1, at_ns });
    loop {
        let alive = read(&mut served.stream).unwrap();
        let Some(FromAgent::Alive { live: Some(live) }) = alive else { panic!("{alive:?}") };
        served.send(&FromController::Alive);
        if live.transactions > 10 {
            break;
        }
    }
    served.send(&FromController::Stop { run: 1 });
    let FromAgent::Ended { part, .. } = served.next() else { panic!("ended") };
    assert!(part.counts().transactions > 10);
}

/// Starts a controller with an agent that only enrols.
fn enrolled(name: &str, version: &str, place: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let (version, place) = (version.to_owned(), place.to_owned());
    let machine = Box::new(Machine::unknown("test"));
    let mut bytes = Vec::new();
    write(&mut bytes, &FromAgent::Enrol { version, machine, place }).unwrap();
    fs::write(&path, bytes).unwrap();
    let address = format!("exec:tail -f {}", path.display()).parse().unwrap();
    let site = Site {
        url: "http://127.0.0.1:1/".to_owned(),
        address: "127.0.0.1:1".parse().unwrap(),
        may_test: None,
    };
    let error =
        Controller::start(&[address], None, &site, "1.2.3", &|| false).unwrap_err().to_string();
    fs::remove_file(path).unwrap();
    error
}

#[test]
fn a_controller_refuses_other_versions_and_other_loopbacks() {
    let error = enrolled("other_version", "1.2.4", "");
    assert!(error.contains("it has version 1.2.4, and this program 1.2.3"), "{error}");
    let error = enrolled("other_place", "1.2.3", "elsewhere");
    assert!(error.contains("a loopback address is another server there"), "{error}");
    assert!(error.starts_with("agent 1, exec:tail"), "{error}");
}

#[test]
fn a_controller_can_be_stopped_while_agents_start() {
    let address = "exec:sleep 600".parse().unwrap();
    let site = Site {
        url: "http://127.0.0.1:1/".to_owned(),
        address: "127.0.0.1:1".parse().unwrap(),
        may_test: None,
    };
    let begin = std::time::Instant::now();
    let error = Controller::start(&[address], None, &site, "1.2.3", &|| true).unwrap_err();
    assert!(matches!(error, tollgate_load::Error::Stopped), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(60), "the process was killed");
}
