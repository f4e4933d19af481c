//! `tollgate compare`: runs and machines side by side, exit codes for continuous integration.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::Output;

use tollgate_record::{Estimate, Kind, Machine, Record, Timestamp, Unit, jsonl};

use crate::program::{Scratch, refused, run, scratch, text};

fn rate(by: &str, per_s: f64, taken_at_s: i64) -> Record {
    let subject = format!("server/rsa-2048/tls13?by={by}&bytes=14336").parse().unwrap();
    let estimate = Estimate::new(per_s, (0.99 * per_s, 1.01 * per_s), 8).unwrap();
    let figure = ("sessions_per_s".parse().unwrap(), Unit::PerSecond, estimate);
    let machine = Machine::unknown("Some Processor 9000");
    Record {
        versions: BTreeMap::from([("openssl".to_owned(), "3.0.19".to_owned())]),
        conditions: BTreeMap::from([("server_cores".to_owned(), "1".to_owned())]),
        taken_at: Timestamp::from_second(taken_at_s).unwrap(),
        ..Record::new(subject, figure, Kind::Measured, machine)
    }
}

fn write(to: &Path, records: &[Record]) {
    let mut writer = jsonl::Writer::new(File::create(to).unwrap());
    records.iter().for_each(|record| writer.write(record).unwrap());
}

fn written(name: &str, records: &[Record]) -> Scratch {
    let file = scratch(name);
    write(&file, records);
    file
}

fn compare(files: &[&Path], flags: &[&str]) -> Output {
    let files: Vec<&str> = files.iter().map(|file| file.to_str().unwrap()).collect();
    run(&[&["compare"], &files[..], flags].concat())
}

#[test]
fn a_proven_change_for_the_worse_fails_the_build_if_asked() {
    let before = written("compare-before.jsonl", &[rate("tollgate", 4000.0, 0)]);
    let near = written("compare-near.jsonl", &[rate("tollgate", 3900.0, 9)]);
    let slow = written("compare-slow.jsonl", &[rate("tollgate", 3200.0, 9)]);
    for (after, flags, code, words) in [
        (&near, &["--fail-if", "slower"][..], 0, ["0.975", "unproven"]),
        (&slow, &["--fail-if", "slower"], 3, ["0.800", "slower"]),
        (&slow, &[], 0, ["0.800", "slower"]),
    ] {
        let output = compare(&[&before, after], flags);
        assert_eq!(output.status.code(), Some(code), "{words:?}");
        let said = text(&output);
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
    }
}

#[test]
fn runs_in_turn_are_paired() {
    let (old, new) = (scratch("compare-old"), scratch("compare-new"));
    for folder in [&old, &new] {
        fs::create_dir_all(folder).unwrap();
    }
    // A machine that becomes half as fast, and code that is 3 % faster in each pair.
    for round in 0..6 {
        let machine = 4000.0 * 0.9_f64.powi(round);
        let (file, time) = (format!("{round}.jsonl"), i64::from(round) * 10);
        write(&old.join(&file), &[rate("tollgate", machine, time)]);
        write(&new.join(&file), &[rate("tollgate", 1.03 * machine, time + 5)]);
    }
    let said = text(&compare(&[&old, &new], &[]));
    assert!(said.contains("faster") && said.contains("6 pairs of runs"), "{said}");
}

#[test]
fn other_conditions_and_invalid_runs_are_not_comparable() {
    let before = [rate("tollgate", 1000.0, 0), rate("openssl", 1000.0, 0)];
    let mut after = before.clone();
    after[0].conditions.insert("connections".to_owned(), "64".to_owned());
    after[1].conditions.insert("verdict".to_owned(), "INVALID".to_owned());
    let before = written("compare-conditions.jsonl", &before);
    let after = written("compare-other-conditions.jsonl", &after);
    let output = compare(&[&before, &after], &["--fail-if", "incomparable"]);
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output);
    assert!(said.contains("connections is not recorded, then 64"), "{said}");
    assert!(said.contains("the run of the second side is INVALID"), "{said}");
}

#[test]
fn two_machines_are_side_by_side_and_no_change() {
    let here = written("compare-here.jsonl", &[rate("tollgate", 1000.0, 0)]);
    let mut other = rate("tollgate", 3000.0, 0);
    other.machine = Machine::unknown("Another Processor");
    let there = written("compare-there.jsonl", &[other]);
    let output = compare(&[&here, &there], &["--fail-if", "slower,incomparable"]);
    assert_eq!(output.status.code(), Some(0));
    let said = text(&output);
    assert!(said.contains("3.000") && said.contains("after: Another Processor"), "{said}");
    assert!(!said.contains("faster"), "nothing of two machines is a change: {said}");
    refused(&compare(&[&here], &[]), "nothing to compare");
    refused(&compare(&[&here, &there], &["--only", "kernel"]), "no measured record");
    refused(&compare(&[Path::new("/nonexistent")], &[]), "/nonexistent");
}

#[test]
fn the_records_of_this_project_are_read_and_fit_a_terminal() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../records");
    let output = compare(&[&folder.join("speed.jsonl"), &folder.join("speed.jsonl")], &[]);
    assert_eq!(output.status.code(), Some(0));
    let said = text(&output);
    assert!(!said.contains("faster") && !said.contains("slower"), "{said}");
}
