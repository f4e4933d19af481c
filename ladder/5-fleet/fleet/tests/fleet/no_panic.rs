//! No number makes a computation panic or run forever.

use proptest::prelude::*;
use tollgate_fleet::queue::{Discipline, ServiceTime, Station};
use tollgate_fleet::{Demand, Paid, PricedMachine, SessionCost, Utilisation, size};
use tollgate_record::{Estimate, PerSecond};

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
        cpu_ns in estimate(),
        bytes in any::<u64>(),
        demand in demand(),
        share in number(),
        amount in number(),
        cores in any::<u32>(),
    ) {
        let utilisation = Utilisation::new(share).unwrap_or_default();
        let Ok(session) = SessionCost::new(cpu_ns, bytes) else { return Ok(()) };
        let _ = (session.sessions_per_s(), session.bits_per_s());
        if let Ok(sizing) = size(&session, demand, utilisation) {
            prop_assert!(sizing.whole_cores.point() >= sizing.cores.point() * (1.0 - 1e-15));
            let _ = (sizing.cores_left(cores), sizing.machines(cores));
        }
        for paid in [Paid::PerHour(amount), Paid::Once { amount, years: Some(share) }] {
            let machine = PricedMachine {
                name: String::new(),
                cores,
                paid,
                currency: String::new(),
                date: String::new(),
                source: String::new(),
            };
            let _ = machine.cost_of_million(&session, utilisation);
            let _ = machine.per_session_per_s(&session, utilisation);
        }
    }

    #[test]
    fn queues(
        moments in [estimate(), estimate()],
        cores in 0..300_u32,
        discipline in prop::sample::select(vec![Discipline::OneQueue, Discipline::QueuePerCore]),
        numbers in [number(), number(), number()],
    ) {
        let [load, quantile, rate] = numbers;
        let rate = PerSecond::new(rate);
        let service = ServiceTime::new(moments[0], moments[1]);
        if let (Ok(station), Ok(service)) = (Station::new(cores, discipline), service) {
            let _ = station.at_load(load, &service);
            let _ = station.quantile_at_rate(quantile, rate, &service);
            let _ = station.quantile_at_load(quantile, load, &service);
        }
    }
}
