//! The published sizing table, computed again from its rates per core.

#![allow(clippy::unwrap_used, reason = "tests")]

use tollgate_fleet::{Demand, SessionCost, Sizing, Utilisation, size};
use tollgate_internet::computed;
use tollgate_published::paper;
use tollgate_record::Estimate;

/// The payload of a session, in bytes. The paper says 140 KB, read here as 140 000 bytes. The
/// paper's connections per second multiplied by this payload then agree with its Gbps per core.
const BYTES: u64 = 140_000;

fn number(what: &str) -> f64 {
    paper("eti10").unwrap().number(what).unwrap()
}

/// The rows of three tables: connections per second, Gbps per core, names of the cores' rows.
const ROWS: [(&str, f64, &str); 3] = [
    ("not optimised; ours: OpenSSL", 0.22, "state of the art; ours: OpenSSL"),
    ("CBC + HMAC-SHA1, optimised", 0.86, "their CBC"),
    ("AES-128-GCM", 1.34, "AES-128-GCM"),
];

/// Returns the CPU time of a session if one core reaches a rate of `gbps_per_core`.
fn session(gbps_per_core: f64) -> SessionCost {
    let gbps = Demand::gbps(gbps_per_core);
    let cpu_ns = Estimate::exact(gbps.sessions(BYTES).unwrap().nanos_each().get()).unwrap();
    SessionCost::new(cpu_ns, BYTES).unwrap()
}

fn sizing(gbps_per_core: f64, gbps: f64) -> Sizing {
    size(&session(gbps_per_core), Demand::gbps(gbps), Utilisation::FULL).unwrap()
}

#[test]
fn its_cores_follow_from_its_rates() {
    for (_, gbps_per_core, name) in ROWS {
        for gbps in [1.0, 10.0] {
            let ours = sizing(gbps_per_core, gbps).whole_cores.point();
            assert_eq!(ours, number(&format!("{gbps} Gbps, {name}")));
        }
    }
    // Eight of twelve cores fill 10 Gbps; four remain for the application.
    assert_eq!(sizing(1.34, 10.0).cores_left(12).unwrap().point(), 4.0);
}

#[test]
fn its_connections_are_those_of_one_core() {
    let s_time = &paper("eti10").unwrap().tables.iter().find(|table| table.at == "s_time").unwrap();
    for ((name, gbps_per_core, _), row) in ROWS.iter().zip(&s_time.rows) {
        assert_eq!(row.what, *name);
        let rate = session(*gbps_per_core).sessions_per_s().unwrap().point();
        let ratio = row.number().unwrap() / rate;
        assert!((ratio - 1.0).abs() < 0.02, "{name}: {ratio}");
    }
}

/// Eight cores with 1 200 transactions per second each serve 9 600 transactions per second. That is
/// slightly more than a link of 10 Gbps carries.
#[test]
fn its_transactions_take_eight_cores_and_its_cost_is_a_price_over_a_rate() {
    let transactions = number("transactions per second at 10 Gbps, 12 cores");
    assert_eq!(computed("transactions"), Some(transactions));
    let at_10_gbps = Demand::gbps(10.0).sessions(BYTES).unwrap().get();
    assert!((8900.0..8950.0).contains(&at_10_gbps), "{at_10_gbps}");
    let usd = number("a blade with their code");
    assert!((computed("blade").unwrap() - usd).abs() < 0.005);
}
