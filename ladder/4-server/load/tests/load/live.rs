//! Live counts and witnesses of runs, including stopped ones.

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use tollgate_load::{Error, Finding, Live, Outcome, Plan, Protocol, Server, Verdict, run};

use crate::plan;
use crate::tls_server::{Behavior, TlsServer};

#[test]
fn live_counts_are_the_sum_of_the_runs_and_each_run_has_a_witness() {
    let server = TlsServer::start(|_| Behavior::Good);
    let (live, mut told) = (Arc::new(Live::default()), Vec::new());
    let mut side = Server::new("rustls", server.target())
        .with_referee(server.referee())
        .with_live(Arc::clone(&live))
        .with_witness(|outcome: &Outcome| told.push(outcome.clone()));
    let plan = Plan { threads: 2, ..plan(Protocol::Tls13) };
    let outcomes: Vec<Outcome> =
        (0..2).map(|_| run(&plan, &mut side, &|| false, &mut |_, _| {}).unwrap()).collect();
    drop(side);
    let sum = |of: fn(&Outcome) -> u64| outcomes.iter().map(of).sum::<u64>();
    let counts = live.counts();
    assert_eq!(counts.attempts, sum(|outcome| outcome.whole.attempts));
    assert_eq!(counts.confirmed, sum(|outcome| outcome.whole.confirmed));
    assert_eq!(counts.transactions, sum(|outcome| outcome.whole.transactions));
    assert_eq!(counts.body_bytes, sum(|outcome| outcome.whole.body_bytes));
    assert_eq!((counts.failed, counts.timed_out, counts.dropped), (0, 0, 0));
    let whole = |outcomes: &[Outcome]| -> Vec<_> {
        outcomes.iter().map(|outcome| (outcome.whole.clone(), outcome.began_at)).collect()
    };
    assert_eq!(whole(&told), whole(&outcomes));
    assert!(told[0].began_at < told[1].began_at);
}

#[test]
fn a_stopped_run_has_counts_and_no_figures() {
    let server = TlsServer::start(|_| Behavior::Good);
    let (live, mut told) = (Arc::new(Live::default()), Vec::new());
    let mut side = Server::new("rustls", server.target())
        .with_referee(server.referee())
        .with_live(Arc::clone(&live))
        .with_witness(|outcome: &Outcome| told.push(outcome.clone()));
    let plan = Plan { sustain_ms: 60_000, ..plan(Protocol::Tls13) };
    let asked = AtomicU64::new(0);
    let stop = || {
        // after some transactions
        live.counts().transactions > 20 && asked.fetch_add(1, Ordering::Relaxed) > 2
    };
    let error = run(&plan, &mut side, &stop, &mut |_, _| {}).unwrap_err();
    assert!(matches!(error, Error::Stopped), "{error}");
    drop(side);
    let [outcome] = &told[..] else { panic!("{told:?}") };
    assert_eq!(outcome.verdict, Verdict::Invalid);
    let [Finding::BrokenOff { after }] = &outcome.reasons[..] else { panic!("{outcome}") };
    assert_eq!((outcome.sessions_per_s(), outcome.seen), (None, None));
    let whole = &outcome.whole;
    assert_eq!(whole.attempts, whole.ended() + outcome.abandoned);
    assert_eq!(live.counts().transactions, whole.transactions);
    assert!(whole.transactions > 20, "{outcome}");
    let series = &outcome.series;
    let end_s = series.last().map(|point| point.from_s + point.width_s).unwrap();
    assert!((end_s - after.as_secs_f64()).abs() < 1e-6, "only the seconds before the stop");
    let done: u64 = series.iter().map(|point| point.transactions).sum();
    assert!(done > 0 && done <= whole.transactions, "{outcome}");
}
