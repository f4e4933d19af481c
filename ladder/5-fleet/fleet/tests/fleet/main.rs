//! Sizing, queueing, costs and predictions of fleets.
#![allow(clippy::unwrap_used, reason = "tests")]

mod forecast;
mod prices;
mod queue;
mod simulation;
mod what_if;

use tollgate_fleet::queue::ServiceTime;
use tollgate_record::{Estimate, Record, jsonl};

/// Returns a service time that is known without error.
fn exact(mean_ns: f64, scv: f64) -> ServiceTime {
    let of = |x| Estimate::exact(x).unwrap();
    ServiceTime::new(of(mean_ns), of(scv)).unwrap()
}

/// Asserts that all records can be written and read again, and that no two have the same subject
/// and quantity.
fn assert_written_with_unique_names(records: &[Record]) {
    let mut file = Vec::new();
    let mut writer = jsonl::Writer::new(&mut file);
    records.iter().for_each(|record| writer.write(record).unwrap());
    assert_eq!(jsonl::read_all(file.as_slice()).unwrap(), records);
    let mut names: Vec<String> =
        records.iter().map(|r| format!("{} {}", r.subject, r.quantity)).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), records.len(), "two figures of one name");
}
