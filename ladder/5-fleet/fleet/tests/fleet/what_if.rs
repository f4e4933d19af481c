//! Sessions after a change.

use tollgate_fleet::{Change, Error, measured_sessions, what_if};
use tollgate_record::{Estimate, Key, Kind, Machine, Record, Subject, Timestamp, Unit};

const CLOCK_HZ: f64 = 2e9;

fn record(subject: &str, quantity: &str, unit: Unit, point: f64, kind: Kind) -> Record {
    let estimate = Estimate::new(point, (0.99 * point, 1.02 * point), 20).unwrap();
    let figure = (quantity.parse().unwrap(), unit, estimate);
    let clock = Some(Estimate::exact(CLOCK_HZ).unwrap());
    let machine = Machine { core_clock_hz: clock, ..Machine::unknown("Some Processor 9000") };
    Record::new(subject.parse().unwrap(), figure, kind, machine)
}

fn server(key: &str, by: &str, us: f64) -> Record {
    let subject = format!("server/{key}/tls13?by={by}&bytes=14336");
    record(&subject, "server_cpu_ns_per_session", Unit::Nanos, 1e3 * us, Kind::Measured)
}

/// Two parts of a predicted session in thousand cycles.
fn parts(key: &str, by: &str, more: &str, [rsa, library]: [f64; 2]) -> Vec<Record> {
    let part = |(part, kilocycles): (&str, f64)| {
        let subject = format!("session/{key}/tls13?by={by}&bytes=14336&part={part}{more}");
        let kind = Kind::Predicted { by: "3-session".to_owned(), from: Vec::new() };
        record(&subject, "cycles_per_session", Unit::Cycles, 1e3 * kilocycles, kind)
    };
    [("rsa", rsa), ("library", library)].map(part).to_vec()
}

fn changed(known: &[Record], change: &Change) -> Result<tollgate_fleet::WhatIf, Error> {
    let from = *measured_sessions(known).first().unwrap();
    let to = change.target(&from.subject)?;
    what_if(known, from, &to, None, (None, Timestamp::UNIX_EPOCH))
}

fn close(estimate: Estimate, (low, point, high): (f64, f64, f64)) {
    let found = (estimate.interval().0, estimate.point(), estimate.interval().1);
    for (found, wanted) in [(found.0, low), (found.1, point), (found.2, high)] {
        assert!((found - wanted).abs() < 1e-6 * wanted, "{found} {wanted}");
    }
}

#[test]
fn only_the_parts_that_change_and_their_errors_count() {
    let mut known =
        vec![server("rsa-2048", "tollgate", 300.0), server("rsa-3072", "tollgate", 520.0)];
    known.extend(parts("rsa-2048", "tollgate", "", [200.0, 300.0]));
    known.extend(parts("rsa-3072", "tollgate", "", [600.0, 300.0]));
    let change = Change { key: Some(Key::Rsa(3072)), ..Change::default() };
    let found = changed(&known, &change).unwrap();
    assert_eq!(found.record.subject, known[1].subject);
    // 200 us more; the library is the same measurement, and its error cancels.
    let low = 297e3 + (0.99 * 300e3 - 1.02 * 100e3);
    close(found.record.estimate, (low, 500e3, 306e3 + 1.02 * 300e3 - 0.99 * 100e3));
    assert_eq!(found.measured, Some(known[1].estimate));
    assert_eq!(found.parts.len(), 1);
    let Kind::Predicted { by, from } = &found.record.kind else { panic!() };
    assert_eq!((by.as_str(), from.len()), ("5-fleet", 3), "{from:?}");
}

#[test]
fn resumed_sessions_are_mixed_with_full_ones() {
    let mut known = vec![server("rsa-2048", "openssl", 500.0)];
    known.extend(parts("rsa-2048", "openssl", "", [800.0, 100.0]));
    known.extend(parts("rsa-2048", "openssl", "&resumed_by=psk&resumed_share=1", [0.0, 60.0]));
    let half = |share| Change { resumed: Some((share, "psk".to_owned())), ..Change::default() };
    let found = changed(&known, &half(0.5)).unwrap();
    // half of 840 thousand cycles at 2 GHz
    assert!((found.record.estimate.point() - (500e3 - 210e3)).abs() < 1e-3);
    assert_eq!(found.record.subject.parameter("resumed_share"), Some("0.5"));
    let all = changed(&known, &half(1.0)).unwrap();
    assert!((all.record.estimate.point() - (500e3 - 420e3)).abs() < 1e-3);
    let none = changed(&known, &half(0.0)).unwrap();
    assert_eq!(none.record.estimate, known[0].estimate);
    let missing = changed(&known[..3], &half(0.5)).unwrap_err().to_string();
    assert!(
        missing.contains("resumed_by=psk") && missing.contains("tollgate explain"),
        "{missing}"
    );
}

#[test]
fn the_engine_of_an_installed_server_changes_alone() {
    let change = Change { engine: Some("tollgate".to_owned()), ..Change::default() };
    for (from, to) in [("openssl", "tollgate"), ("nginx-openssl", "nginx-tollgate")] {
        let from: Subject = format!("server/rsa-2048/tls13?by={from}&bytes=1").parse().unwrap();
        assert_eq!(change.target(&from).unwrap().parameter("by"), Some(to));
    }
    // The prediction of the engine serves for a server that has none of its own.
    let mut known = vec![server("rsa-2048", "nginx-openssl", 500.0)];
    known.extend(parts("rsa-2048", "openssl", "", [800.0, 100.0]));
    known.extend(parts("rsa-2048", "tollgate", "", [400.0, 120.0]));
    let found = changed(&known, &change).unwrap();
    assert!((found.record.estimate.point() - (500e3 - 200e3 + 10e3)).abs() < 1e-3);
}

#[test]
fn other_cores_scale_the_measured_time() {
    let mut known = vec![server("rsa-2048", "openssl", 500.0)];
    known.extend(parts("rsa-2048", "openssl", "", [800.0, 100.0]));
    let there = parts("rsa-2048", "openssl", "", [1200.0, 150.0]);
    let there: Vec<Record> = there
        .into_iter()
        .map(|record| Record {
            machine: Machine { cpu: "Other".to_owned(), ..record.machine.clone() },
            ..record
        })
        .collect();
    let same = known[0].subject.clone();
    let made = (None, Timestamp::UNIX_EPOCH);
    let found = what_if(&known, &known[0], &same, Some(&there), made).unwrap();
    assert!((found.record.estimate.point() - 750e3).abs() < 1e-3);
    assert_eq!(found.record.machine.cpu, "Other");
}

#[test]
fn a_time_below_zero_is_refused() {
    let mut known = vec![server("rsa-3072", "openssl", 100.0)];
    known.extend(parts("rsa-3072", "openssl", "", [800.0, 100.0]));
    known.extend(parts("rsa-2048", "openssl", "", [300.0, 100.0]));
    let change = Change { key: Some(Key::Rsa(2048)), ..Change::default() };
    let error = changed(&known, &change).unwrap_err().to_string();
    assert!(error.contains("CPU time after the change"), "{error}");
}
