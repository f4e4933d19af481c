//! Cores that serve in turns, against a simulation, and against queues whose answers are known.
#![allow(clippy::cast_precision_loss, reason = "tests; counts far below 2^53")]

use std::collections::VecDeque;

use tollgate_fleet::Error;
use tollgate_fleet::queue::Turns;
use tollgate_fleet::simulation::quantile;

use crate::stages::{WORK_NS, mean, poisson};

/// One operation, or up to eight at 3.5 times its price, with a tenth of it beside.
const WORK: f64 = 0.1 * WORK_NS;

fn batches() -> Vec<f64> {
    (1..=8).map(|n| WORK_NS * f64::from(n).min(3.5)).collect()
}

/// Simulates a core with requests at random. `read` is the share of the work that is done in the turn
/// that takes a request; the rest is done in the turn that answers it. Returns the response times and
/// the mean number of operations in a batch.
fn simulated(load: f64, requests: usize, read: f64) -> (Vec<f64>, f64) {
    let mut random = fastrand::Rng::with_seed(5);
    let batches = batches();
    let mut arrivals = poisson(load, requests).into_iter().map(|at| at.get()).peekable();
    let (mut times, mut taken) = (Vec::with_capacity(requests), VecDeque::new());
    let (mut now, mut turns, mut operations) = (0.0, 0, 0);
    while times.len() < requests {
        if taken.is_empty() {
            now = arrivals.peek().map_or(now, |next| next.max(now));
        }
        let mut come: Vec<f64> =
            core::iter::from_fn(|| arrivals.next_if(|at| *at <= now)).collect();
        // the connections are read in any order
        random.shuffle(&mut come);
        let reads = come.len();
        taken.extend(come);
        let running: Vec<f64> = taken.drain(..taken.len().min(8)).collect();
        let batch = running.len();
        (turns, operations) = (turns + 1, operations + batch);
        let work = read * reads as f64 + (1.0 - read) * batch as f64;
        now += WORK * work + batches[batch - 1];
        times.extend(running.into_iter().map(|arrival| now - arrival));
    }
    (times, operations as f64 / f64::from(turns))
}

fn turns() -> Turns {
    Turns::new(WORK, batches()).unwrap()
}

/// The arrivals of `poisson(1)` are 1 in `WORK_NS`.
fn per_s(load: f64) -> f64 {
    1e9 * load / WORK_NS
}

#[test]
fn means_and_quantiles_are_those_of_a_simulation() {
    let capacity = turns().capacity_per_s() * 1e-9 * WORK_NS;
    // A signer does a part of the work when it takes a request, and the model all at the answer.
    for (read, limit) in [(0.0, 0.03), (0.5, 0.1)] {
        for load in [0.05, 0.3, 0.6, 0.9] {
            let steady = turns().at(per_s(load * capacity)).unwrap();
            let (mut times, batch) = simulated(load * capacity, 400_000, read);
            let near = |what: &str, expected: f64, found: f64| {
                let error = expected / found - 1.0;
                assert!(error.abs() < limit, "{read}, {load}, {what}: {error}");
            };
            near("batch", steady.operations_per_batch(), batch);
            near("mean", steady.mean_ns(), mean(&times));
            for q in [0.5, 0.9, 0.99] {
                near(&q.to_string(), steady.quantile_ns(q), quantile(&mut times, q));
            }
        }
    }
}

/// One operation in a turn is M/D/1, and a batch of any size the bulk service of [Bailey54]: with a
/// arrivals in the time D of a batch, the next one has a of them, or 1 if none came. Those that came
/// take 1.5 D on average, and one that was alone takes D.
#[test]
fn queues_whose_answers_are_known() {
    for load in [0.1, 0.5, 0.9] {
        let one = Turns::new(0.1 * WORK_NS, vec![0.9 * WORK_NS]).unwrap().at(per_s(load)).unwrap();
        let expected = WORK_NS * (1.0 + load / (2.0 * (1.0 - load)));
        assert!((one.mean_ns() / expected - 1.0).abs() < 1e-6, "{load}: {}", one.mean_ns());
        assert!((one.busy() - load).abs() < 1e-6, "{load}: {}", one.busy());
    }
    for a in [0.2, 1.0, 3.0, 10.0_f64] {
        let any = Turns::new(0.0, vec![WORK_NS; 64]).unwrap().at(per_s(a)).unwrap();
        let alone = (-a).exp();
        let expected = WORK_NS * (1.5 * a + alone) / (a + alone);
        assert!((any.mean_ns() / expected - 1.0).abs() < 1e-6, "{a}: {}", any.mean_ns());
        assert!((any.operations_per_batch() / (a + alone) - 1.0).abs() < 1e-6, "{a}");
    }
}

#[test]
fn rates_beyond_the_capacity_are_refused() {
    let rate = turns().capacity_per_s();
    assert!(turns().at(0.95 * rate).is_ok());
    assert!(matches!(turns().at(0.97 * rate), Err(Error::Rejected { .. })));
    assert!(matches!(turns().at(1.1 * rate), Err(Error::Unstable { .. })));
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(turns().at(bad).is_err(), "{bad}");
        assert!(Turns::new(WORK, vec![bad]).is_err(), "{bad}");
    }
    assert!(Turns::new(-1.0, batches()).is_err() && Turns::new(WORK, Vec::new()).is_err());
    assert!(Turns::new(WORK, vec![1.0; 65]).is_err());
    let long_turns = Turns::new(0.0, vec![1e12, 1.0]).unwrap();
    assert!(matches!(long_turns.at(1e9), Err(Error::Rejected { .. })));
}
