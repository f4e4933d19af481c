//! The table of plans: how batches are split, and their cost relative to single operations.

use tollgate_record::vocabulary::{
    BATCH, BUILT_IN, COSTS, CUT, CYCLES_PER_OPERATION, EXPONENT, PLAN,
};
use tollgate_record::{Record, Subject, Unit};

use crate::figure;
use crate::grid::{Column, fitting};
use crate::lookup::Origin::{Measured, Predicted};
use crate::lookup::{Lookup, MISSING, cell};
use crate::names::{INSECURE_NOTE, is_insecure, operation};
use crate::table::{Row, Table};
use crate::text::wrapped;

const COLUMNS: [Column; 6] = fitting([
    Column::figures("requests", 8),
    Column::words("cut", 17),
    Column::figures("cycles/op", 9),
    Column::figures("share", 5),
    Column::words("built in", 17),
    Column::figures("loses", 7),
]);

/// Returns a block for each operation with predicted plans.
#[must_use]
pub fn table(records: &[Record]) -> String {
    let lookup = Lookup(records);
    let planned = lookup.subjects(|record| {
        record.conditions.contains_key(CUT) && record.subject.parameter(PLAN).is_none()
    });
    if planned.is_empty() {
        return "no batch was planned: run `tollgate kernel plan`\n".to_owned();
    }
    let mut text = String::new();
    let mut left = planned.as_slice();
    while let Some(first) = left.first() {
        let alike = |s: &&&Subject| {
            (s.topic(), s.parameter(EXPONENT)) == (first.topic(), first.parameter(EXPONENT))
        };
        let (block, others) = left.split_at(left.iter().take_while(alike).count());
        text += &head(lookup, first);
        let rows = block.iter().map(|subject| row(lookup, subject)).collect();
        text += &Table { columns: COLUMNS.into(), rows, notes: Vec::new() }.text();
        text += "\n";
        left = others;
    }
    text += &wrapped(
        "cut: the calls of a batch, by the costs measured here: [n] is a call of n requests in \
         lanes, 1 of one request alone. share: cycles/op divided by the cost of a single \
         operation. built in: the program's cut, if it differs. loses: the extra \
         cost of that cut, by the costs measured here. A call on lanes costs the same for any \
         number of used lanes. In larger batches, lanes run all requests, none, or as many as fill \
         whole calls.",
    );
    if planned.iter().any(|subject| is_insecure(subject)) {
        text += &wrapped(INSECURE_NOTE);
    }
    text
}

/// Returns the operation and the costs of its forms.
fn head(lookup: Lookup<'_>, subject: &Subject) -> String {
    let costs = |subject: Option<Subject>| {
        let record = predicted(lookup, &subject?)?;
        record.conditions.get(COSTS).filter(|costs| !costs.is_empty())
    };
    let name = operation(subject);
    let measured = costs(Some(subject.clone())).map_or(MISSING, |costs| costs);
    let built_in = costs(built_in(subject)).map_or("one by one", |costs| costs);
    wrapped(&format!(
        "{name}: one alone {} cycles; of that: {measured}; built in: {built_in}",
        figure::of(alone(lookup, subject))
    ))
}

fn row(lookup: Lookup<'_>, subject: &Subject) -> Row {
    let cut = |record: Option<&Record>| cell(record.and_then(|record| record.conditions.get(CUT)));
    let here = predicted(lookup, subject);
    let other = built_in(subject).and_then(|subject| predicted(lookup, &subject));
    let differs = other.is_some() && cut(here) != cut(other);
    let points =
        here.zip(other).map(|(here, other)| (here.estimate.point(), other.estimate.point()));
    let loses = match points {
        Some((here, other)) if differs && here > 0.0 => {
            format!("{:.1} %", 100.0 * (other / here - 1.0))
        }
        _ => String::new(),
    };
    let cells = vec![
        cut(here),
        figure::of(here),
        figure::share(here, alone(lookup, subject)),
        if differs { cut(other) } else { String::new() },
        loses,
    ];
    Row::new(subject.parameter(BATCH).unwrap_or(MISSING), cells)
}

fn predicted<'a>(lookup: Lookup<'a>, subject: &Subject) -> Option<&'a Record> {
    lookup.record(Predicted, subject, CYCLES_PER_OPERATION, Unit::Cycles)
}

/// Returns the cost of one operation alone.
fn alone<'a>(lookup: Lookup<'a>, subject: &Subject) -> Option<&'a Record> {
    let single = subject.without(&[BATCH, PLAN]);
    lookup.record(Measured, &single, CYCLES_PER_OPERATION, Unit::Cycles)
}

fn built_in(subject: &Subject) -> Option<Subject> {
    subject.with(PLAN, BUILT_IN).ok()
}
