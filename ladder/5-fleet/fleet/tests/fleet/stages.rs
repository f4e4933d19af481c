//! Simulated sessions with stages, against queues whose answers are known.

use tollgate_fleet::queue::tail::QUANTILE_ERROR_MAX;
use tollgate_fleet::queue::{Discipline, ServiceTime, Station};
use tollgate_fleet::simulation::{Simulation, quantile};
use tollgate_record::{Estimate, Nanos};

pub(crate) const WORK_NS: f64 = 1e6;

/// Returns Poisson arrivals for one core at this load, with `sessions` sessions.
pub(crate) fn poisson(load: f64, sessions: usize) -> Vec<Nanos> {
    let mut random = fastrand::Rng::with_seed(11);
    let mut now = 0.0;
    let next = move || {
        now += -(1.0 - random.f64()).ln() * WORK_NS / load;
        Nanos::new(now)
    };
    core::iter::repeat_with(next).take(sessions).collect()
}

fn server(cores: u32, discipline: Discipline, stages: &[f64], wake_ns: f64) -> Simulation {
    let station = Station::new(cores, discipline).unwrap();
    Simulation::new(station, stages.to_vec(), vec![0.0], wake_ns).unwrap()
}

pub(crate) fn mean(times: &[f64]) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "counts of a test")]
    let count = times.len() as f64;
    times.iter().sum::<f64>() / count
}

/// One stage without a pause is M/D/1, whose mean wait is load / (2 (1 - load)) service times.
#[test]
fn one_stage_is_the_queue_of_the_formula() {
    let one = server(1, Discipline::QueuePerCore, &[WORK_NS], 0.0);
    let exact = |x| Estimate::exact(x).unwrap();
    let service = ServiceTime::new(exact(WORK_NS), exact(0.0)).unwrap();
    let station = Station::new(1, Discipline::QueuePerCore).unwrap();
    for load in [0.3, 0.6, 0.9] {
        let mut times = one.responses(poisson(load, 400_000), 1);
        let expected = WORK_NS * (1.0 + load / (2.0 * (1.0 - load)));
        assert!((mean(&times) / expected - 1.0).abs() < 0.03, "{load}: {}", mean(&times));
        let formula = station.quantile_at_load(0.99, load, &service).unwrap().point();
        let p99 = quantile(&mut times, 0.99);
        // The limit of the formula's error was found for loads from 0.5 on.
        let error = (formula / p99 - 1.0).abs();
        assert!(load < 0.5 || error < QUANTILE_ERROR_MAX, "{load}: {formula} {p99}");
    }
}

/// The mean wait of M/D/1 with a set-up time: a customer that finds the server idle waits for the
/// set-up S, and the others wait longer by S / 2 per set-up: E W = load w / (2 (1 - load)) + (2 S +
/// a S^2) / (2 (1 + a S)) for arrivals at rate a (P. D. Welch, On a generalized M/G/1 queuing
/// process in which the first customer of each busy period receives exceptional service, Operations
/// Research 12, 1964).
#[test]
fn waking_up_adds_the_wait_of_welch() {
    let wake = 0.4 * WORK_NS;
    let one = server(1, Discipline::OneQueue, &[WORK_NS], wake);
    for load in [0.2, 0.6, 0.9] {
        let rate = load / WORK_NS;
        let wait = load * WORK_NS / (2.0 * (1.0 - load))
            + (2.0 * wake + rate * wake * wake) / (2.0 * (1.0 + rate * wake));
        let found = mean(&one.responses(poisson(load, 400_000), 1)) - WORK_NS;
        assert!((found / wait - 1.0).abs() < 0.03, "{load}: {found} instead of {wait}");
    }
}

/// Two halves of a session wait twice; a session in one piece waits once.
#[test]
fn stages_wait_for_each_other() {
    let halves = server(1, Discipline::OneQueue, &[WORK_NS / 2.0; 2], 0.0);
    let whole = server(1, Discipline::OneQueue, &[WORK_NS], 0.0);
    let arrivals = poisson(0.8, 100_000);
    let [mut halves, mut whole] = [halves, whole].map(|s| s.responses(arrivals.clone(), 1));
    assert_eq!(halves.len(), 100_000);
    // The last stages end at the same times, but those of later sessions first.
    assert!(quantile(&mut halves, 0.5) > 1.2 * quantile(&mut whole, 0.5));
    assert!((mean(&halves) / mean(&whole) - 1.3).abs() < 0.15, "{}", mean(&halves) / mean(&whole));
}

#[test]
fn a_common_queue_is_shorter_than_one_for_each_core() {
    let stages = [0.7 * WORK_NS, 0.3 * WORK_NS];
    let [common, own] = [Discipline::OneQueue, Discipline::QueuePerCore]
        .map(|discipline| server(4, discipline, &stages, 0.0));
    let arrivals = poisson(4.0 * 0.7, 50_000);
    let mut common = common.responses(arrivals.clone(), 1);
    let mut own = own.responses(arrivals, 1);
    assert!(2.0 * quantile(&mut common, 0.99) < quantile(&mut own, 0.99));
    assert!(common.iter().chain(&own).all(|&time| time >= WORK_NS * (1.0 - 1e-9)));
}

/// Sessions that are alone take their work and their time outside; the times outside are drawn.
#[test]
fn times_outside_are_drawn_for_each_session() {
    let station = Station::new(1, Discipline::OneQueue).unwrap();
    let outside = vec![0.0, 10.0, 1000.0];
    let server = Simulation::new(station, vec![7.0, 5.0], outside.clone(), 0.0).unwrap();
    let apart = (0..30_000).map(|number| Nanos::new(1e4 * f64::from(number)));
    let mut times = server.responses(apart, 3);
    times.iter_mut().for_each(|time| *time = (*time - 12.0).round());
    for value in outside {
        let count = times.iter().filter(|time| **time == value).count();
        assert!((9_600..10_400).contains(&count), "{count} times {value}");
    }
}

#[test]
fn what_has_no_meaning_is_refused() {
    let new = |discipline, work: &[f64], outside: &[f64], wake| {
        let station = Station::new(1, discipline).unwrap();
        Simulation::new(station, work.to_vec(), outside.to_vec(), wake)
    };
    for wrong in [
        new(Discipline::OneQueue, &[], &[0.0], 0.0),
        new(Discipline::OneQueue, &[1.0], &[], 0.0),
        new(Discipline::Sharing, &[1.0], &[0.0], 0.0),
        new(Discipline::OneQueue, &[1.0], &[-1.0], 0.0),
        new(Discipline::OneQueue, &[f64::NAN], &[0.0], 0.0),
        new(Discipline::OneQueue, &[1.0], &[0.0], f64::INFINITY),
    ] {
        assert!(wrong.is_err());
    }
}
