//! Simulated event loops with batches, against queues whose answers are known.
#![allow(clippy::cast_precision_loss, reason = "tests; counts far below 2^53")]

use tollgate_fleet::simulation::{Core, EventLoop, Interruptions, Outside, Run, Stage};
use tollgate_record::Nanos;

use crate::stages::{mean, poisson};

const BATCH_NS: f64 = 1e6;

fn signs(work_ns: f64, after_ns: f64) -> Stage {
    Stage { work_ns, after_ns: Some(after_ns) }
}

fn server_of(workers: u32, stages: &[Stage], batch_ns: &[f64]) -> EventLoop {
    let outside = Outside::network(vec![0.0]).unwrap();
    let (stages, batch_ns) = (stages.to_vec(), batch_ns.to_vec());
    EventLoop::new(workers, stages, batch_ns, 0.0, outside, Core::default()).unwrap()
}

fn run(stages: &[Stage], batch_ns: &[f64], arrivals: Vec<Nanos>) -> Run {
    server_of(1, stages, batch_ns).run(arrivals, 1)
}

/// Without operations, a stage is served in the order of arrival: M/D/1.
#[test]
fn turns_alone_change_no_time() {
    let stage = Stage { work_ns: BATCH_NS, after_ns: None };
    for load in [0.3, 0.6, 0.9] {
        let found = run(&[stage], &[0.0], poisson(load, 400_000));
        let expected = BATCH_NS * (1.0 + load / (2.0 * (1.0 - load)));
        let error = mean(&found.responses) / expected - 1.0;
        assert!(error.abs() < 0.03, "{load}: {error}");
        assert_eq!(found.operations_per_batch(), None);
    }
}

/// A batch of any size takes the time D. With a = rate x D, a Poisson number of sessions, of mean
/// a, comes during a batch and is the next batch; if none came, the next batch is one session. So a
/// batch has a + exp(-a) sessions. Those that came during a batch take 1.5 D on average, and a
/// session that was alone takes D. This is the bulk service of [Bailey54] without a limit.
#[test]
fn batches_of_any_size_take_what_came_meanwhile() {
    for a in [0.2, 1.0, 3.0, 10.0_f64] {
        let found = run(&[signs(0.0, 0.0)], &[BATCH_NS; 200], poisson(a, 300_000));
        let alone = (-a).exp();
        let expected = BATCH_NS * (1.5 * a + alone) / (a + alone);
        let error = mean(&found.responses) / expected - 1.0;
        assert!(error.abs() < 0.01, "{a}: {error}");
        let size = found.operations_per_batch().unwrap() / (a + alone) - 1.0;
        assert!(size.abs() < 0.01, "{a}: {size}");
    }
}

/// The mean response of a server that does nothing but batches, and the mean size of a batch. The
/// sessions of a turn are those that came in the turn before, or one if none came: a chain. A
/// session that completes a batch ends at once, and the others after all full batches.
fn chain(per_ns: f64, batch_ns: &[f64]) -> (f64, f64) {
    const STATES: usize = 256;
    let width = batch_ns.len();
    let rest = |n: usize| if n.is_multiple_of(width) { 0.0 } else { batch_ns[n % width - 1] };
    let full = |n: usize| (n / width) as f64 * batch_ns[width - 1];
    let turn = |n: usize| full(n) + rest(n);
    let mut shares = vec![0.0; STATES];
    shares[1] = 1.0;
    for _ in 0..300 {
        let mut next = vec![0.0; STATES];
        for (n, share) in shares.iter().enumerate().filter(|(_, share)| **share > 1e-12) {
            let mut probability = share * (-per_ns * turn(n)).exp();
            for (k, next) in next.iter_mut().enumerate() {
                *next += probability;
                probability *= per_ns * turn(n) / (k + 1) as f64;
            }
        }
        next[1] += core::mem::take(&mut next[0]);
        shares = next;
    }
    let (mut sessions, mut time, mut batches) = (0.0, 0.0, 0.0);
    for (n, share) in shares.iter().enumerate().skip(1) {
        let at_once: f64 = (1..=n / width).map(|k| k as f64 * batch_ns[width - 1]).sum();
        let others = (n / width * (width - 1)) as f64 * full(n);
        let waits = per_ns * turn(n) * turn(n) / 2.0;
        sessions += share * n as f64;
        batches += share * n.div_ceil(width) as f64;
        time += share * (waits + at_once + others + (n % width) as f64 * turn(n));
    }
    (time / sessions, sessions / batches)
}

#[test]
fn limited_batches_agree_with_the_chain_of_their_turns() {
    let linear = |single: f64, more: f64, width: usize| -> Vec<f64> {
        (0..width).map(|others| single + more * others as f64).collect()
    };
    for batch_ns in [
        linear(BATCH_NS, 0.0, 1),            // M/D/1
        linear(BATCH_NS, 0.0, 2),            // two at the price of one
        linear(BATCH_NS, 0.1 * BATCH_NS, 8), // eight lanes
    ] {
        let capacity = batch_ns.len() as f64 * BATCH_NS / batch_ns[batch_ns.len() - 1];
        for load in [0.2, 0.5, 0.8] {
            let found = run(&[signs(0.0, 0.0)], &batch_ns, poisson(load * capacity, 400_000));
            let per_ns = load * capacity / BATCH_NS;
            let (response, size) = chain(per_ns, &batch_ns);
            let about = format!("width {} at {load}", batch_ns.len());
            let error = mean(&found.responses) / response - 1.0;
            assert!(error.abs() < 0.02, "{about}: {error}");
            let error = found.operations_per_batch().unwrap() / size - 1.0;
            assert!(error.abs() < 0.01, "{about}: {error}");
        }
    }
}

/// Three sessions come while the worker serves the first, which is alone; a batch has at most two.
#[test]
fn a_small_case_by_hand() {
    let arrivals = [0.0, 1.0, 2.0, 3.0].map(Nanos::new).to_vec();
    let stages = [signs(1.0, 2.0), Stage { work_ns: 4.0, after_ns: None }];
    let found = run(&stages, &[10.0, 12.0], arrivals);
    // 0 to 13: the first session's signature, 1 + 10 + 2. Its second stage is ready at 13, before
    // the others, which are accepted at 13, 17 being the end of the turn that accepts them.
    // 17: the other three are accepted; 18, 19: work of two; 31: their batch; 33: the third session
    // is ready for its last stage; 34: work of the fourth. Then those that paused: 36: the second
    // session; 46, 48: the batch of the fourth, and its work.
    // The last stages: 52 (third), 56 (second), 60 (fourth).
    assert_eq!(found.responses, [17.0, 55.0, 50.0, 57.0]);
    assert_eq!(found.operations_per_batch(), Some(4.0 / 3.0));
}

#[test]
fn more_than_the_capacity_is_served_in_full_batches() {
    let batch_ns: Vec<f64> = (1..=8).map(|n| BATCH_NS * (0.9 + 0.1 * f64::from(n))).collect();
    let found = run(&[signs(0.0, 0.0)], &batch_ns, poisson(20.0, 20_000));
    assert!(found.operations_per_batch().unwrap() > 7.8);
    // 20 sessions come in BATCH_NS; 8 of them are served in 1.7 BATCH_NS.
    let last = found.responses.last().unwrap() / BATCH_NS;
    let expected = 20_000.0 * (1.7 / 8.0 - 1.0 / 20.0);
    assert!((last / expected - 1.0).abs() < 0.05, "{last} {expected}");
}

/// A worker that sleeps wakes up before each stage, to accept, and when the client closes. Each
/// turn has work of its own.
#[test]
fn workers_wake_up_and_share_no_session() {
    let stages = vec![signs(3.0, 4.0), Stage { work_ns: 5.0, after_ns: None }];
    let core = Core::new(7.0, Interruptions::default()).unwrap();
    let outside = Outside::network(vec![200.0]).unwrap();
    let server = EventLoop::new(2, stages, vec![10.0], 2.0, outside, core).unwrap();
    let apart = (1..=100).map(|n| Nanos::new(1e4 * f64::from(n)));
    let run = server.run(apart, 1);
    let times = run.responses.clone();
    // accepting takes less than the 100 ns outside before the first stage
    assert!(times.iter().all(|time| (time - (200.0 + 22.0 + 2.0 * 9.0)).abs() < 1e-6), "{times:?}");
    // two turns for the stages, one that accepts, and one when the client has closed
    assert!((run.cpu_ns_per_session().unwrap() - (22.0 + 4.0 * 9.0)).abs() < 1e-6, "{run:?}");
    let times =
        server_of(2, &[signs(0.0, 0.0)], &[BATCH_NS]).run(poisson(1.6, 200_000), 1).responses;
    assert!(times.iter().all(|time| *time >= BATCH_NS - 1.0), "no session is lost");
    // two workers, each M/D/1 at 80 %
    assert!((mean(&times) / BATCH_NS / 3.0 - 1.0).abs() < 0.05, "{}", mean(&times));
}

fn halves(workers: u32, outside: Outside, core: Core) -> EventLoop {
    let stages = vec![Stage { work_ns: BATCH_NS / 2.0, after_ns: None }; 2];
    EventLoop::new(workers, stages, vec![0.0], 0.0, outside, core).unwrap()
}

/// The client's thread is a queue for the sessions of both workers.
#[test]
fn workers_share_a_client_that_works() {
    let outside = Outside::new(vec![0.0], 1, 0.6 * BATCH_NS, Core::default()).unwrap();
    let run = halves(2, outside, Core::default()).run(poisson(1.5, 100_000), 1);
    let alone = 1.6 * BATCH_NS;
    assert!(run.responses.iter().all(|time| *time >= alone - 1.0), "no session is lost");
    // The client works for 90 % of the time, so a part of its work, 0.2, waits about as in M/D/1;
    // each stage waits about as in M/D/1 at 75 %.
    let waits = 3.0 * 0.2 * 0.9 / 0.2 + 2.0 * 0.5 * 0.75 / 0.5;
    let found = (mean(&run.responses) - alone) / BATCH_NS;
    assert!((found / waits - 1.0).abs() < 0.25, "{found} {waits}");
}

/// Clients without work do not wait for each other.
#[test]
fn the_threads_of_clients_without_work_do_not_matter() {
    let times = |threads| {
        let outside = Outside::new(vec![0.0], threads, 0.0, Core::default()).unwrap();
        halves(8, outside, Core::default()).run(poisson(8.0 * 0.8, 20_000), 1).responses
    };
    assert!(times(1) == times(1000));
}

/// Sessions that are alone take their work, and the interruptions that come meanwhile or that they
/// find.
#[test]
fn interruptions_lengthen_turns() {
    let (length, within) = (4.0 * BATCH_NS, 100.0 * BATCH_NS);
    let core = Core::new(0.0, Interruptions::seen(vec![length], within).unwrap()).unwrap();
    let server = halves(1, Outside::network(vec![0.0]).unwrap(), core);
    let apart = (1..=20_000).map(|n| Nanos::new(200.0 * BATCH_NS * f64::from(n)));
    let run = server.run(apart, 1);
    // four hundredths of the time in one, of which half is left; and one in 96 times the work
    let expected = 1.0 + 0.04 * 2.0 + 4.0 / 96.0;
    let found = mean(&run.responses) / BATCH_NS;
    assert!((found / expected - 1.0).abs() < 0.01, "{found} {expected}");
    assert_eq!(run.cpu_ns_per_session(), Some(BATCH_NS), "an interruption is no work");
}

#[test]
fn what_has_no_meaning_is_refused() {
    let new = |workers, stages: &[Stage], batch: &[f64], turn| {
        let (stages, outside) = (stages.to_vec(), Outside::network(vec![0.0]).unwrap());
        EventLoop::new(workers, stages, batch.to_vec(), turn, outside, Core::default())
    };
    let stage = [signs(1.0, 1.0)];
    for wrong in [
        new(0, &stage, &[1.0], 0.0),
        new(1, &[], &[1.0], 0.0),
        new(1, &stage, &[], 0.0),
        new(1, &stage, &[f64::NAN], 0.0),
        new(1, &[signs(-1.0, 0.0)], &[1.0], 0.0),
        new(1, &[signs(0.0, -1.0)], &[1.0], 0.0),
        new(1, &stage, &[1.0], -1.0),
    ] {
        assert!(wrong.is_err());
    }
}
