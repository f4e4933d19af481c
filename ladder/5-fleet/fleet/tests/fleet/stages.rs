//! Simulated sessions with stages, against queues whose answers are known.

use tollgate_fleet::queue::tail::QUANTILE_ERROR_MAX;
use tollgate_fleet::queue::{Discipline, ServiceTime, Station};
use tollgate_fleet::simulation::{Core, Interruptions, Outside, Simulation, quantile};
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

/// No network, and clients without work.
fn at_once() -> Outside {
    Outside::network(vec![0.0]).unwrap()
}

fn server(cores: u32, discipline: Discipline, stages: &[f64], wake_ns: f64) -> Simulation {
    let station = Station::new(cores, discipline).unwrap();
    let core = Core::new(wake_ns, Interruptions::default()).unwrap();
    Simulation::new(station, stages.to_vec(), at_once(), core).unwrap()
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
        let mut times = one.run(poisson(load, 400_000), 1).responses;
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
        let found = mean(&one.run(poisson(load, 400_000), 1).responses) - WORK_NS;
        assert!((found / wait - 1.0).abs() < 0.03, "{load}: {found} instead of {wait}");
    }
}

/// Two halves of a session wait twice; a session in one piece waits once.
#[test]
fn stages_wait_for_each_other() {
    let halves = server(1, Discipline::OneQueue, &[WORK_NS / 2.0; 2], 0.0);
    let whole = server(1, Discipline::OneQueue, &[WORK_NS], 0.0);
    let arrivals = poisson(0.8, 100_000);
    let [mut halves, mut whole] = [halves, whole].map(|s| s.run(arrivals.clone(), 1).responses);
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
    let mut common = common.run(arrivals.clone(), 1).responses;
    let mut own = own.run(arrivals, 1).responses;
    assert!(2.0 * quantile(&mut common, 0.99) < quantile(&mut own, 0.99));
    assert!(common.iter().chain(&own).all(|&time| time >= WORK_NS * (1.0 - 1e-9)));
}

/// Sessions that are alone take their work and their time outside; the times outside are drawn.
#[test]
fn times_outside_are_drawn_for_each_session() {
    let station = Station::new(1, Discipline::OneQueue).unwrap();
    let delays = vec![0.0, 10.0, 1000.0];
    let outside = Outside::network(delays.clone()).unwrap();
    let server = Simulation::new(station, vec![7.0, 5.0], outside, Core::default()).unwrap();
    let apart = (0..30_000).map(|number| Nanos::new(1e4 * f64::from(number)));
    let mut times = server.run(apart, 3).responses;
    times.iter_mut().for_each(|time| *time = (*time - 12.0).round());
    for value in delays {
        let count = times.iter().filter(|time| **time == value).count();
        assert!((9_600..10_400).contains(&count), "{count} times {value}");
    }
}

#[test]
fn what_has_no_meaning_is_refused() {
    let new = |discipline, work: &[f64], wake| {
        let station = Station::new(1, discipline).unwrap();
        let core = Core::new(wake, Interruptions::default())?;
        Simulation::new(station, work.to_vec(), at_once(), core)
    };
    for wrong in [
        new(Discipline::OneQueue, &[], 0.0),
        new(Discipline::Sharing, &[1.0], 0.0),
        new(Discipline::OneQueue, &[f64::NAN], 0.0),
        new(Discipline::OneQueue, &[1.0], f64::INFINITY),
    ] {
        assert!(wrong.is_err());
    }
}

#[test]
fn clients_without_meaning_are_refused() {
    for (delays, threads, work) in [
        (vec![], 1, 0.0),
        (vec![-1.0], 1, 0.0),
        (vec![0.0], 0, 0.0),
        (vec![0.0], 1, -1.0),
        (vec![0.0], 1, f64::NAN),
    ] {
        assert!(Outside::new(delays, threads, work, Core::default()).is_err());
    }
}

/// Clients that share a thread are a queue before the server, whose sessions come one after the
/// other. With the server's work at 0, two parts of 1 / 2 each follow at once on each other: M/D/1.
#[test]
fn clients_on_a_thread_wait_for_each_other() {
    let station = Station::new(1, Discipline::OneQueue).unwrap();
    let run = |threads, load: f64| {
        let outside = Outside::new(vec![0.0], threads, WORK_NS, Core::default()).unwrap();
        let server = Simulation::new(station, vec![0.0], outside, Core::default()).unwrap();
        server.run(poisson(load, 200_000), 1)
    };
    // The parts after the server wait too, behind the first parts of those that came meanwhile.
    for load in [0.3, 0.7] {
        let found = mean(&run(1, load).responses);
        let whole = WORK_NS * (1.0 + load / (2.0 * (1.0 - load)));
        assert!(found > whole * 0.99 && found < whole * (1.0 + load), "{load}: {found} {whole}");
    }
    let apart = mean(&run(1000, 0.7).responses);
    assert!((apart / WORK_NS - 1.0).abs() < 0.01, "{apart}");
}

/// A core that is interrupted works on afterwards. Work of length w has a Poisson number of
/// interruptions of mean r w, so it takes C with E C = w (1 + r m) and Var C = w r m2, where m and
/// m2 are the mean and the mean square of their lengths. A session that finds no other one waits
/// for the rest S of an interruption, or does not wait. If it comes a random time after the core
/// has become idle, of rate a, then E S^k = r E R^k / (a + r (1 - E exp(-a D))), where R is the
/// rest of an interruption of length D in which it comes. The mean wait is that of M/G/1 with the
/// set-up S, as above.
#[test]
fn interruptions_are_a_set_up_and_longer_work() {
    // two of them in the time of 40 sessions
    let (lengths, within) = ([0.5 * WORK_NS, 6.0 * WORK_NS], 40.0 * WORK_NS);
    let over = |of: &dyn Fn(f64) -> f64| mean(&lengths.map(of));
    let (m, m2) = (over(&|d| d), over(&|d| d * d));
    let r = 2.0 / (within - 2.0 * m);
    let core = Core::new(0.0, Interruptions::seen(lengths.to_vec(), within).unwrap()).unwrap();
    let station = Station::new(1, Discipline::OneQueue).unwrap();
    let one = Simulation::new(station, vec![WORK_NS], at_once(), core).unwrap();
    for load in [0.1, 0.4, 0.7] {
        let a = load / WORK_NS;
        let work = WORK_NS * (1.0 + r * m);
        let square = work * work + WORK_NS * r * m2;
        let in_one = over(&|d| 1.0 - (-a * d).exp());
        let rest = r * (m - in_one / a) / (a + r * in_one);
        let rest_square = r * (m2 - 2.0 * m / a + 2.0 * in_one / (a * a)) / (a + r * in_one);
        let wait = a * square / (2.0 * (1.0 - a * work))
            + (2.0 * rest + a * rest_square) / (2.0 * (1.0 + a * rest));
        let found = one.run(poisson(load, 1_000_000), 1);
        let response = mean(&found.responses);
        assert!((response / (work + wait) - 1.0).abs() < 0.03, "{load}: {response} {work} {wait}");
        assert_eq!(found.cpu_ns_per_session(), Some(WORK_NS), "an interruption is no work");
    }
}

#[test]
fn interruptions_without_meaning_are_refused() {
    for (lengths, within) in [
        (vec![1.0, 2.0], 3.0),
        (vec![-1.0], 10.0),
        (vec![f64::NAN], 10.0),
        (Vec::new(), 0.0),
        (Vec::new(), f64::INFINITY),
    ] {
        assert!(Interruptions::seen(lengths, within).is_err());
    }
    assert_eq!(Interruptions::seen(Vec::new(), 1.0).unwrap(), Interruptions::default());
}
