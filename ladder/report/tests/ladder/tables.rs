//! Tables of synthetic records: their content and their width.

use std::collections::BTreeMap;

use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Machine, Quantity, Record, Unit};
use tollgate_report::{heading, kernel, speed};

use crate::line_with;

fn record(subject: &str, quantity: Quantity, unit: Unit, point: f64) -> Record {
    let estimate = Estimate::new(point, (point * 0.99, point * 1.01), 51).unwrap();
    let machine = Machine::unknown("Some Processor 9000");
    let figure = (quantity, unit, estimate);
    Record {
        versions: BTreeMap::from([("openssl".into(), "3.0.19".into())]),
        ..Record::new(subject.parse().unwrap(), figure, Kind::Measured, machine)
    }
}

/// Returns the records of one measured operation: time, cycles at 4 GHz, rate.
fn measured(subject: &str, ns: f64) -> Vec<Record> {
    vec![
        record(subject, word::NS_PER_OPERATION, Unit::Nanos, ns),
        record(subject, word::CYCLES_PER_OPERATION, Unit::Cycles, ns * 4.0),
        record(subject, word::OPERATIONS_PER_S, Unit::PerSecond, 1e9 / ns),
    ]
}

fn predicted(subject: &str, quantity: Quantity, cycles: f64, limit: &str) -> Record {
    Record {
        kind: Kind::Predicted { by: "0-model".into(), from: vec![] },
        conditions: BTreeMap::from([(word::LIMIT.into(), limit.into())]),
        ..record(subject, quantity, Unit::Cycles, cycles)
    }
}

fn speed_records() -> Vec<Record> {
    let ours = "operation/rsa-2048/sign?batch=8&by=tollgate";
    let against = |who: &str, times| {
        let subject = format!("operation/rsa-2048/sign?against={who}&batch=8&by=tollgate");
        record(&subject, word::TIMES_AS_FAST, Unit::Ratio, times)
    };
    let mut records = measured(ours, 62_500.0);
    records.push(predicted(ours, word::BOUND_CYCLES_PER_OPERATION, 205_000.0, "vpmadd52"));
    records.extend(measured("operation/rsa-1024/verify?by=openssl", 4_000.0));
    records.extend(measured("operation/rsa-2048/sign?by=openssl", 226_000.0));
    records.extend(measured("operation/rsa-2048/verify?by=openssl", 14_000.0));
    records.extend([against("aws-lc", 3.60), against("openssl", 3.62)]);
    records
}

#[test]
fn speed_puts_figures_ratio_and_share_side_by_side() {
    let table = speed::table(&speed_records());
    let ours = line_with(&table, &["sign", "tollgate x8"]);
    for cell in ["62.5 µs", "250k", "16.0k", "3.60 [3.56-3.64]", "AWS-LC", "82 %", "vpmadd52"] {
        assert!(ours.contains(cell), "{cell} in {ours}");
    }
    // Rows of one operation are adjacent; a missing figure is a dash.
    let lines: Vec<&str> = table.lines().collect();
    let at = lines.iter().position(|line| *line == ours).unwrap();
    assert!(lines[at + 1].trim_start().starts_with("OpenSSL"), "{table}");
    assert!(lines[at + 1].trim_end().ends_with('-'), "{table}");
    // A key is above its operations.
    assert_eq!(lines[at - 1], "RSA-2048", "{table}");
    // The insecure size is marked and explained; the secure one is not marked.
    assert!(table.contains("RSA-1024!\n  verify") && table.contains("! insecure"), "{table}");
    assert!(!table.contains("RSA-2048!"), "{table}");
}

#[test]
fn no_name_of_an_operation_is_cut() {
    let mut records = Vec::new();
    for key in ["rsa-4096", "rsa-1024", "x25519mlkem768", "ml-kem-768", "ecdh-p256", "ecdsa-p256"] {
        for operation in ["generate", "encaps", "decaps", "verify-once", "private"] {
            let subject = format!("operation/{key}/{operation}?batch=1024&by=tollgate");
            records.push(record(&subject, word::NS_PER_OPERATION, Unit::Nanos, 1.0));
        }
    }
    let table = speed::table(&records);
    assert!(!table.contains('~') && table.contains("X25519MLKEM768\n  generate"), "{table}");
}

#[test]
fn kernel_divides_the_bound_by_the_measurement() {
    let subject = "kernel/amm52_mb8_ifma?K=20&bits=1024";
    let records = [
        record(subject, word::CYCLES_PER_CALL, Unit::Cycles, 900.0),
        record(subject, word::CYCLES_PER_LANE, Unit::Cycles, 112.5),
        predicted(subject, word::BOUND_CYCLES_PER_CALL, 810.0, "vpmadd52"),
    ];
    let table = kernel::table(&records);
    let words: Vec<&str> = line_with(&table, &["amm52_mb8_ifma"]).split_whitespace().collect();
    let expected = ["amm52_mb8_ifma", "1024", "20", "900", "113", "810", "90", "%", "vpmadd52"];
    assert!(words == expected || words[4] == "112", "{table}");
}

#[test]
fn the_heading_says_vetoes_and_fallbacks_aloud() {
    let subject = "operation/rsa-2048/sign?by=tollgate";
    let mut first = record(subject, word::CYCLES_PER_OPERATION, Unit::Cycles, 9.0);
    first.machine.vetoed.insert("ifma".into());
    first.machine.virtualised = Some(true);
    first.machine.core_clock_hz = Some(Estimate::exact(4.01e9).unwrap());
    first.conditions.insert(word::KERNEL.into(), "amm64_portable".into());
    let text = heading::lines(&[first]).replace("\n  ", " ");
    for part in [
        "Some Processor 9000",
        "virtualised",
        "core clock 4.01 GHz",
        "SWITCHED OFF by TOLLGATE_CPU_DISABLE: ifma",
        "amm64_portable (FALLBACK",
        "openssl 3.0.19",
        "commit unknown",
    ] {
        assert!(text.contains(part), "{part:?} in\n{text}");
    }
    assert_eq!(heading::lines(&[]), "");
}

#[test]
fn the_heading_says_aloud_that_the_baseline_is_old() {
    let subject = "operation/rsa-2048/sign?by=tollgate";
    let mut record = record(subject, word::CYCLES_PER_OPERATION, Unit::Cycles, 9.0);
    for (version, is_old) in [
        ("1.1.1w", true),
        ("3.0.19", true),
        ("3.4.9", true),
        ("3.5.9", false),
        ("4.0.0-dev", false),
    ] {
        record.versions.insert("openssl".into(), version.into());
        let line = format!("\nbaseline OpenSSL {version}: measure on Debian 13 too");
        assert_eq!(heading::lines(&[record.clone()]).contains(&line), is_old, "{version}");
        let of_machine = heading::of_machine(&record.machine, &record.versions, None);
        assert_eq!(of_machine.contains(&line), is_old, "{version}");
        // A kernel is compared with nothing.
        let kernel = Record { subject: "kernel/amm52_mb8_ifma".parse().unwrap(), ..record.clone() };
        assert!(!heading::lines(&[kernel]).contains("baseline"));
    }
}
