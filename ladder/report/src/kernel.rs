//! The table of Montgomery kernels: cycles per call and per lane, with the bound.

use tollgate_record::{Area, Record, Subject, Unit};

use crate::grid::{Column, fitting};
use crate::lookup::Origin::{Measured, Predicted};
use crate::lookup::{Lookup, MISSING, cell, share};
use crate::table::{Row, Table};
use tollgate_record::vocabulary::{
    BITS, BOUND_CYCLES_PER_CALL, CYCLES_PER_CALL, CYCLES_PER_LANE, K, LIMIT,
};

const COLUMNS: [Column; 8] = fitting([
    Column::words("kernel", 24),
    Column::figures("bits", 5),
    Column::figures("K", 4),
    Column::figures("cycles/call", 11),
    Column::figures("cycles/lane", 11),
    Column::figures("bound/call", 10),
    Column::figures("share", 6),
    Column::words("limit", 8),
]);

/// Returns the table of every measured kernel.
#[must_use]
pub fn table(records: &[Record]) -> String {
    let kernels = kernels(records);
    match kernels.rows.is_empty() {
        true => "no kernel was measured\n".to_owned(),
        false => kernels.text(),
    }
}

/// Returns the same table as data, for a terminal or a page.
pub(crate) fn kernels(records: &[Record]) -> Table {
    let lookup = Lookup(records);
    let rows = lookup.measured(Area::Kernel).into_iter().map(|subject| row(lookup, subject));
    let note = "amm: a product, ams: a square; K: words of the modulus; mb8: eight lanes in a \
                call; bound: the fewest cycles that its algorithm allows; share: bound / measured; \
                limit: the resource that determines the bound";
    Table { columns: COLUMNS.into(), rows: rows.collect(), notes: vec![note.to_owned()] }
}

fn row(lookup: Lookup<'_>, subject: &Subject) -> Row {
    let cycles = lookup.cycles(Measured, subject, CYCLES_PER_CALL);
    let bound = lookup.cycles(Predicted, subject, BOUND_CYCLES_PER_CALL);
    let limit = lookup
        .record(Predicted, subject, BOUND_CYCLES_PER_CALL, Unit::Cycles)
        .and_then(|record| record.conditions.get(LIMIT));
    let parameter = |key| subject.parameter(key).unwrap_or(MISSING).to_owned();
    let cells = vec![
        parameter(BITS),
        parameter(K),
        cell(cycles),
        cell(lookup.cycles(Measured, subject, CYCLES_PER_LANE)),
        cell(bound),
        share(bound, cycles),
        cell(limit),
    ];
    Row::new(subject.topic().kernel().unwrap_or(MISSING), cells)
}
