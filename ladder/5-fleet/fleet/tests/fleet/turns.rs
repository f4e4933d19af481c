//! Cores that serve in turns, against a simulation, and against queues whose answers are known.
#![allow(clippy::cast_precision_loss, reason = "tests; counts far below 2^53")]

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use tollgate_fleet::Error;
use tollgate_fleet::queue::{Hedged, Turns};
use tollgate_fleet::simulation::{EventLoop, Stage, quantile};

use crate::stages::{WORK_NS, mean, poisson};

/// One operation, or up to eight at 3.5 times its price, with a tenth of it beside.
const WORK: f64 = 0.1 * WORK_NS;

fn batches() -> Vec<f64> {
    (1..=8).map(|n| WORK_NS * f64::from(n).min(3.5)).collect()
}

/// Simulated cores with requests at random. With `after_ns`, a request that has no answer by then goes
/// to another core too. Returns the times to the first answers, and the further requests as a share.
fn simulated(cores: usize, load: f64, requests: usize, after_ns: Option<f64>) -> (Vec<f64>, f64) {
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    enum Event {
        Comes(usize),
        IsLate(usize),
        Ends { core: usize },
    }
    let mut random = fastrand::Rng::with_seed(5);
    let arrivals: Vec<f64> =
        poisson(load * cores as f64, requests).iter().map(|at| at.get()).collect();
    let mut events: BinaryHeap<Reverse<(u64, Event)>> = BinaryHeap::new();
    let mut waiting = vec![Vec::new(); cores];
    let mut running: Vec<Option<Vec<usize>>> = vec![None; cores];
    let mut first_core = vec![0; requests];
    let mut times = vec![f64::NAN; requests];
    let mut second = 0;
    // Only the next arrival is an event: a heap of all would be slow.
    let comes = |number: usize| Reverse((arrivals[number].to_bits(), Event::Comes(number)));
    events.push(comes(0));
    while let Some(Reverse((at, event))) = events.pop() {
        let now = f64::from_bits(at);
        let core = match event {
            Event::Comes(number) => {
                if number + 1 < requests {
                    events.push(comes(number + 1));
                }
                if let Some(after) = after_ns {
                    events.push(Reverse(((now + after).to_bits(), Event::IsLate(number))));
                }
                first_core[number] = random.usize(..cores);
                waiting[first_core[number]].push(number);
                first_core[number]
            }
            Event::IsLate(number) if times[number].is_nan() => {
                second += 1;
                let other = (first_core[number] + random.usize(1..cores)) % cores;
                waiting[other].push(number);
                other
            }
            Event::IsLate(_) => continue,
            Event::Ends { core } => {
                for number in running[core].take().unwrap() {
                    if times[number].is_nan() {
                        times[number] = now - arrivals[number];
                    }
                }
                core
            }
        };
        if running[core].is_none() && !waiting[core].is_empty() {
            let turn = core::mem::take(&mut waiting[core]);
            let batches = batches();
            let full = (turn.len() / 8) as f64 * batches[7];
            let rest = (turn.len() % 8).checked_sub(1).map_or(0.0, |last| batches[last]);
            let end = now + WORK * turn.len() as f64 + full + rest;
            running[core] = Some(turn);
            events.push(Reverse((end.to_bits(), Event::Ends { core })));
        }
    }
    (times, second as f64 / requests as f64)
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
    for load in [0.05, 0.3, 0.6, 0.9] {
        let steady = turns().at(per_s(load * capacity)).unwrap();
        let (mut times, _) = simulated(1, load * capacity, 400_000, None);
        let error = steady.mean_ns() / mean(&times) - 1.0;
        assert!(error.abs() < 0.02, "{load}: {error}");
        for q in [0.5, 0.9, 0.99] {
            let error = steady.quantile_ns(q) / quantile(&mut times, q) - 1.0;
            assert!(error.abs() < 0.03, "{load}, {q}: {error}");
        }
    }
}

/// The event loop of Tollgate's server answers a request that completes a batch at once, so it is a
/// little faster when turns have several batches.
#[test]
fn an_event_loop_is_a_little_faster() {
    let capacity = turns().capacity_per_s() * 1e-9 * WORK_NS;
    let stage = Stage { work_ns: WORK, after_ns: Some(0.0) };
    let server = EventLoop::new(1, vec![stage], batches(), vec![0.0], 0.0).unwrap();
    for load in [0.1, 0.5, 0.8] {
        let run = server.run(poisson(load * capacity, 400_000), 1);
        let steady = turns().at(per_s(load * capacity)).unwrap();
        let error = steady.mean_ns() / mean(&run.responses) - 1.0;
        assert!((-0.02..0.2 * load).contains(&error), "{load}: {error}");
        let fill = steady.operations_per_batch() / run.operations_per_batch().unwrap() - 1.0;
        assert!(fill.abs() < 0.02, "{load}: {fill}");
    }
}

#[test]
fn hedged_requests_are_those_of_a_simulation() {
    let capacity = turns().capacity_per_s() * 1e-9 * WORK_NS;
    for load in [0.3, 0.5] {
        let rate = per_s(load * capacity);
        let after = turns().at(rate).unwrap().quantile_ns(0.95);
        let hedged = Hedged::new(&turns(), rate, after).unwrap();
        let (mut times, more) = simulated(16, load * capacity, 400_000, Some(after));
        assert!((hedged.more / more - 1.0).abs() < 0.1, "{load}: {} {more}", hedged.more);
        for q in [0.5, 0.99, 0.999] {
            let error = hedged.quantile_ns(q) / quantile(&mut times, q) - 1.0;
            assert!(error.abs() < 0.05, "{load}, {q}: {error}");
        }
    }
    // At more load, second requests delay the first ones, which causes more second requests.
    let rate = per_s(0.7 * capacity);
    let after = turns().at(rate).unwrap().quantile_ns(0.95);
    assert!(Hedged::new(&turns(), rate, after).is_err());
    let (times, more) = simulated(16, 0.7 * capacity, 400_000, Some(after));
    let (alone, _) = simulated(16, 0.7 * capacity, 400_000, None);
    assert!(more > 0.3 && mean(&times) > 1.5 * mean(&alone), "{more}");
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
}
