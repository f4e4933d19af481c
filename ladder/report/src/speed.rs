//! The table of operations of Tollgate and the libraries, measured in the same run.

use tollgate_record::{Area, Estimate, Operation, Quantity, Record, Subject, Topic, Unit};

use crate::figure;
use crate::grid::{Column, fitting};
use crate::lookup::Origin::{Measured, Predicted};
use crate::lookup::{Lookup, MISSING, cell, ratio};
use crate::names::{self, INSECURE_NOTE, contender, is_insecure, key_and_operation};
use crate::table::{Row, Table};
use tollgate_record::vocabulary::{
    AGAINST, BATCH, BOUND_CYCLES_PER_OPERATION, BY, CYCLES_PER_OPERATION, EXPONENT, LIMIT,
    NS_PER_OPERATION, OPERATIONS_PER_S, TIMES_AS_FAST,
};

const COLUMNS: [Column; 9] = fitting([
    Column::words("operation", 14),
    Column::words("by", 14),
    Column::figures("time", 7),
    Column::figures("cycles", 6),
    Column::figures("per s", 5),
    Column::figures("times as fast", 16),
    Column::words("as", 7),
    Column::figures("share", 5),
    Column::words("limit", 8),
]);

/// Returns the table of every measured operation. It has the ratio to the fastest library, and
/// the bound as a share of the measured cycles.
#[must_use]
pub fn table(records: &[Record]) -> String {
    let none = || "no operation was measured\n".to_owned();
    operations(records).map_or_else(none, |table| table.text())
}

/// Returns the same table as data; `None` if nothing was measured.
pub(crate) fn operations(records: &[Record]) -> Option<Table> {
    let lookup = Lookup(records);
    let mut subjects = lookup.measured(Area::Operation);
    if subjects.is_empty() {
        return None;
    }
    // Group rows by key, then by operation, in the order of the first record of each.
    let recorded = subjects.clone();
    subjects.sort_by_key(|subject| {
        let is_of_key = |other: &&Subject| other.key() == subject.key();
        let is_same = |other: &&Subject| operation_of(other) == operation_of(subject);
        (recorded.iter().position(is_of_key), recorded.iter().position(is_same))
    });

    let mut notes = Vec::new();
    if subjects.iter().any(|subject| is_insecure(subject)) {
        notes.push(INSECURE_NOTE);
    }
    let explains = |quantity: Quantity| records.iter().any(|record| record.quantity == quantity);
    if subjects.iter().any(|subject| subject.parameter(BATCH).is_some()) {
        notes.push("xN: N operations in one call, all lanes full; figures are per operation");
    }
    let is_once =
        |topic: &Topic| matches!(topic, Topic::Operation { operation: Operation::VerifyOnce, .. });
    if subjects.iter().any(|subject| is_once(subject.topic())) {
        notes.push("once: a public key is read from DER, verifies one signature, and is dropped");
    }
    if explains(TIMES_AS_FAST) {
        notes.push(
            "times as fast: the speed relative to the fastest library of the row. Both were \
             measured in turn; the interval has 95 % confidence",
        );
    }
    if explains(BOUND_CYCLES_PER_OPERATION) {
        notes.push(
            "share: the part of the measured cycles that the bound of the exponentiations \
             explains; limit: the resource that determines the bound",
        );
    }
    let rows = subjects.iter().map(|subject| row(lookup, subject)).collect();
    let notes = notes.into_iter().map(str::to_owned).collect();
    Some(Table { columns: COLUMNS.into(), rows, notes })
}

/// Returns the operation without the implementation: rows are grouped by it.
fn operation_of(subject: &Subject) -> (&Topic, Option<&str>) {
    (subject.topic(), subject.parameter(EXPONENT))
}

fn row(lookup: Lookup<'_>, subject: &Subject) -> Row {
    let measured = |quantity, unit| lookup.record(Measured, subject, quantity, unit);
    let cycles = measured(CYCLES_PER_OPERATION, Unit::Cycles);
    let bound = lookup.record(Predicted, subject, BOUND_CYCLES_PER_OPERATION, Unit::Cycles);
    let (times, against) = fastest_library(lookup, subject);
    let cells = vec![
        contender(subject),
        figure::of(measured(NS_PER_OPERATION, Unit::Nanos)),
        figure::of(cycles),
        figure::of(measured(OPERATIONS_PER_S, Unit::PerSecond)),
        times,
        against,
        figure::share(bound, cycles),
        cell(bound.and_then(|record| record.conditions.get(LIMIT))),
    ];
    let [key, operation] = key_and_operation(subject);
    Row { groups: vec![key], names: vec![operation], cells }
}

/// Returns the smallest of the subject's ratios and its library, which is the fastest one.
fn fastest_library(lookup: Lookup<'_>, subject: &Subject) -> (String, String) {
    let ratios = lookup.all(Measured, TIMES_AS_FAST).filter(|record| {
        record.unit == Unit::Ratio
            && operation_of(&record.subject) == operation_of(subject)
            && [BY, BATCH].iter().all(|key| record.subject.parameter(key) == subject.parameter(key))
    });
    let least: Option<(&Estimate, &str)> = ratios
        .filter_map(|record| Some((&record.estimate, record.subject.parameter(AGAINST)?)))
        .min_by(|x, y| x.0.point().total_cmp(&y.0.point()));
    match least {
        Some((estimate, against)) => (ratio(estimate), names::who(against).to_owned()),
        None => (MISSING.to_owned(), MISSING.to_owned()),
    }
}
