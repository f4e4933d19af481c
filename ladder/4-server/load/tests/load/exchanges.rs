//! Several requests on a connection: with TLS, without TLS, and with both kinds of connections.

use core::time::Duration;
use std::time::Instant;

use tollgate_load::{
    Arrivals, Close, Exchange, Finding, Latency, Outcome, Pattern, Plan, Protocol, Server, Sizes,
    Verdict, run,
};

use crate::tls_server::{Behavior, TlsServer};
use crate::{load, plan, until};

/// Runs a plan until the run has transactions of each planned kind.
fn outcome(plan: &Plan) -> Outcome {
    let enough = |outcome: &Outcome| {
        let (all, plain) = (outcome.whole.transactions, outcome.plain.transactions);
        let stalled = outcome.reasons.contains(&Finding::Stalled);
        outcome.sustain.transactions > 20
            && !stalled
            && (plan.plain_share < 1.0 || plain == all)
            && (plan.plain_share <= 0.0 || plain > 5)
    };
    until(plan, enough, |plan| {
        let server = TlsServer::start(|_| Behavior::Good);
        load(plan, server.side())
    })
}

#[test]
fn requests_share_a_connection_and_its_handshake() {
    for (requests, plain_share, threads) in
        [(3.0_f64, 0.0, 1), (3.0, 1.0, 1), (2.5, 0.0, 1), (2.5, 0.0, 2)]
    {
        for close in [Close::Fin, Close::RstAfterConfirm] {
            let plan = Plan {
                requests_per_connection: requests,
                plain_share,
                threads,
                close,
                ..plan(Protocol::Tls12X25519)
            };
            let outcome = outcome(&plan);
            assert_eq!(outcome.verdict, Verdict::Valid, "{outcome}");
            let (whole, seen) = (&outcome.whole, outcome.seen.unwrap());
            // With 2.5 requests per connection, connections alternately have two and three. The
            // first connection and the probe have two each.
            #[allow(clippy::cast_precision_loss, reason = "counts of a test")]
            let all = [whole.transactions, whole.responses].map(|count| count as f64);
            let expected = requests.floor() + ((all[0] - 1.0) * requests).floor();
            // a thread that ends in the middle of its numbers may differ by half a request
            let off = f64::from(threads) - 1.0;
            assert!((all[1] - expected).abs() <= off, "{outcome}");
            assert_eq!(seen.requests, whole.responses);
            let handshakes = if plain_share > 0.0 { 0 } else { whole.transactions };
            assert_eq!((whole.confirmed, seen.handshakes), (handshakes, handshakes));
            let count = |times: Option<&Latency>| times.map(Latency::count);
            assert_eq!(count(outcome.transaction()), Some(outcome.sustain.transactions));
            assert_eq!(count(outcome.handshake()), Some(outcome.sustain.confirmed));
        }
    }
}

/// A connection with this many requests would take minutes, but the run ends it.
#[test]
fn long_connections_end_with_the_run() {
    let plan = Plan {
        requests_per_connection: Plan::REQUESTS_MAX,
        phase_ms_max: 300,
        plain_share: 0.5,
        ..plan(Protocol::Tls13)
    };
    let server = TlsServer::start(|_| Behavior::Good);
    let mut side = server.side();
    let start = Instant::now();
    let outcome = run(&plan, &mut side, &|| false, &mut |_, _| {}).unwrap();
    assert!(start.elapsed() < Duration::from_secs(10), "{outcome}");
    let (whole, seen) = (&outcome.whole, outcome.seen.unwrap());
    assert_eq!((whole.failed(), whole.attempts), (0, whole.transactions), "{outcome}");
    assert_eq!((whole.confirmed, whole.responses), (seen.handshakes, seen.requests), "{outcome}");
    assert!(whole.responses > 10 * whole.transactions, "{outcome}");
}

#[test]
fn all_sizes_are_requested_equally_often() {
    let sizes: Sizes = serde_json::from_str("[0, 700, 40000]").unwrap();
    let open = Arrivals::open(Pattern::Constant { per_s: 60.0 });
    for arrivals in [plan(Protocol::Tls13).arrivals, open] {
        let plan = Plan {
            exchange: Exchange::Sizes(sizes.clone()),
            requests_per_connection: 3.0, // each connection requests all sizes
            threads: 2,
            arrivals,
            ..plan(Protocol::Tls13)
        };
        let outcome = outcome(&plan);
        assert_eq!(outcome.verdict, Verdict::Valid, "{outcome}");
        let whole = &outcome.whole;
        assert_eq!(whole.response_bytes, 40_700 * whole.transactions, "{outcome}");
        assert_eq!(outcome.seen.unwrap().requests, 3 * whole.transactions);
    }
}

#[test]
fn secure_and_plain_transactions_have_their_shares() {
    let plan = Plan { plain_share: 0.5, sustain_ms: 600, ..plan(Protocol::Tls13) };
    let outcome = outcome(&plan);
    assert_eq!(outcome.verdict, Verdict::Valid, "{outcome}");
    let (whole, plain) = (&outcome.whole, &outcome.plain);
    let secure = whole.transactions - plain.transactions;
    assert_eq!((whole.confirmed, plain.confirmed, plain.client_done), (secure, 0, 0), "{outcome}");
    assert_eq!(outcome.seen.unwrap().handshakes, secure);
    #[allow(clippy::cast_precision_loss, reason = "counts of a test")]
    let (share, n) =
        (plain.transactions as f64 / whole.transactions as f64, whole.transactions as f64);
    assert!((share - 0.5).abs() < 5.0 * 0.5 / n.sqrt(), "{share} of {n}");
}

#[test]
fn plain_transactions_need_an_address() {
    let server = TlsServer::start(|_| Behavior::Good);
    let plan = Plan { plain_share: 0.1, ..plan(Protocol::Tls13) };
    let mut side = Server::new("rustls", server.target());
    let error = run(&plan, &mut side, &|| false, &mut |_, _| {}).unwrap_err().to_string();
    assert!(error.contains("HTTP without TLS") && !error.contains('\n'), "{error}");
}
