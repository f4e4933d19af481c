//! Predictions as records.

use std::collections::BTreeMap;

use tollgate_fleet::forecast::{Basis, Requirements, response_records, saving_record};
use tollgate_fleet::queue::{Discipline, ServiceTime, Station};
use tollgate_fleet::{Demand, Error, Paid, PricedMachine, SessionCost, Utilisation};
use tollgate_record::{Area, Estimate, Kind, Machine, Record, Unit};

use crate::assert_written_with_unique_names;

fn measured(by: &str, unit: Unit, point: f64) -> Record {
    let subject = format!("server/tls12-ecdhe-rsa-2048?by={by}&bytes=14336").parse().unwrap();
    let estimate = Estimate::new(point, (0.98 * point, 1.02 * point), 20).unwrap();
    let figure = ("cpu_per_session".parse().unwrap(), unit, estimate);
    let machine = Machine {
        core_clock_hz: Some(Estimate::new(4e9, (3.9e9, 4.1e9), 5).unwrap()),
        ..Machine::unknown("Some Processor 9000")
    };
    Record {
        versions: BTreeMap::from([("openssl".into(), "3.0.19".into())]),
        commit: Some("old".into()),
        conditions: BTreeMap::from([("governor".into(), "performance".into())]),
        ..Record::new(subject, figure, Kind::Measured, machine)
    }
}

fn basis(record: &Record) -> Basis {
    Basis::new(record, Some("new".into()), "2026-01-02T03:04:05Z".parse().unwrap()).unwrap()
}

/// A machine of 64 cores, each at 0.05 USD an hour.
fn rented() -> PricedMachine {
    PricedMachine {
        name: "example-64".to_owned(),
        cores: 64,
        paid: Paid::PerHour(3.2),
        currency: "USD".to_owned(),
        date: "2026-11-27".to_owned(),
        source: "made up".to_owned(),
    }
}

fn figure(records: &[Record], subject: &str, quantity: &str) -> f64 {
    let is = |r: &&Record| r.subject.to_string() == subject && r.quantity.as_str() == quantity;
    records.iter().find(is).unwrap_or_else(|| panic!("no {subject} {quantity}")).estimate.point()
}

/// Returns requirements of links at 70 % utilisation, on a machine with a price.
fn requirements(paid: Paid) -> Requirements {
    Requirements {
        demands: [1.0, 10.0, 25.0, 100.0].map(Demand::gbps).to_vec(),
        utilisation: Utilisation::DEFAULT,
        cores_per_machine: 64,
        machines: vec![PricedMachine { paid, ..rented() }],
    }
}

/// Returns all predictions.
fn everything() -> Vec<Record> {
    let (stock, ours) =
        (measured("openssl", Unit::Nanos, 500e3), measured("tollgate", Unit::Nanos, 300e3));
    let cost = |record| SessionCost::from_record(record, 14_336).unwrap();
    let plan = requirements(Paid::PerHour(3.2));
    let mut records = Vec::new();
    for record in [&stock, &ours] {
        records.extend(plan.forecast(&basis(record), &cost(record)).unwrap());
    }
    let joint = basis(&ours).and(&stock).unwrap();
    let sessions = [&cost(&ours), &cost(&stock)];
    records.push(saving_record(&joint, "openssl", sessions, None).unwrap());
    let scv = Estimate::exact(0.2).unwrap();
    let time = |record: &Record| ServiceTime::new(record.estimate, scv).unwrap();
    let station = Station::new(2, Discipline::QueuePerCore).unwrap();
    let loads = [0.0, 0.5, 0.9];
    records.extend(response_records(&basis(&ours), &station, &time(&ours), &loads).unwrap());
    records
}

#[test]
fn predictions_are_marked_and_can_be_written() {
    let records = everything();
    for record in &records {
        let Kind::Predicted { by, from } = &record.kind else { panic!("{}", record.subject) };
        assert_eq!(by, "5-fleet");
        assert!(from.iter().all(|subject| subject.starts_with("server/tls12")), "{from:?}");
        assert_eq!(record.subject.area(), Area::Fleet);
        assert_eq!(record.commit.as_deref(), Some("new"));
        assert_eq!(record.versions["openssl"], "3.0.19");
    }
    assert_written_with_unique_names(&records);
}

#[test]
fn the_figures_are_those_of_the_formulas() {
    let records = everything();
    let ours = "fleet/tls12-ecdhe-rsa-2048?by=tollgate&bytes=14336";
    let of = |more: &str, quantity: &str| figure(&records, &format!("{ours}{more}"), quantity);
    let close = |x: f64, y: f64| assert!((x - y).abs() < 1e-9 * y.abs(), "{x} {y}");
    close(of("", "sessions_per_s_per_core"), 1e9 / 300e3);
    close(of("", "bits_per_s_per_core"), 1e9 / 300e3 * 14_336.0 * 8.0);
    let rate = 1e10 / 14_336.0 / 8.0;
    close(of("&link_gbps=10", "cores"), rate * 300e-6 / 0.7);
    close(of("&link_gbps=10", "whole_cores"), 38.0);
    close(of("&link_gbps=10", "cores_left"), 26.0);
    close(of("&link_gbps=100", "machines"), 6.0); // 374 cores, 64 in each machine
    close(
        of("&currency=USD&machine=example-64", "cost_per_million_sessions"),
        300.0 / 0.7 / 3600.0 * 0.05,
    );
    let per_session = of("&currency=USD&machine=example-64", "price_per_session_per_s");
    close(per_session, 3.2 * 8765.82 / (64.0 * 0.7 / 300e-6));
    let of = |more: &str, quantity: &str| {
        let subject = "fleet/tls12-ecdhe-rsa-2048?against=openssl&by=tollgate&bytes=14336";
        figure(&records, &format!("{subject}{more}"), quantity)
    };
    close(of("", "saved_share"), 0.4);
}

#[test]
fn a_bought_machine_without_years_has_no_cost_per_session() {
    let record = measured("tollgate", Unit::Nanos, 300e3);
    let session = SessionCost::from_record(&record, 14_336).unwrap();
    let quantities = |years| {
        let plan = requirements(Paid::Once { amount: 6400.0, years });
        let records = plan.forecast(&basis(&record), &session).unwrap();
        let priced = records.iter().filter(|r| r.subject.parameter("currency") == Some("USD"));
        priced.map(|r| (r.quantity.to_string(), r.estimate.point())).collect::<Vec<_>>()
    };
    let once = quantities(None);
    assert_eq!(once.len(), 1);
    assert_eq!(once[0].0, "price_per_session_per_s");
    assert!((once[0].1 - 6400.0 * 300e-6 / (64.0 * 0.7)).abs() < 1e-12, "{once:?}");
    let used = quantities(Some(5.0));
    assert_eq!(used[0], once[0]);
    let (name, cost) = &used[1];
    assert_eq!(name, "cost_per_million_sessions");
    let per_core_hour = 6400.0 / 64.0 / (5.0 * 8765.82);
    assert!((cost - 300.0 / 0.7 / 3600.0 * per_core_hour).abs() < 1e-12, "{cost}");
}

#[test]
fn savings_are_those_of_the_pairs() {
    let cost = |us: f64| {
        let (low, high) = (0.98 * us, 1.02 * us);
        SessionCost::new(Estimate::new(us, (low, high), 20).unwrap(), 14_336).unwrap()
    };
    let basis = basis(&measured("tollgate", Unit::Nanos, 400e3));
    let share = |ours, theirs, paired| {
        saving_record(&basis, "openssl", [&cost(ours), &cost(theirs)], paired).unwrap().estimate
    };
    let width = |of: Estimate| of.interval().1 - of.interval().0;
    let apart = share(400.0, 500.0, None);
    assert!((apart.point() - 0.2).abs() < 1e-12);
    assert!((apart.interval().0 - (1.0 - 408.0 / 490.0)).abs() < 1e-12);
    let ratio = Estimate::new(0.8, (0.79, 0.81), 51).unwrap();
    let paired = share(400.0, 500.0, Some(ratio));
    assert!((paired.point() - 0.2).abs() < 1e-12 && width(paired) < width(apart));
    // A slower engine saves less than nothing.
    assert!(share(500.0, 400.0, None).interval().1 < 0.0);
}

#[test]
fn a_session_is_in_nanoseconds() {
    let record = measured("tollgate", Unit::Cycles, 2e6);
    assert!(matches!(SessionCost::from_record(&record, 0), Err(Error::WrongUnit { .. })));
}

#[test]
fn records_of_two_machines_are_not_comparable() {
    let (one, mut other) = (measured("a", Unit::Nanos, 1.0), measured("b", Unit::Nanos, 1.0));
    other.machine.core_clock_hz = Some(Estimate::exact(4.05e9).unwrap()); // measured again
    assert!(basis(&one).and(&other).is_ok());
    other.machine.cpu = "Another Processor".into();
    let result = basis(&one).and(&other);
    assert_eq!(result, Err(Error::NotComparable { what: "the machine" }));
}

#[test]
fn every_error_says_what_to_do() {
    let record = measured("a", Unit::Ratio, 1.0);
    let wrong = SessionCost::from_record(&record, 1).unwrap_err();
    let unstable = Error::Unstable { utilisation: 1.25 };
    let perhaps = Error::PerhapsUnstable { utilisation: 1.01 };
    for (error, says) in [
        (wrong, "give a record in ns"),
        (unstable, "utilisation 1.250: more sessions arrive"),
        (perhaps, "measure longer"),
        (Utilisation::new(0.0).unwrap_err(), "utilisation is 0; it must"),
    ] {
        assert!(error.to_string().contains(says), "{error}");
    }
}
