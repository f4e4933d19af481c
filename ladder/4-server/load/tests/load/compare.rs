//! Comparisons: ratios within rounds, and records.

use core::time::Duration;
use std::collections::BTreeMap;

use tollgate_load::{
    Comparison, Context, Error, Finding, Limits, Naming, Outcome, Plan, Protocol, Server, Verdict,
    run,
};
use tollgate_record::{Kind, Machine, Unit, jsonl};

use crate::TRIES;
use crate::tls_server::{Behavior, TlsServer};

fn plan() -> Plan {
    Plan {
        connections: 2,
        warm_up_ms: 50,
        sustain_ms: 400,
        limits: Limits::of_counts(),
        ..Plan::new(Protocol::Tls13)
    }
}

fn names() -> [Naming; 2] {
    ["openssl-3.0.19", "tollgate"].map(|by| Naming::new("rsa-2048", by))
}

fn context() -> Context {
    Context {
        machine: Machine::unknown("Some Processor 9000"),
        versions: BTreeMap::from([("openssl".to_owned(), "3.0.19".to_owned())]),
        commit: None,
        conditions: BTreeMap::from([("governor".to_owned(), "performance".to_owned())]),
    }
}

/// Returns the runs of two servers in turn, whose CPU times were all read in time.
fn compared(surplus: u64, rounds: usize) -> [Vec<Outcome>; 2] {
    let is_late = |finding: &&Finding| {
        matches!(finding, Finding::ServerCpuLate | Finding::Nothing | Finding::Stalled)
    };
    for _ in 0..TRIES {
        let found = compared_once(surplus, rounds);
        let mut findings =
            found.iter().flatten().flat_map(|run| run.doubts.iter().chain(&run.reasons));
        if findings.find(is_late).is_none() {
            return found;
        }
    }
    panic!("this machine is too busy to read a clock in time");
}

fn compared_once(surplus: u64, rounds: usize) -> [Vec<Outcome>; 2] {
    let (a, b) = (TlsServer::start(|_| Behavior::Good), TlsServer::start(|_| Behavior::Good));
    let side = |name, server: &TlsServer, surplus| {
        let mut referee = server.referee();
        referee.surplus = surplus;
        let mut cpu = Duration::ZERO;
        let meter = move || {
            cpu += Duration::from_millis(200); // as if the server used half a core
            Ok(cpu)
        };
        Server::new(name, server.target()).with_referee(referee).with_cpu(meter)
    };
    let mut servers = [side("a", &a, 0), side("b", &b, surplus)];
    let mut outcomes = [const { Vec::new() }; 2];
    for _ in 0..rounds {
        for (server, outcomes) in servers.iter_mut().zip(&mut outcomes) {
            outcomes.push(run(&plan(), server, &|| false, &mut |_, _| {}).unwrap());
        }
    }
    outcomes
}

#[test]
fn equal_servers_compare_as_equal() {
    let outcomes = compared(0, 4);
    for outcome in outcomes.iter().flatten() {
        assert_eq!(outcome.verdict, Verdict::Valid, "{outcome}");
    }
    let comparison = Comparison::new(outcomes.to_vec()).unwrap();
    let ratio = comparison.sessions_ratio(1, 0).unwrap();
    assert_eq!(ratio.samples(), 4);
    assert!((0.2..5.0).contains(&ratio.point()), "equal servers: {ratio:?}");

    let records = comparison.records(&names(), &context()).unwrap();
    let found = |subject: &str, quantity: &str| {
        let mut records = records.iter();
        let record = records
            .find(|r| r.subject.to_string() == subject && r.quantity.as_str() == quantity)
            .unwrap_or_else(|| panic!("no {subject} {quantity}"));
        assert_eq!(record.kind, Kind::Measured);
        record
    };
    let subject = "server/rsa-2048/tls13?by=tollgate&bytes=14336";
    let rate = found(subject, "sessions_per_s");
    assert_eq!((rate.unit, rate.estimate.samples()), (Unit::PerSecond, 4));
    assert_eq!(rate.conditions["plan"], plan().hash());
    assert_eq!(rate.conditions["close"], "rst-after-confirm");
    assert_eq!(rate.conditions["governor"], "performance");
    assert_eq!(rate.conditions["verdict"], "VALID");
    assert!(rate.conditions["client_verified"].starts_with("0 of "));
    assert!(
        rate.conditions["limits"].contains("\"only_counts\":true"),
        "limits that are not the default"
    );
    assert!(rate.doubts[0].contains("of 4 rounds"), "{:?}", rate.doubts);
    // half a second of CPU time per second, divided by the sessions per second
    let cpu = found(subject, "server_cpu_ns_per_session").estimate.point();
    assert!((0.5..2.0).contains(&(cpu * rate.estimate.point() / 0.5e9)), "{cpu} ns");
    for quantity in ["client_cpu_ns_per_session", "handshake_ns_p50", "transaction_ns_p99"] {
        assert_eq!(found(subject, quantity).unit, Unit::Nanos);
    }
    let against = "server/rsa-2048/tls13?against=openssl-3.0.19&by=tollgate&bytes=14336";
    assert_eq!(found(against, "sessions_per_s_ratio").estimate, ratio);
    assert_eq!(found(against, "server_cpu_per_session_ratio").unit, Unit::Ratio);
    let mut file = Vec::new();
    let mut writer = jsonl::Writer::new(&mut file);
    records.iter().for_each(|record| writer.write(record).unwrap());
    assert_eq!(jsonl::read_all(file.as_slice()).unwrap(), records);
}

#[test]
fn an_invalid_round_prevents_ratios_and_records_of_its_server() {
    let comparison = Comparison::new(compared(1, 2).to_vec()).unwrap();
    assert!(comparison.sessions_ratio(1, 0).is_none());
    assert!(comparison.server_cpu_ratio(0, 1).is_none());
    let records = comparison.records(&names(), &context()).unwrap();
    assert!(!records.is_empty());
    assert!(records.iter().all(|r| r.subject.parameter("by") == Some("openssl-3.0.19")));
}

#[test]
fn an_empty_comparison_is_refused() {
    assert!(matches!(Comparison::new(vec![]), Err(Error::Plan(_))));
}
