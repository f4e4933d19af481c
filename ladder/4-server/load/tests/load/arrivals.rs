//! Open loops begin arrivals on time, measure from the intended start, and lose no arrival.

use tollgate_load::{
    Arrivals, Exchange, Finding, Latency, Outcome, Pattern, Plan, Protocol, Think, Verdict,
};

use crate::tls_server::{Behavior, STALL, Script, TlsServer};
use crate::{load, plan, until};

/// Runs a short plan against a server with this behavior. The plan uses no TLS, so that arrivals
/// cost little.
fn outcome(plan: &Plan, script: Script) -> Outcome {
    let server = TlsServer::start(script);
    load(plan, server.side())
}

fn open(pattern: Pattern, sustain_ms: u64) -> Plan {
    Plan {
        arrivals: Arrivals::open(pattern),
        connections: 64,
        sustain_ms,
        plain_share: 1.0,
        exchange: Exchange::bytes(1000),
        ..plan(Protocol::Tls13)
    }
}

/// Asserts that all arrivals began or were dropped, and that all that began have ended.
fn assert_accounted(outcome: &Outcome) {
    let (whole, offered) = (&outcome.whole, outcome.arrivals);
    assert_eq!(whole.attempts, whole.ended() + outcome.abandoned, "{outcome}");
    assert!(offered.arrivals >= offered.dropped + offered.queued + offered.late, "{outcome}");
    let unaccounted = |finding: &Finding| matches!(finding, Finding::Unaccounted { .. });
    assert!(!outcome.reasons.iter().any(unaccounted), "{outcome}");
}

#[test]
fn an_open_loop_offers_its_rate_on_any_number_of_threads() {
    for threads in [1, 3] {
        let plan = Plan { threads, ..open(Pattern::Constant { per_s: 200.0 }, 500) };
        let outcome = outcome(&plan, |_| Behavior::Good);
        assert_accounted(&outcome);
        // by the clock: 200 per second for half a second
        let arrivals = outcome.arrivals.arrivals;
        assert!(arrivals.abs_diff(100) <= 1, "{outcome}");
        assert_eq!(outcome.transaction().map(Latency::count), Some(arrivals), "{outcome}");
        assert_eq!(outcome.verdict, Verdict::Valid, "{outcome}");
    }
}

#[test]
fn a_stall_shows_in_the_times_of_an_open_loop_but_hardly_of_a_closed_one() {
    // connection 40 stalls the server for a second, after about a sixth of the run
    let stall: Script = |number| if number == 40 { Behavior::Stall } else { Behavior::Good };
    let sustain_ms = 4000;
    let patient = |plan: Plan| Plan { phase_ms_max: 10_000, ..plan };

    let plan = patient(open(Pattern::Poisson { per_s: 66.0 }, sustain_ms));
    let open = outcome(&plan, stall);
    assert_accounted(&open);
    // the stall lasts for one of four seconds, so a quarter of all arrivals fall into it
    let p99 = open.transaction().unwrap().quantile_ns(0.99).unwrap();
    assert!(u128::from(p99) > STALL.as_nanos() * 3 / 4, "{p99}: {open}");
    let p90 = open.transaction().unwrap().quantile_ns(0.9).unwrap();
    assert!(u128::from(p90) > STALL.as_nanos() / 4, "{p90}: {open}");

    // a closed loop of one connection, at about the same rate, waits while the server is stalled
    let plan = patient(Plan {
        arrivals: Arrivals::Closed { think: Think::Constant { ms: 14.0 } },
        connections: 1,
        ..plan
    });
    // A closed loop waits during the stall, so only one transaction in more than a hundred is slow.
    let enough = |outcome: &Outcome| {
        let count = outcome.transaction().map_or(0, Latency::count);
        (110..).contains(&count)
    };
    let closed = until(&plan, enough, |plan| outcome(plan, stall));
    let times = closed.transaction().unwrap();
    let p99 = times.quantile_ns(0.99).unwrap();
    assert!(u128::from(p99) < STALL.as_nanos() / 2, "{p99}: {closed}");
    assert!(u128::from(times.quantile_ns(1.0).unwrap()) > STALL.as_nanos() / 2, "it was there");
}

#[test]
fn arrivals_without_free_connection_wait_or_drop_and_are_counted() {
    let slow: Script = |number| if number == 10 { Behavior::Stall } else { Behavior::Good };
    let pattern = Pattern::Constant { per_s: 200.0 };
    let mut plan = Plan { connections: 4, threads: 2, ..open(pattern, 2000) };
    plan.arrivals = Arrivals::Open { pattern, waiting_max: 20 };
    let outcome = outcome(&plan, slow);
    assert_accounted(&outcome);
    let offered = outcome.arrivals;
    assert!(offered.dropped > 50 && offered.queued >= 20, "{outcome}");
    let told = |finding: &Finding| matches!(finding, Finding::Dropped { .. });
    assert!(outcome.reasons.iter().any(told), "{outcome}");
    assert_eq!(outcome.transaction().map(Latency::count), None, "no figure");
    let in_series: u64 = outcome.series.iter().map(|point| point.dropped).sum();
    assert!(in_series >= offered.dropped, "{outcome}");
}
