//! Client timeouts and retries are counted, and no count is lost.

use tollgate_load::{Arrivals, ClientTimeout, Outcome, Pattern, Phase, Plan, Protocol, Verdict};

use crate::tls_server::{Behavior, Script, TlsServer};
use crate::{load, plan, until};

/// Every fourth connection is accepted and never answered.
const MUTE: Script = |number| if number % 4 == 3 { Behavior::Silent } else { Behavior::Good };

fn outcome(plan: &Plan) -> Outcome {
    let enough =
        |outcome: &Outcome| outcome.sustain.transactions > 5 && outcome.whole.timeouts() > 3;
    until(plan, enough, |plan| {
        let server = TlsServer::start(MUTE);
        load(plan, server.side())
    })
}

/// Asserts that every attempt completed, failed or timed out, and so did every attempt without TLS.
fn assert_accounted(outcome: &Outcome) {
    for counts in [&outcome.whole, &outcome.plain] {
        assert_eq!(counts.attempts, counts.ended(), "{outcome}");
    }
    assert_eq!(outcome.verdict, Verdict::Valid, "{outcome}");
}

#[test]
fn a_timeout_is_counted_in_its_phase() {
    let client_timeout = Some(ClientTimeout { ms: 150, retries: 0 });
    let outcome = outcome(&Plan { client_timeout, ..plan(Protocol::Tls13) });
    assert_accounted(&outcome);
    let whole = &outcome.whole;
    assert!(whole.timed_out.contains_key(&Phase::Hello), "{outcome}");
    assert_eq!((whole.retries, whole.failed()), (0, 0), "{outcome}");
}

#[test]
fn retries_are_counted() {
    let client_timeout = Some(ClientTimeout { ms: 150, retries: 5 });
    let arrivals = Arrivals::open(Pattern::Poisson { per_s: 60.0 });
    let plan = Plan {
        client_timeout,
        arrivals,
        connections: 32,
        plain_share: 0.5,
        sustain_ms: 1000,
        ..plan(Protocol::Tls13)
    };
    let outcome = outcome(&plan);
    assert_accounted(&outcome);
    let whole = &outcome.whole;
    assert!(whole.retries > 0 && whole.retries <= whole.timeouts(), "{outcome}");
    let in_series: u64 = outcome.series.iter().map(|point| point.timed_out).sum();
    assert!(in_series > 0 && in_series <= whole.timeouts(), "{outcome}");
}
