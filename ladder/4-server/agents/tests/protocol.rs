//! An agent, with a controller of the test and without NATS.
#![allow(clippy::unwrap_used, reason = "tests")]

use core::net::SocketAddr;
use core::time::Duration;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

use tollgate_agents::{Agent, Answer, Enrolled, Request, parse_part};
use tollgate_load::{Exchange, Part, Plan, Protocol, Segment};
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

fn agent() -> Arc<Agent> {
    let (agent, version, place) = ("a".to_owned(), "1.2.3".to_owned(), "here".to_owned());
    Arc::new(Agent::new(Enrolled { agent, version, machine: Machine::unknown("test"), place }))
}

#[track_caller]
fn ask(agent: &Arc<Agent>, request: Request) -> Answer {
    agent.answer("c", request).expect("an answer")
}

/// Polls until the agent is no longer busy.
#[track_caller]
fn wait(agent: &Arc<Agent>) -> Answer {
    loop {
        match ask(agent, Request::Poll) {
            Answer::Busy { .. } => thread::sleep(Duration::from_millis(5)),
            answer => return answer,
        }
    }
}

fn claim(agent: &Arc<Agent>, address: SocketAddr) -> Answer {
    let url = format!("http://{address}/");
    ask(agent, Request::Target { url, address, may_test: None });
    wait(agent)
}

fn arm(agent: &Arc<Agent>, run: u64, plan: &Plan, segment: Segment) -> Answer {
    // every message may come twice
    for _ in 0..2 {
        ask(agent, Request::Arm { run, plan: Box::new(plan.clone()), segment });
    }
    wait(agent)
}

fn clock(agent: &Arc<Agent>) -> u64 {
    match ask(agent, Request::Clock) {
        Answer::Clock { at_ns } => at_ns,
        other => panic!("{other:?}"),
    }
}

fn part(agent: &Arc<Agent>) -> Part {
    let mut whole = String::new();
    loop {
        match ask(agent, Request::Part { from: whole.len() }) {
            Answer::Part { text } if text.is_empty() => return parse_part(&whole).unwrap(),
            Answer::Part { text } => whole.push_str(&text),
            other => panic!("{other:?}"),
        }
    }
}

#[track_caller]
fn refuses(answer: &Answer, words: &str) {
    let Answer::Refused { why } = answer else { panic!("{answer:?}") };
    assert!(why.contains(words) && !why.contains('\n'), "{why}");
}

#[test]
fn an_agent_runs_its_segments_and_ignores_requests_about_other_runs() {
    let agent = agent();
    assert_eq!(claim(&agent, server()), Answer::Idle);
    for run in [1, 2] {
        let ready = arm(&agent, run, &plan(), Segment { from: 1, to: 2 });
        assert_eq!(ready, Answer::Ready { run });
        ask(&agent, Request::Start { run: run + 1, at_ns: 0 });
        ask(&agent, Request::Stop { run: run + 1 });
        let at_ns = clock(&agent) + 1_000_000_000;
        for at_ns in [at_ns, 0] {
            ask(&agent, Request::Start { run, at_ns });
        }
        thread::sleep(Duration::from_millis(20)); // it learns the start
        assert_eq!(wait(&agent), Answer::Ended { run });
        assert!(clock(&agent) >= at_ns + 200_000_000, "it began and ended by its own clock");
        let part = part(&agent);
        assert!(part.fits(&plan()));
        let counts = part.counts();
        // one alone, and those of the loop
        assert!(counts.transactions > 1 && counts.failed() == 0, "{counts:?}");
    }
}

#[test]
fn an_agent_asks_for_consent_itself() {
    // RFC 5737: an address for documentation
    refuses(&claim(&agent(), "192.0.2.1:80".parse().unwrap()), "neither loopback nor private");
}

#[test]
fn an_agent_serves_one_controller_until_it_leaves() {
    let agent = agent();
    assert!(matches!(agent.answer("b", Request::Enrol), Some(Answer::Enrolled(_))));
    refuses(&ask(&agent, Request::Poll), "the controller is gone");
    assert_eq!(claim(&agent, server()), Answer::Idle);
    assert_eq!(agent.answer("b", Request::Enrol), None);
    assert_eq!(agent.answer("b", Request::Leave), None);
    let target = |address: SocketAddr| Request::Target {
        url: format!("http://{address}/"),
        address,
        may_test: None,
    };
    refuses(&agent.answer("b", target(server())).unwrap(), "it serves another controller");
    assert!(matches!(arm(&agent, 1, &plan(), Segment { from: 0, to: 1 }), Answer::Ready { .. }));
    assert_eq!(agent.answer("c", Request::Leave), None);
    refuses(&ask(&agent, Request::Poll), "the controller is gone");
    while agent.answer("b", Request::Enrol).is_none() {
        thread::sleep(Duration::from_millis(5)); // the run has not ended yet
    }
}

#[test]
fn an_agent_that_learns_the_start_too_late_refuses() {
    let agent = agent();
    claim(&agent, server());
    arm(&agent, 1, &plan(), Segment { from: 0, to: 1 });
    ask(&agent, Request::Start { run: 1, at_ns: 0 });
    while matches!(ask(&agent, Request::Poll), Answer::Ready { .. }) {
        thread::sleep(Duration::from_millis(5));
    }
    refuses(&wait(&agent), "too late");
}

#[test]
fn what_is_not_of_the_plan_is_refused() {
    for (from, to) in [(0, 3), (1, 1), (2, 1), (7, u32::MAX)] {
        let agent = agent();
        claim(&agent, server());
        let armed = arm(&agent, 1, &plan(), Segment { from, to });
        refuses(&armed, "a segment of its threads");
    }
}

#[test]
fn a_stopped_agent_keeps_what_it_has() {
    let agent = agent();
    claim(&agent, server());
    let plan = Plan { sustain_ms: 600_000, ..plan() };
    assert!(matches!(arm(&agent, 1, &plan, Segment { from: 0, to: 2 }), Answer::Ready { .. }));
    let at_ns = clock(&agent) + 1_000_000_000;
    ask(&agent, Request::Start { run: 1, at_ns });
    loop {
        match ask(&agent, Request::Poll) {
            Answer::Busy { live } if live.transactions > 10 => break,
            Answer::Busy { .. } | Answer::Ready { .. } => thread::sleep(Duration::from_millis(5)),
            other => panic!("{other:?}"),
        }
    }
    ask(&agent, Request::Stop { run: 1 });
    assert_eq!(wait(&agent), Answer::Ended { run: 1 });
    assert!(part(&agent).counts().transactions > 10);
}
