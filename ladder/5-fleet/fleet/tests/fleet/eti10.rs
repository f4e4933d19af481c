//! The published sizing table, computed again from its rates per core.

use tollgate_fleet::published::{ETI10_BYTES, ETI10_TABLE, ETI10_USD_PER_SESSION_PER_S, records};
use tollgate_fleet::{Demand, SessionCost, Sizing, Utilisation, size};
use tollgate_record::{Estimate, Kind, Timestamp};

use crate::assert_written_with_unique_names;

/// Returns the CPU time of a session if one core reaches a rate of `gbps_per_core`.
fn session(gbps_per_core: f64) -> SessionCost {
    let gbps = Demand::gbps(gbps_per_core);
    let cpu_ns = Estimate::exact(gbps.sessions(ETI10_BYTES).unwrap().nanos_each().get()).unwrap();
    SessionCost::new(cpu_ns, ETI10_BYTES).unwrap()
}

fn sizing(gbps_per_core: f64, gbps: f64) -> Sizing {
    size(&session(gbps_per_core), Demand::gbps(gbps), Utilisation::FULL).unwrap()
}

#[test]
fn its_cores_follow_from_its_rates() {
    for row in ETI10_TABLE {
        for (gbps, cores) in row.cores {
            let ours = sizing(row.gbps_per_core, gbps).whole_cores.point();
            assert_eq!(ours, cores, "{} by {} at {gbps} Gbps", row.suite, row.by);
        }
    }
    // Eight of twelve cores fill 10 Gbps; four remain for the application.
    assert_eq!(sizing(1.34, 10.0).cores_left(12).unwrap().point(), 4.0);
}

#[test]
fn its_connections_are_those_of_one_core() {
    for row in ETI10_TABLE {
        let rate = session(row.gbps_per_core).sessions_per_s().unwrap().point();
        let ratio = row.connections_per_s / rate;
        assert!((ratio - 1.0).abs() < 0.02, "{}: {ratio}", row.connections_per_s);
    }
}

/// Eight cores with 1 200 transactions per second each serve 9 600 transactions per second. That is
/// slightly more than a link of 10 Gbps carries.
#[test]
fn its_transactions_take_eight_cores() {
    assert_eq!(8.0 * ETI10_TABLE[2].connections_per_s, 9600.0);
    let at_10_gbps = Demand::gbps(10.0).sessions(ETI10_BYTES).unwrap().get();
    assert!((8900.0..8950.0).contains(&at_10_gbps), "{at_10_gbps}");
}

#[test]
fn its_cost_is_a_price_over_a_rate() {
    let (_, usd) = ETI10_USD_PER_SESSION_PER_S[1];
    let per_session_per_s = 3999.0 / (12.0 * ETI10_TABLE[2].connections_per_s);
    assert!((per_session_per_s - usd).abs() < 0.005, "{per_session_per_s}");
}

#[test]
fn every_figure_is_published_and_can_be_written() {
    let records = records(Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!(records.len(), 3 * 4 + 2 + 1);
    for record in &records {
        let Kind::Published { source } = &record.kind else { panic!("{}", record.subject) };
        assert!(source.contains("SIGCOMM 2010") || source.contains("SEG_103"));
    }
    assert_written_with_unique_names(&records);
}
