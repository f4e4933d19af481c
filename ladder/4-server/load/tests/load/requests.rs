//! Requests on connections that stay open, to a server that follows a script.

use core::time::Duration;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;
use std::thread;

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use tollgate_load::{
    Arrivals, Finding, Outcome, Pattern, Plan, Protocol, Referee, Requester, Seen, Server, Target,
    Verdict, run_requests,
};

use crate::{plan, until};

/// A request is a number of four bytes; the answer repeats it, and adds a byte that must be 1.
struct Connection {
    stream: UnixStream,
    received: Vec<u8>,
    answers: VecDeque<u8>,
}

/// The answer to the n-th request of a connection; the connection ends if there is no byte.
type Script = fn(u32) -> Option<u8>;

const RIGHT: Script = |_| Some(1);

impl Connection {
    fn start(script: Script) -> Box<dyn Requester> {
        let (stream, mut server) = UnixStream::pair().unwrap();
        stream.set_nonblocking(true).unwrap();
        thread::spawn(move || {
            let mut number = [0; 4];
            for n in 0.. {
                let Ok(()) = server.read_exact(&mut number) else { return };
                match script(n) {
                    // The test may be over.
                    Some(byte) => drop(server.write_all(&[&number[..], &[byte]].concat())),
                    None => return,
                }
            }
        });
        Box::new(Self { stream, received: Vec::new(), answers: VecDeque::new() })
    }
}

impl Requester for Connection {
    fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        registry.register(&mut SourceFd(&self.stream.as_raw_fd()), token, Interest::READABLE)
    }

    fn ask(&mut self, number: u32) -> io::Result<()> {
        self.stream.write_all(&number.to_be_bytes())
    }

    fn receive(&mut self, answered: &mut dyn FnMut(u32)) -> io::Result<()> {
        let mut piece = [0; 4096];
        loop {
            match self.stream.read(&mut piece) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.received.extend(&piece[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        while let Some((&[a, b, c, d, byte], _)) = self.received.split_first_chunk() {
            self.received.drain(..5);
            self.answers.push_back(byte);
            answered(u32::from_be_bytes([a, b, c, d]));
        }
        Ok(())
    }

    fn check(&mut self) -> Result<(), String> {
        match self.answers.pop_front() {
            Some(1) => Ok(()),
            other => Err(format!("the answer is {other:?}")),
        }
    }
}

/// The plan of four requests in flight, over two connections.
fn requests() -> Plan {
    let mut plan = plan(Protocol::Tls13);
    plan.limits.errors = 0.0;
    plan
}

fn outcome(plan: &Plan, scripts: [Script; 2], server: Server<'_>) -> Outcome {
    let (mut connections, mut server) = (scripts.map(Connection::start), server);
    run_requests(plan, &mut connections, &mut server, &|| false, &mut |_, _| {}).unwrap()
}

fn server<'a>() -> Server<'a> {
    Server::new("scripted", Target::new(([127, 0, 0, 1], 0).into()).unwrap())
}

/// A referee that counts as many requests as it is told to.
struct Counter(u64);

impl Referee for Counter {
    fn mark(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn seen(&mut self) -> io::Result<Seen> {
        Ok(Seen { requests: self.0, ..Seen::default() })
    }
}

#[test]
fn every_request_is_counted_timed_and_checked() {
    let stalled = |outcome: &Outcome| outcome.reasons.contains(&Finding::Stalled);
    let enough = |outcome: &Outcome| outcome.sustain.transactions > 100 && !stalled(outcome);
    let found = until(&requests(), enough, |plan| outcome(plan, [RIGHT; 2], server()));
    assert_eq!(found.verdict, Verdict::Unconfirmed, "{found}");
    let whole = &found.whole;
    assert!(whole.transactions == whole.attempts && whole.responses == whole.attempts, "{found}");
    assert_eq!(found.transaction().unwrap().count(), found.sustain.transactions);
    assert!(found.sessions_per_s().unwrap() > 0.0);
    // the server has counted another number
    let off = outcome(&requests(), [RIGHT; 2], server().with_referee(Counter(3)));
    assert!(matches!(off.reasons[..], [Finding::RefereeRequests { server: 3, .. }, ..]), "{off}");
}

#[test]
fn arrivals_wait_for_a_slow_server_and_their_times_say_so() {
    let slow: Script = |_| {
        thread::sleep(Duration::from_millis(20));
        Some(1)
    };
    // 100 per second are answered, and 300 arrive
    let mut plan =
        Plan { arrivals: Arrivals::open(Pattern::Constant { per_s: 300.0 }), ..requests() };
    plan.limits.errors = 1.0;
    let found = outcome(&plan, [slow; 2], server());
    assert_eq!(found.verdict, Verdict::Unconfirmed, "{found}");
    assert!(found.arrivals.queued > 0, "{found}");
    // the wait is part of the time: an answer alone takes 40 ms, because two are in flight
    let early = found.transaction().unwrap().quantile_ns(0.2);
    assert!(early.is_none_or(|ns| ns > 60_000_000), "{early:?}: {found}");
}

#[test]
fn wrong_answers_ends_and_silence_make_a_run_invalid() {
    let wrong: Script = |n| Some(u8::from(n != 5));
    let found = outcome(&requests(), [wrong, RIGHT], server());
    let told = |found: &Outcome, words: &str| {
        assert_eq!(found.verdict, Verdict::Invalid, "{found}");
        assert!(found.reasons.iter().any(|why| why.to_string().contains(words)), "{found}");
    };
    told(&found, "the answer is Some(0)");
    assert_eq!(found.whole.failed(), 1);
    let ends: Script = |n| (n < 5).then_some(1);
    told(&outcome(&requests(), [RIGHT, ends], server()), "the server closed too early");
    let silent: Script = |n| {
        if n == 5 {
            thread::sleep(Duration::from_secs(3600));
        }
        Some(1)
    };
    let plan = Plan { phase_ms_max: 300, ..requests() };
    told(&outcome(&plan, [RIGHT, silent], server()), "deadline passed");
}

#[test]
fn connections_and_requests_must_fit() {
    let mut three: Vec<_> = (0..3).map(|_| Connection::start(RIGHT)).collect();
    let refused = run_requests(&requests(), &mut three, &mut server(), &|| false, &mut |_, _| {})
        .unwrap_err();
    assert!(refused.to_string().contains("as many for each connection"), "{refused}");
}
