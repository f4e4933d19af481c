//! Simulated queues, clients that give up, and batches, against queues whose answers are known.
#![allow(clippy::cast_precision_loss, reason = "tests; counts far below 2^53")]

use tollgate_fleet::Error;
use tollgate_fleet::queue::{Discipline, ServiceTime, Station};
use tollgate_fleet::simulation::{Clients, Outcome, Simulator};
use tollgate_record::Nanos;

use crate::exact;

const NEVER: f64 = 1e18;
const WORK_NS: f64 = 1e6;

/// Returns Poisson arrivals for one core at this load, with `sessions` sessions.
fn poisson(load: f64, sessions: usize) -> Vec<Nanos> {
    let mut random = fastrand::Rng::with_seed(11);
    let mut now = 0.0;
    let next = move || {
        now += -(1.0 - random.f64()).ln() * WORK_NS / load;
        Nanos::new(now)
    };
    core::iter::repeat_with(next).take(sessions).collect()
}

fn clients(patience_ns: Vec<f64>, retries: u32) -> Clients {
    Clients { patience_ns, retries, abandoned_work: 0.0 }
}

fn run(cores: u32, service: &ServiceTime, clients: Clients, arrivals: Vec<Nanos>) -> Vec<Outcome> {
    let station = Station::new(cores, Discipline::OneQueue).unwrap();
    Simulator::new(station, service, clients).unwrap().run(arrivals, 3)
}

fn sum(outcomes: &[Outcome], of: impl Fn(&Outcome) -> f64) -> f64 {
    outcomes.iter().map(of).sum()
}

fn attempts(outcomes: &[Outcome]) -> f64 {
    sum(outcomes, |one| f64::from(one.attempts))
}

fn left(outcomes: &[Outcome]) -> f64 {
    sum(outcomes, |one| f64::from(one.left_queue))
}

/// Returns the CPU time of all attempts, and that of attempts that did not end in time.
fn work(outcomes: &[Outcome]) -> (f64, f64) {
    (sum(outcomes, |one| one.busy_ns), sum(outcomes, |one| one.wasted_ns))
}

fn responses(outcomes: &[Outcome]) -> Vec<Option<f64>> {
    outcomes.iter().map(|one| one.response).collect()
}

/// Erlang A, M/M/c+M: the share of the clients that leave the queue [Palm57]. A state with n
/// sessions is left downwards at n / S with up to c sessions, and at c / S + (n - c) / T with more.
fn erlang_a(cores: u32, load: f64, patience: f64) -> f64 {
    let c = f64::from(cores);
    let (mut state, mut all, mut leaving) = (1.0, 1.0, 0.0);
    for n in 1..2000 {
        let n = f64::from(n);
        let waiting = (n - c).max(0.0);
        state *= c * load / (n.min(c) + waiting / patience);
        all += state;
        leaving += state * waiting / patience;
    }
    leaving / all / (c * load)
}

#[test]
fn erlang_a_by_hand() {
    // One core, load 1, patience of one service: the states are 1 / n!, and sum to e. The core is
    // idle for 1 / e of the time, so 1 / e of the sessions leave.
    let idle = 1.0 / core::f64::consts::E;
    assert!((erlang_a(1, 1.0, 1.0) - idle).abs() < 1e-12);
}

#[test]
fn exponential_patience_is_erlang_a() {
    let quantile = |i: u32| -(1.0 - (f64::from(i) + 0.5) / 5000.0).ln();
    for (cores, load, patience) in
        [(1, 0.8, 2.0), (1, 1.0, 1.0), (1, 2.0, 5.0), (4, 0.9, 0.5), (4, 1.5, 3.0)]
    {
        let patience_ns = (0..5000).map(|i| WORK_NS * patience * quantile(i)).collect();
        let arrivals = poisson(f64::from(cores) * load, 400_000);
        let run = run(cores, &exact(WORK_NS, 1.0), clients(patience_ns, 0), arrivals);
        let left = left(&run) / attempts(&run);
        let expected = erlang_a(cores, load, patience);
        assert!((left - expected).abs() < 0.006, "{cores} {load} {patience}: {left} {expected}");
    }
}

#[test]
fn patient_clients_wait_as_the_formula_says() {
    let varied = exact(WORK_NS, 1.5);
    let station = Station::new(1, Discipline::OneQueue).unwrap();
    let run = run(1, &varied, clients(vec![NEVER], 3), poisson(0.6, 400_000));
    assert_eq!((attempts(&run), left(&run)), (4e5, 0.0));
    let mean = responses(&run).into_iter().map(Option::unwrap).sum::<f64>() / 4e5;
    let formula = station.at_load(0.6, &varied).unwrap().response_ns.point();
    assert!((mean / formula - 1.0).abs() < 0.03, "{mean} {formula}");
    let (busy, wasted) = work(&run);
    assert!((busy / 4e5 / WORK_NS - 1.0).abs() < 0.01 && wasted == 0.0, "{busy} {wasted}");
}

/// Sessions of 10 ns at 0, 1 and 2 ns with a timeout of 15 ns.
#[test]
fn a_small_case_by_hand() {
    let of = |retries, abandoned_work| {
        let clients = Clients { patience_ns: vec![15.0], retries, abandoned_work };
        run(1, &exact(10.0, 0.0), clients, [0.0, 1.0, 2.0].map(Nanos::new).to_vec())
    };
    // The second is served from 10 to 20, too late; the third left at 17, at 20 nobody is there.
    let knows = of(0, 0.0);
    assert_eq!(responses(&knows), [Some(10.0), None, None]);
    assert_eq!((attempts(&knows), left(&knows), work(&knows)), (3.0, 1.0, (20.0, 10.0)));
    assert_eq!(work(&of(0, 0.7)), (27.0, 17.0));
    // Second attempts at 16 and 17: served from 20 to 30, and from 30 to 40, which is too late.
    let again = of(1, 0.0);
    assert_eq!((responses(&again), attempts(&again)), (vec![Some(10.0), Some(29.0), None], 5.0));
}

/// A server that serves clients that have gone does less for the others; retries make it worse.
#[test]
fn wasted_work_and_retries_lower_what_is_done() {
    let done = |retries, abandoned_work| {
        let patience_ns = (0..100).map(|i| WORK_NS * (1.0 + f64::from(i))).collect();
        let clients = Clients { abandoned_work, ..clients(patience_ns, retries) };
        let run = run(1, &exact(WORK_NS, 0.0), clients, poisson(1.2, 50_000));
        responses(&run).into_iter().flatten().count() as f64 / 50_000.0
    };
    let (knows, blind, again) = (done(0, 0.0), done(0, 1.0), done(3, 1.0));
    // A session in six must give up; some of the others are served too late.
    assert!((0.75..1.0 / 1.2).contains(&knows), "{knows}");
    assert!(blind < 0.1 && again < blind, "{blind} {again}");
}

#[test]
fn what_has_no_meaning_is_refused() {
    let good = clients(vec![1.0], 0);
    for wrong in [
        Clients { patience_ns: Vec::new(), ..good.clone() },
        Clients { patience_ns: vec![0.0], ..good.clone() },
        Clients { abandoned_work: 1.1, ..good },
    ] {
        let station = Station::new(1, Discipline::OneQueue).unwrap();
        assert!(Simulator::new(station, &exact(1.0, 0.0), wrong).is_err());
    }
}

/// Three requests of a core that runs batches of up to two.
#[test]
fn batches_take_what_waits() {
    let core = Simulator::batching(0.0, &[10.0, 12.0]).unwrap();
    let run = core.run([0.0, 5.0, 6.0, 7.0].map(Nanos::new), 1);
    // the first is alone, two wait until 10, and the last until 22
    assert_eq!(responses(&run), [Some(10.0), Some(17.0), Some(16.0), Some(25.0)]);
    assert_eq!(run.iter().map(|one| one.batch).collect::<Vec<_>>(), [1, 2, 2, 1]);
    assert_eq!(work(&run), (32.0, 0.0));
}

/// Steady states of constant and of exponential times, on one core and on four, and batches of one.
#[test]
fn steady_states_are_those_of_the_formulas() {
    for (cores, scv) in [(1, 0.0), (1, 1.0), (4, 0.0), (4, 1.0)] {
        let station = Station::new(cores, Discipline::OneQueue).unwrap();
        let service = exact(WORK_NS, scv);
        let sessions = Simulator::new(station, &service, Clients::patient()).unwrap();
        let batches = Simulator::batching(0.0, &[WORK_NS]).unwrap();
        let simulators = [Some(sessions), Some(batches).filter(|_| cores == 1 && scv == 0.0)];
        let loads = [0.3, 0.6, 0.9];
        for (core, load) in
            simulators.iter().flatten().flat_map(|core| loads.map(|load| (core, load)))
        {
            let steady = core.steady(load * core.capacity_per_s()).unwrap();
            assert!((steady.busy / load - 1.0).abs() < 0.02, "{load}: {}", steady.busy);
            assert!((steady.operations_per_batch - 1.0).abs() < 1e-9);
            let formula = station.quantile_at_load(0.9, load, &service).unwrap().point();
            let p90 = steady.quantile_ns(0.9);
            assert!((p90 / formula - 1.0).abs() < 0.08, "{cores} {scv} {load}: {p90} {formula}");
        }
    }
}

#[test]
fn batches_grow_with_the_load_up_to_the_capacity() {
    let batch_ns: Vec<f64> = (1..=8).map(|n| WORK_NS * f64::from(n).min(3.5)).collect();
    let core = Simulator::batching(0.1 * WORK_NS, &batch_ns).unwrap();
    assert!((core.capacity_per_s() - 8.0 / 4.3e-3).abs() < 1e-6);
    let [calm, half, busy] =
        [0.001, 0.5, 0.95].map(|load| core.steady(load * core.capacity_per_s()).unwrap());
    assert!((calm.quantile_ns(0.5) / 1.1e6 - 1.0).abs() < 1e-3);
    assert!(calm.operations_per_batch < half.operations_per_batch);
    assert!(half.operations_per_batch < busy.operations_per_batch);
    assert!(busy.operations_per_batch > 5.0 && busy.busy > 0.9);
    assert!(half.quantile_ns(0.99) < busy.quantile_ns(0.99));
    let too_much = |load: f64| core.steady(load * core.capacity_per_s());
    assert!(matches!(too_much(1.01), Err(Error::Unstable { .. })));
    assert!(too_much(0.96).is_err() && too_much(0.0).is_err());
    for wrong in [vec![], vec![0.0], vec![f64::NAN], vec![1.0; 65]] {
        assert!(Simulator::batching(0.0, &wrong).is_err());
    }
    assert!(Simulator::batching(-1.0, &[1.0]).is_err());
}
