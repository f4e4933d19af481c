//! The counts of client and server are equal: for a few hundred handshakes, and with
//! `TOLLGATE_TEST_LONG` for 100,000 handshakes of each server.

use std::sync::Arc;

use tollgate_load::{
    Arrivals, Close, Exchange, Finding, Outcome, Pattern, Plan, Protocol, Server, Think, Verdict,
    run,
};

use crate::openssl::{BYTES, Files, SServer};
use crate::tls_server::{Behavior, TlsServer};
use crate::{TRIES, load, plan};

/// Runs until this number of handshakes is counted, with both ways of closing in turn; both sides
/// must agree in every run.
fn agrees(plan: &Plan, mut side: impl FnMut() -> Server<'static>) {
    let is_long = std::env::var_os("TOLLGATE_TEST_LONG").is_some();
    let (all, sustain_ms) = if is_long { (100_000, 5000) } else { (300, 200) };
    let (mut count, mut stalls) = (0, 0);
    for close in [Close::RstAfterConfirm, Close::Fin].iter().cycle() {
        let plan = Plan { close: *close, sustain_ms, ..plan.clone() };
        let outcome = run(&plan, &mut side(), &|| false, &mut |_, _| {}).unwrap();
        assert_exact(&outcome);
        // a stall of the machine, even for the whole run, is not a fault of the client
        let still = |why: &Finding| matches!(why, Finding::Stalled | Finding::Nothing);
        if !outcome.reasons.is_empty() && outcome.reasons.iter().all(still) {
            stalls += 1;
            assert!(stalls < 2 * TRIES, "{outcome}");
        } else {
            assert_eq!(outcome.verdict, Verdict::Valid, "{outcome}");
        }
        count += outcome.whole.confirmed;
        if count >= all {
            break;
        }
    }
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
        let outcome =
            load(&plan, Server::new("rustls", server.target()).with_referee(server.referee()));
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

#[test]
fn rustls_and_the_client_count_the_same() {
    for protocol in [Protocol::Tls12X25519, Protocol::Tls13] {
        let server = TlsServer::start(|_| Behavior::Good);
        agrees(&plan(protocol), || {
            Server::new("rustls", server.target()).with_referee(server.referee())
        });
    }
}

#[test]
fn s_server_and_the_client_count_the_same() {
    let Some(server) = SServer::start("load-truth", &["-cipher", "ALL"]) else {
        return;
    };
    for protocol in [Protocol::Tls12Rsa, Protocol::Tls13] {
        let exchange = Exchange::Get { path: "/object".to_owned(), bytes: BYTES };
        let plan = Plan { exchange, ..plan(protocol) };
        agrees(&plan, || {
            let referee = Files { files: Arc::clone(&server.files), before: 0 };
            Server::new("s_server", server.target.clone()).with_referee(referee)
        });
    }
}
