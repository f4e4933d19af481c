//! Cores that serve in turns, against a simulation, and against queues whose answers are known.
#![allow(clippy::cast_precision_loss, reason = "tests; counts far below 2^53")]

use core::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use tollgate_fleet::Error;
use tollgate_fleet::queue::{Hedged, Turns};
use tollgate_fleet::simulation::quantile;

use crate::stages::{WORK_NS, mean, poisson};

/// One operation, or up to eight at 3.5 times its price, with a tenth of it beside.
const WORK: f64 = 0.1 * WORK_NS;

fn batches() -> Vec<f64> {
    (1..=8).map(|n| WORK_NS * f64::from(n).min(3.5)).collect()
}

/// A simulated core.
#[derive(Clone, Default)]
struct Core {
    /// Requests that the next turn takes.
    come: Vec<usize>,
    /// Requests that were taken, in their order.
    taken: VecDeque<usize>,
    running: Vec<usize>,
}

/// Simulated cores with requests at random. With `after_ns`, a request that has no answer by then goes
/// to another core too. `read` is the share of the work that is done in the turn that takes a request;
/// the rest is done in the turn that answers it. Returns the times to the first answers, the further
/// requests as a share, and the operations of a batch.
fn simulated(
    cores: usize,
    load: f64,
    requests: usize,
    (after_ns, read): (Option<f64>, f64),
) -> (Vec<f64>, f64, f64) {
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
    let mut all = vec![Core::default(); cores];
    let mut first_core = vec![0; requests];
    let mut times = vec![f64::NAN; requests];
    let (mut second, mut turns, mut operations) = (0, 0, 0);
    let batches = batches();
    // Only the next arrival is an event: a heap of all would be slow.
    let comes = |number: usize| Reverse((arrivals[number].to_bits(), Event::Comes(number)));
    events.push(comes(0));
    while let Some(Reverse((at, event))) = events.pop() {
        let now = f64::from_bits(at);
        let number = match event {
            Event::Comes(number) => {
                if number + 1 < requests {
                    events.push(comes(number + 1));
                }
                if let Some(after) = after_ns {
                    events.push(Reverse(((now + after).to_bits(), Event::IsLate(number))));
                }
                first_core[number] = random.usize(..cores);
                all[first_core[number]].come.push(number);
                first_core[number]
            }
            Event::IsLate(number) if times[number].is_nan() => {
                second += 1;
                let other = (first_core[number] + random.usize(1..cores)) % cores;
                all[other].come.push(number);
                other
            }
            Event::IsLate(_) => continue,
            Event::Ends { core } => {
                for number in core::mem::take(&mut all[core].running) {
                    if times[number].is_nan() {
                        times[number] = now - arrivals[number];
                    }
                }
                core
            }
        };
        let core = &mut all[number];
        if core.running.is_empty() && !(core.come.is_empty() && core.taken.is_empty()) {
            // the connections are read in any order
            random.shuffle(&mut core.come);
            let reads = core.come.len();
            core.taken.extend(core.come.drain(..));
            core.running = core.taken.drain(..core.taken.len().min(8)).collect();
            let batch = core.running.len();
            (turns, operations) = (turns + 1, operations + batch);
            let work = read * reads as f64 + (1.0 - read) * batch as f64;
            let end = now + WORK * work + batches[batch - 1];
            events.push(Reverse((end.to_bits(), Event::Ends { core: number })));
        }
    }
    (times, f64::from(second) / requests as f64, operations as f64 / f64::from(turns))
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
            let (mut times, _, batch) = simulated(1, load * capacity, 400_000, (None, read));
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
fn hedged_requests_are_those_of_a_simulation() {
    let capacity = turns().capacity_per_s() * 1e-9 * WORK_NS;
    for load in [0.3, 0.5] {
        let rate = per_s(load * capacity);
        let after = turns().at(rate).unwrap().quantile_ns(0.95);
        let hedged = Hedged::new(&turns(), rate, after).unwrap();
        let (mut times, more, _) = simulated(16, load * capacity, 400_000, (Some(after), 0.0));
        assert!((hedged.more / more - 1.0).abs() < 0.1, "{load}: {} {more}", hedged.more);
        for q in [0.5, 0.99, 0.999] {
            let error = hedged.quantile_ns(q) / quantile(&mut times, q) - 1.0;
            assert!(error.abs() < 0.05, "{load}, {q}: {error}");
        }
    }
    // At more load, second requests delay the first ones, which causes more second requests.
    let rate = per_s(0.8 * capacity);
    let after = turns().at(rate).unwrap().quantile_ns(0.95);
    assert!(Hedged::new(&turns(), rate, after).is_err());
    let (times, more, _) = simulated(16, 0.8 * capacity, 400_000, (Some(after), 0.0));
    let (alone, ..) = simulated(16, 0.8 * capacity, 400_000, (None, 0.0));
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
    assert!(Turns::new(WORK, vec![1.0; 65]).is_err());
    let long_turns = Turns::new(0.0, vec![1e12, 1.0]).unwrap();
    assert!(matches!(long_turns.at(1e9), Err(Error::Rejected { .. })));
}
