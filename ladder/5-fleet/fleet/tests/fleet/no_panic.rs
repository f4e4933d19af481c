//! No number makes a computation panic or run forever.

use proptest::prelude::*;
use tollgate_fleet::queue::{Discipline, ServiceTime, Station};
use tollgate_fleet::scaling::{Law, Point, fit};
use tollgate_fleet::{
    Burst, Compared, Currency, Demand, Power, Price, SessionCost, Utilisation, cost_of_million,
    saving, size,
};
use tollgate_record::{Estimate, Nanos, PerSecond};

/// Returns zeros of both signs, and the smallest positive numbers, normal and subnormal.
fn zeros() -> impl Strategy<Value = f64> {
    prop::sample::select(vec![0.0, -0.0, f64::MIN_POSITIVE, 5e-324])
}

/// Returns numbers of every kind, and typical numbers.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>(), 0.0..2.0_f64, 1.0..1e9_f64, zeros()]
}

fn estimate() -> impl Strategy<Value = Estimate> {
    [number(), number(), number()].prop_filter_map("no estimate", |mut x| {
        x.sort_by(f64::total_cmp);
        Estimate::new(x[1], (x[0], x[2]), 5).ok()
    })
}

fn demand() -> impl Strategy<Value = Demand> {
    prop_oneof![
        number().prop_map(Demand::gbps),
        number().prop_map(|rate| Demand::Sessions(PerSecond::new(rate))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn sizes_and_costs(
        cpu_ns in [estimate(), estimate()],
        bytes in any::<u64>(),
        demand in demand(),
        share in number(),
        amount in number(),
        watts in estimate(),
        cores in any::<u32>(),
    ) {
        let utilisation = Utilisation::new(share).unwrap_or_default();
        let costs = cpu_ns.map(|cpu_ns| SessionCost::new(cpu_ns, bytes));
        let price = Price::per_core_hour(amount, Currency::USD);
        if let [Ok(first), Ok(second)] = costs {
            let _ = (first.sessions_per_s(), first.bits_per_s());
            let _ = first.with_resumption(&second, share);
            if let Ok(sizing) = size(&first, demand, utilisation) {
                prop_assert!(sizing.whole_cores.point() >= sizing.cores.point() * (1.0 - 1e-15));
                let _ = (sizing.cores_left(cores), sizing.machines(cores));
            }
            if let Ok(price) = price {
                let _ = cost_of_million(&first, utilisation, price, Power::WattsPerCore(watts));
                for compared in [Compared::Apart, Compared::Paired { times_as_fast: watts }] {
                    let _ = saving(&first, &second, compared, demand, utilisation, price);
                }
            }
        }
    }

    #[test]
    fn queues(
        moments in [[estimate(), estimate()], [estimate(), estimate()]],
        cores in 0..300_u32,
        discipline in prop::sample::select(vec![
            Discipline::OneQueue, Discipline::QueuePerCore, Discipline::Sharing,
        ]),
        numbers in [number(), number(), number(), number()],
    ) {
        let [load, quantile, rate, share] = numbers;
        let burst = Burst {
            usual: PerSecond::new(load),
            rate: PerSecond::new(rate),
            length: Nanos::new(quantile),
        };
        let _ = burst.backlog(cores, moments[0][0]);
        let kinds = moments.map(|[mean, scv]| ServiceTime::new(mean, scv));
        let (Ok(station), [Ok(one), Ok(other)]) = (Station::new(cores, discipline), kinds) else {
            return Ok(());
        };
        let mixed = ServiceTime::mixed(&[(share, one.clone()), (1.0 - share, other.clone())]);
        for service in [&one, &other].into_iter().chain(mixed.as_ref().ok()) {
            let _ = station.at_rate(PerSecond::new(rate), service);
            let _ = station.at_load(load, service);
            let _ = station.quantile_at_rate(quantile, PerSecond::new(rate), service);
            let _ = station.quantile_at_load(quantile, load, service);
            let _ = station.load_where(rate, service);
        }
        let _ = station.gain(PerSecond::new(rate), &one, &other);
    }

    #[test]
    fn laws(
        points in prop::collection::vec((0..100_000_u32, estimate()), 0..6),
        numbers in [number(), number(), number(), number()],
    ) {
        let [one_core, contention, coherency, rate] = numbers;
        if let Ok(law) = Law::new(PerSecond::new(one_core), contention, coherency) {
            let _ = law.cores_for(PerSecond::new(rate), Utilisation::DEFAULT);
            let _ = law.peak_cores();
        }
        let points: Vec<Point> =
            points.into_iter().map(|(cores, per_s)| Point { cores, per_s }).collect();
        if let Ok(fit) = fit(&points) {
            let _ = (fit.rate(7), fit.rate(0), fit.rate(u32::MAX), fit.worst_residual());
        }
    }

    #[test]
    fn samples(times in prop::collection::vec(number().prop_map(Nanos::new), 28..40)) {
        let _ = ServiceTime::from_samples(&times);
    }
}
