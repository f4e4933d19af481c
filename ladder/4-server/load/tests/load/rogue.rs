//! Faulty servers: each fault is counted under its name and in its phase, no count is lost, and no
//! run hangs.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use socket2::{Domain, SockRef, Socket, Type};
use tollgate_load::{
    Cause, Failure, Finding, Outcome, Phase, Plan, Protocol, Server, Target, Verdict, run,
};

use crate::tls_server::{Behavior, Script, TlsServer};
use crate::{plan, until};

/// The fault of a connection. A proxy in front of a good server injects it.
#[derive(Clone, Copy, Debug)]
enum Wrong {
    /// No fault: bytes are forwarded, one by one with `bytewise`.
    Good { bytewise: bool },
    /// Forwards bytes after a delay.
    Slow,
    /// Resets the connection after the `ClientHello`.
    Reset,
    /// Sends these bytes after the `ClientHello`, and then ends the stream.
    Says(&'static [u8]),
    /// The server stops listening for this time and resets all connections; then it is good again.
    Restart(Duration),
}

const GOOD: Wrong = Wrong::Good { bytewise: false };

/// The fault of each connection, numbered from 0.
type Front = fn(u64) -> Wrong;

/// A proxy on its own port.
struct Rogue {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    acceptor: Option<JoinHandle<()>>,
}

impl Rogue {
    fn start(front: Front, behind: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let acceptor = thread::spawn(move || {
            let cut = Arc::new(AtomicU64::new(0));
            let mut listener = Some(listener);
            for number in 0.. {
                let (stream, _) = listener.as_ref().unwrap().accept().unwrap();
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                let wrong = front(number);
                if let Wrong::Restart(pause) = wrong {
                    drop((stream, listener.take()));
                    cut.fetch_add(1, Ordering::Relaxed);
                    thread::sleep(pause);
                    listener = Some(TcpListener::bind(address).unwrap());
                    continue;
                }
                let cut = Arc::clone(&cut);
                thread::spawn(move || drop(answer(stream, wrong, behind, &cut)));
            }
        });
        Self { address, stop, acceptor: Some(acceptor) }
    }
}

impl Drop for Rogue {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
        let _ = self.acceptor.take().map(JoinHandle::join);
    }
}

fn answer(
    mut client: TcpStream,
    wrong: Wrong,
    behind: SocketAddr,
    cut: &Arc<AtomicU64>,
) -> io::Result<()> {
    client.set_nodelay(true)?;
    match wrong {
        Wrong::Good { bytewise } => pass(client, behind, bytewise, cut),
        Wrong::Slow => {
            thread::sleep(Duration::from_millis(200));
            pass(client, behind, false, cut)
        }
        Wrong::Reset => {
            client.read_exact(&mut [0; 5])?;
            SockRef::from(&client).set_linger(Some(Duration::ZERO))
        }
        Wrong::Says(bytes) => {
            let _hello = client.read(&mut [0; 4096])?;
            client.write_all(bytes)?;
            client.shutdown(Shutdown::Write)?;
            // read the client's bytes, or the system would send a reset
            io::copy(&mut client, &mut io::sink()).map(drop)
        }
        Wrong::Restart(_) => unreachable!("the acceptor does that"),
    }
}

/// Passes bytes in both directions until both ends have closed.
fn pass(
    client: TcpStream,
    behind: SocketAddr,
    bytewise: bool,
    cut: &Arc<AtomicU64>,
) -> io::Result<()> {
    let server = TcpStream::connect(behind)?;
    server.set_nodelay(true)?;
    let ends = (client.try_clone()?, server.try_clone()?);
    let up = thread::spawn(move || copy(&ends.0, &ends.1));
    let epoch = cut.load(Ordering::Relaxed);
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let count = (&server).read(&mut buffer)?;
        if count == 0 {
            client.shutdown(Shutdown::Write)?;
            break;
        }
        if cut.load(Ordering::Relaxed) != epoch {
            SockRef::from(&client).set_linger(Some(Duration::ZERO))?;
            server.shutdown(Shutdown::Both)?;
            break;
        }
        let size = if bytewise { 1 } else { count };
        for piece in buffer[..count].chunks(size) {
            (&client).write_all(piece)?;
        }
    }
    let _ = up.join();
    Ok(())
}

fn copy(from: &TcpStream, to: &TcpStream) {
    let (mut from, mut to) = (from, to);
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}

/// Runs against a rogue proxy in front of a server with this script; checks the duration.
fn outcome(plan: &Plan, front: Front, script: Script, enough: u64) -> Outcome {
    let is_enough =
        |outcome: &Outcome| outcome.whole.attempts >= enough && outcome.sustain.transactions > 0;
    until(plan, is_enough, |plan| {
        let server = TlsServer::start(script);
        let rogue = Rogue::start(front, server.address);
        let mut side = Server::new("rogue", Target::new(rogue.address).unwrap())
            .with_referee(server.referee());
        let start = Instant::now();
        let outcome = run(plan, &mut side, &|| false, &mut |_, _| {}).unwrap();
        let longest = plan.warm_up_ms + plan.sustain_ms + 3 * plan.phase_ms_max + 2000;
        assert!(start.elapsed() < Duration::from_millis(longest), "{outcome}");
        outcome
    })
}

/// Asserts that all attempts have ended, and that the client counts no more handshakes than the
/// server.
fn assert_accounted(outcome: &Outcome) {
    let whole = &outcome.whole;
    assert_eq!(whole.attempts, whole.ended() + outcome.abandoned, "{outcome}");
    let unaccounted = |finding: &Finding| matches!(finding, Finding::Unaccounted { .. });
    assert!(!outcome.reasons.iter().any(unaccounted), "{outcome}");
    assert!(whole.confirmed <= outcome.seen.unwrap().handshakes, "{outcome}");
}

/// Five connections of each fault, among good ones.
const FRONT: Front = |number| match number / 5 {
    4 => Wrong::Reset,
    6 => Wrong::Says(b""),
    8 => Wrong::Says(&[22, 3, 3, 0, 50, 2, 0, 0]), // an incomplete record
    10 => Wrong::Says(b"HTTP/1.0 400 Bad Request\r\n\r\n"),
    12 => Wrong::Says(&[22, 3, 3, 0xFF, 0xFF, 2]), // longer than any valid record
    14 => Wrong::Says(&[22, 3, 3, 0, 4, 11, 0, 0, 0]), // an empty Certificate
    16 => Wrong::Good { bytewise: true },
    18 => Wrong::Slow,
    20 => Wrong::Says(&[21, 3, 3, 0, 2, 2, 80]), // internal_error
    _ => GOOD,
};

/// Faults within TLS, for the connections that the proxy forwards.
const SCRIPT: Script = |number| match number / 5 {
    2 => Behavior::BrokenCertificate,
    4 => Behavior::EmptyTicket,
    _ => Behavior::Good,
};

#[test]
fn every_fault_is_counted_under_its_name_and_no_count_is_lost() {
    let plan = Plan { connections: 8, ..plan(Protocol::Tls13) };
    let outcome = outcome(&plan, FRONT, SCRIPT, 180);
    assert_accounted(&outcome);
    assert_eq!(outcome.verdict, Verdict::Invalid, "{outcome}");
    let violation = |text: &'static str| {
        move |cause: &Cause| {
            if let Cause::Violation(found) = cause { found.contains(text) } else { false }
        }
    };
    type Is = Box<dyn Fn(&Cause) -> bool>;
    let rows: [(Phase, u64, Is); 8] = [
        (Phase::Hello, 5, Box::new(|cause| *cause == Cause::Reset)),
        (Phase::Hello, 10, Box::new(|cause| *cause == Cause::Closed)),
        (Phase::Hello, 5, Box::new(violation("does the port speak TLS?"))),
        (Phase::Hello, 5, Box::new(violation("65535"))),
        (Phase::Hello, 5, Box::new(violation("certificate"))),
        (Phase::Hello, 5, Box::new(|cause| *cause == Cause::Alert(80))),
        (Phase::KeyExchange, 5, Box::new(violation("certificate"))),
        (Phase::Confirm, 5, Box::new(violation("ticket"))),
    ];
    let failures = &outcome.whole.failures;
    for (i, (phase, count, is)) in rows.iter().enumerate() {
        let found = |(failure, _): &(&Failure, &u64)| failure.phase == *phase && is(&failure.cause);
        let found: u64 = failures.iter().filter(found).map(|(_, count)| count).sum();
        assert_eq!(found, *count, "row {i}: {failures:?}");
    }
    assert_eq!(failures.values().sum::<u64>(), 45, "and nothing else: {failures:?}");
    // single bytes and slow starts are no failures
    assert_eq!(outcome.whole.transactions + 45, outcome.whole.attempts, "{outcome}");
}

#[test]
fn a_restarted_server_is_reported_and_loses_no_count() {
    let front: Front = |number| match number {
        40 => Wrong::Restart(Duration::from_millis(300)),
        _ => GOOD,
    };
    let plan = Plan { connections: 4, sustain_ms: 900, ..plan(Protocol::Tls13) };
    let outcome = outcome(&plan, front, |_| Behavior::Good, 60);
    assert_accounted(&outcome);
    let refused =
        outcome.whole.failures.get(&Failure { phase: Phase::Connect, cause: Cause::Refused });
    assert!(refused.is_some_and(|&count| count > 0), "{outcome}");
    let away = |finding: &Finding| matches!(finding, Finding::ServerAway { .. });
    assert!(outcome.reasons.iter().any(away), "{outcome}");
    // the run continued afterwards
    assert!(outcome.whole.transactions > 41, "{outcome}");
}

#[test]
fn a_server_that_does_not_accept_is_reported_in_one_line_before_any_load() {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    socket.listen(0).unwrap();
    let listener = TcpListener::from(socket);
    let address = listener.local_addr().unwrap();
    // these connections fill the listener's queue: the system answers no further SYN
    let waiting = [(); 4].map(|()| {
        let socket = Socket::new(Domain::IPV4, Type::STREAM.nonblocking(), None).unwrap();
        let _in_progress = socket.connect(&address.into());
        socket
    });
    thread::sleep(Duration::from_millis(50));
    let plan = Plan { phase_ms_max: 300, ..plan(Protocol::Tls13) };
    let mut side = Server::new("deaf", Target::new(address).unwrap());
    let start = Instant::now();
    let error = run(&plan, &mut side, &|| false, &mut |_, _| {}).unwrap_err().to_string();
    assert!(start.elapsed() < Duration::from_secs(5), "{error}");
    assert!(error.contains("deadline passed (phase connect)"), "{error}");
    assert!(error.contains("no load was sent") && !error.contains('\n'), "{error}");
    drop(waiting);
}
