//! Successes and failures are counted exactly, in their phase, and judged.

use core::net::SocketAddr;
use core::num::NonZeroU32;
use core::time::Duration;
use std::net::TcpListener;
use std::thread;
use std::time::Instant;

use socket2::{Domain, Socket, Type};
use tollgate_load::{
    Arrivals, Cause, Close, Error, Exchange, Failure, Finding, Outcome, Pattern, Phase, Plan,
    Protocol, Server, Target, Think, Verdict, VerifySignature, run,
};

use crate::tls_server::{Behavior, Script, TlsServer};
use crate::{confirmed, load, plan};

/// Runs a plan against a server with this script, with enough connections for the assertions.
fn outcome(plan: &Plan, script: Script) -> Outcome {
    confirmed(plan, script, |outcome| {
        outcome.whole.attempts >= ENOUGH && outcome.sustain.transactions > 0
    })
}

/// A number of connections that is larger than the number of the last faulty connection.
const ENOUGH: u64 = 60;

const GOOD: Script = |_| Behavior::Good;

#[test]
fn every_transaction_is_in_the_servers_count() {
    for protocol in [Protocol::Tls12X25519, Protocol::Tls12P256, Protocol::Tls13] {
        for close in [Close::Fin, Close::RstAfterConfirm] {
            let verify = VerifySignature::Sample { one_in: NonZeroU32::new(4).unwrap() };
            let plan = Plan { close, threads: 2, verify, ..plan(protocol) };
            let outcome = outcome(&plan, GOOD);
            assert_eq!(outcome.verdict, Verdict::Valid, "{outcome}");
            let (whole, seen) = (&outcome.whole, outcome.seen.unwrap());
            assert_eq!(whole.attempts, whole.transactions, "{outcome}");
            assert_eq!(whole.client_done, whole.confirmed);
            assert_eq!(seen.handshakes, whole.confirmed);
            assert_eq!(seen.requests, whole.transactions);
            assert_eq!(whole.body_bytes, 14_336 * whole.transactions);
            let verified = whole.signatures_verified;
            assert!(verified > 0 && verified < whole.client_done, "one in four: {verified}");
            let rate = outcome.sessions_per_s().unwrap();
            assert!(rate > 0.0 && outcome.sustain.transactions < whole.transactions);
            assert!(outcome.client_cpu_ns_per_session().unwrap() > 0.0);
            assert_eq!(outcome.handshake().unwrap().count(), outcome.sustain.confirmed);
            assert!(outcome.transaction().unwrap().quantile_ns(0.5).unwrap() > 1000);
        }
    }
}

#[test]
fn handshakes_alone_are_confirmed_too() {
    for protocol in [Protocol::Tls12X25519, Protocol::Tls13] {
        // a reset could arrive before the server's thread ends the handshake, so close normally
        let plan = Plan { exchange: Exchange::HandshakeOnly, close: Close::Fin, ..plan(protocol) };
        let outcome = outcome(&plan, GOOD);
        assert_eq!(outcome.verdict, Verdict::Valid, "{outcome}");
        assert_eq!(outcome.seen.unwrap().requests, 0);
        assert!(outcome.whole.confirmed > 0);
    }
}

/// Connections 30 to 34 are faulty, the others good.
macro_rules! faulty {
    ($fault:expr) => {
        |number| if (30..35).contains(&number) { $fault } else { Behavior::Good }
    };
}

fn five(script: Script, change: fn(&mut Plan), phase: Phase, cause: &Cause) -> Outcome {
    // connections that hang must not block others
    let mut plan = Plan { connections: 8, ..plan(Protocol::Tls13) };
    if *cause == Cause::Deadline {
        plan.phase_ms_max = 1500;
    }
    change(&mut plan);
    let outcome = outcome(&plan, script);
    let failure = Failure { phase, cause: cause.clone() };
    let found: Vec<_> = outcome.whole.failures.iter().collect();
    assert_eq!(found, [(&failure, &5)], "{outcome}");
    assert_eq!(outcome.whole.failed_in(phase), 5);
    assert_eq!(outcome.verdict, Verdict::Invalid, "{outcome}");
    assert_eq!(outcome.sessions_per_s(), None);
    let told = outcome.reasons.iter().any(
        |reason| matches!(reason, Finding::Errors { failed: 5, worst, .. } if *worst == failure),
    );
    assert!(told, "{outcome}");
    outcome
}

#[test]
fn an_alert_after_the_clients_finished_is_no_handshake() {
    // the client has finished, the server has not: only the server's confirmation counts
    let outcome =
        five(faulty!(Behavior::CertificateRequired), |_| {}, Phase::Confirm, &Cause::Alert(116));
    let whole = &outcome.whole;
    assert_eq!(whole.client_done, whole.confirmed + 5);
    assert_eq!(outcome.seen.unwrap().handshakes, whole.confirmed, "{outcome}");
    let gap = |finding: &Finding| matches!(finding, Finding::ConfirmedLess { .. });
    assert!(outcome.doubts.iter().any(gap), "{outcome}");
}

#[test]
fn a_close_before_the_response_confirms_nothing() {
    let outcome = outcome(&plan(Protocol::Tls13), faulty!(Behavior::CloseAfterHandshake));
    assert_eq!(outcome.whole.failed_in(Phase::Confirm), 5, "{outcome}");
    // the server counts these handshakes as complete, which the client cannot know: the counts
    // differ
    let differ = Finding::RefereeHandshakes {
        client: outcome.whole.confirmed,
        server: outcome.whole.confirmed + 5,
    };
    assert!(outcome.reasons.contains(&differ), "{outcome}");
}

#[test]
fn a_wrong_length_is_an_error_in_the_data() {
    let outcome = five(
        faulty!(Behavior::WrongLength),
        |_| {},
        Phase::Data,
        &Cause::WrongLength { found_bytes: 14_335 },
    );
    // the server counts these requests as answered
    let told = |finding: &Finding| matches!(finding, Finding::RefereeRequests { .. });
    assert!(outcome.reasons.iter().any(told), "{outcome}");
}

#[test]
fn a_truncated_body_is_an_error_in_the_data() {
    five(faulty!(Behavior::CutBody), |_| {}, Phase::Data, &Cause::Closed);
    let outcome = five(faulty!(Behavior::EndBody), |_| {}, Phase::Data, &Cause::Closed);
    assert_eq!(outcome.seen.unwrap().handshakes, outcome.whole.confirmed);
    assert_eq!(outcome.seen.unwrap().requests, outcome.whole.transactions);
}

#[test]
fn a_silent_server_meets_the_deadline() {
    five(faulty!(Behavior::Silent), |_| {}, Phase::Hello, &Cause::Deadline);
    five(faulty!(Behavior::SlowBody), |_| {}, Phase::Data, &Cause::Deadline);
}

#[test]
fn a_server_that_does_not_close_fails_only_the_close() {
    let outcome = five(
        faulty!(Behavior::KeepOpen),
        |plan| plan.close = Close::Fin,
        Phase::Close,
        &Cause::Deadline,
    );
    assert_eq!(outcome.whole.transactions, outcome.whole.attempts, "{outcome}");
    assert_eq!(outcome.seen.unwrap().requests, outcome.whole.transactions);
}

#[test]
fn a_server_that_stops_during_a_run_gives_no_figure_and_a_clear_message() {
    let mut server = TlsServer::start(GOOD);
    let plan = Plan { sustain_ms: 30_000, ..plan(Protocol::Tls13) };
    let (target, referee) = (server.target(), server.referee());
    let stopper = thread::spawn(move || {
        while server.answered() < 20 {
            thread::sleep(Duration::from_millis(1));
        }
        server.stop();
    });
    let mut side = Server::new("rustls", target).with_referee(referee);
    let start = Instant::now();
    let outcome = run(&plan, &mut side, &|| false, &mut |_, _| {}).unwrap();
    stopper.join().unwrap();
    assert!(start.elapsed() < Duration::from_secs(30), "it was broken off");
    assert_eq!(outcome.verdict, Verdict::Invalid);
    assert_eq!(outcome.sessions_per_s(), None);
    assert!(outcome.whole.failed_in(Phase::Connect) > 0, "{outcome}");
    let text = outcome.reasons[0].to_string();
    assert!(text.contains("stopped answering") && text.contains("refused"), "{text}");
}

#[test]
fn impossible_runs_are_refused_before_any_load() {
    let error = |script: Script, change: fn(&mut Plan)| {
        let server = TlsServer::start(script);
        let mut plan = Plan { phase_ms_max: 200, ..plan(Protocol::Tls13) };
        change(&mut plan);
        let mut side = Server::new("rustls", server.target());
        let error = run(&plan, &mut side, &|| false, &mut |_, _| {}).unwrap_err();
        let text = error.to_string();
        assert!(!text.contains('\n'), "{text}");
        text
    };
    let silent = error(|_| Behavior::Silent, |_| {});
    assert!(silent.contains("no load was sent") && silent.contains("hello"), "{silent}");
    // rustls has no RSA key exchange
    let refused = error(GOOD, |plan| plan.protocol = Protocol::Tls12Rsa);
    assert!(refused.contains("handshake_failure"), "{refused}");

    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut side = Server::new("nobody", Target::new(free).unwrap());
    let nobody = run(&plan(Protocol::Tls13), &mut side, &|| false, &mut |_, _| {}).unwrap_err();
    assert!(nobody.to_string().contains("nothing listens on 127.0.0.1"), "{nobody}");
}

#[test]
fn the_caller_can_stop_a_run_and_the_first_transaction() {
    let scripts: [(Script, u64); 2] = [(GOOD, 300), (|_| Behavior::Silent, 100)];
    for (script, after_ms) in scripts {
        let server = TlsServer::start(script);
        let plan = Plan { sustain_ms: 60_000, phase_ms_max: 60_000, ..plan(Protocol::Tls13) };
        let start = Instant::now();
        let stop = || start.elapsed() > Duration::from_millis(after_ms);
        let mut side = Server::new("rustls", server.target());
        let error = run(&plan, &mut side, &stop, &mut |_, _| {}).unwrap_err();
        assert!(matches!(error, Error::Stopped), "{error}");
        assert!(start.elapsed() < Duration::from_secs(60));
    }
}

/// Five connections of each fault, among good ones.
const FAULTS: Script = |number| match number / 5 {
    2 => Behavior::BrokenCertificate,
    4 => Behavior::Reset,
    5 => Behavior::EmptyTicket,
    6 => Behavior::Says(b""),
    8 => Behavior::Says(&[22, 3, 3, 0, 50, 2, 0, 0]), // an incomplete record
    10 => Behavior::Says(b"HTTP/1.0 400 Bad Request\r\n\r\n"),
    12 => Behavior::Says(&[22, 3, 3, 0xFF, 0xFF, 2]), // longer than any valid record
    14 => Behavior::Says(&[22, 3, 3, 0, 4, 11, 0, 0, 0]), // an empty Certificate
    18 => Behavior::Slow,
    20 => Behavior::Says(&[21, 3, 3, 0, 2, 2, 80]), // internal_error
    _ => Behavior::Good,
};

#[test]
fn every_fault_is_counted_under_its_name_and_no_count_is_lost() {
    let plan = Plan { connections: 8, ..plan(Protocol::Tls13) };
    let outcome = confirmed(&plan, FAULTS, |outcome| outcome.whole.attempts >= 180);
    let whole = &outcome.whole;
    assert_eq!(whole.attempts, whole.ended() + outcome.abandoned, "{outcome}");
    assert!(whole.confirmed <= outcome.seen.unwrap().handshakes, "{outcome}");
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
    let failures = &whole.failures;
    for (i, (phase, count, is)) in rows.iter().enumerate() {
        let found = |(failure, _): &(&Failure, &u64)| failure.phase == *phase && is(&failure.cause);
        let found: u64 = failures.iter().filter(found).map(|(_, count)| count).sum();
        assert_eq!(found, *count, "row {i}: {failures:?}");
    }
    assert_eq!(failures.values().sum::<u64>(), 45, "and nothing else: {failures:?}");
    // slow starts are no failures
    assert_eq!(whole.transactions + 45, whole.attempts, "{outcome}");
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

#[test]
fn a_number_of_transactions_ends_a_run() {
    let closed = || Arrivals::Closed { think: Think::None };
    let open = || Arrivals::open(Pattern::Poisson { per_s: 1000.0 });
    for (arrivals, threads) in [(closed(), 1), (closed(), 3), (open(), 2)] {
        let server = TlsServer::start(|_| Behavior::Good);
        let plan = Plan {
            arrivals,
            threads,
            warm_up_ms: 0,
            sustain_ms: 60_000,
            transactions: Some(300),
            ..plan(Protocol::Tls13)
        };
        let outcome = load(&plan, server.side());
        assert_exact(&outcome);
        // the first transaction runs alone
        assert_eq!(outcome.whole.confirmed, 1 + 300, "{outcome}");
        assert_eq!(outcome.sustain.transactions, 300, "{outcome}");
        let seconds = outcome.sustained.as_secs_f64();
        assert!(seconds < 60.0);
        if let Some(rate) = outcome.sessions_per_s() {
            assert!((rate * seconds - 300.0).abs() < 1e-6, "{rate} in {seconds} s");
        }
        let points: u64 = outcome.series.iter().map(|point| point.attempts).sum();
        assert_eq!(points, 1 + 300);

        let short = Plan { sustain_ms: 200, transactions: Some(1_000_000), ..plan };
        let outcome = load(&short, server.side());
        assert_exact(&outcome);
        assert_eq!(outcome.sustained.as_millis(), 200, "the time ends first");
    }
}

fn assert_exact(outcome: &Outcome) {
    let (whole, seen) = (&outcome.whole, outcome.seen.unwrap());
    assert_eq!(whole.attempts, whole.transactions, "{outcome}");
    assert_eq!((seen.handshakes, seen.resumed), (whole.confirmed, 0), "{outcome}");
    assert_eq!(seen.requests, whole.responses, "{outcome}");
}
