//! The table of Montgomery kernels: cycles per call and per lane, with the bound.

use tollgate_record::{Area, Record, Subject, Unit};

use crate::figure;
use crate::grid::{Column, fitting};
use crate::lookup::Origin::{Measured, Predicted};
use crate::lookup::{Lookup, MISSING, cell};
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
    let find = |origin, quantity| lookup.record(origin, subject, quantity, Unit::Cycles);
    let cycles = find(Measured, CYCLES_PER_CALL);
    let bound = find(Predicted, BOUND_CYCLES_PER_CALL);
    let parameter = |key| subject.parameter(key).unwrap_or(MISSING).to_owned();
    let cells = vec![
        parameter(BITS),
        parameter(K),
        figure::of(cycles),
        figure::of(find(Measured, CYCLES_PER_LANE)),
        figure::of(bound),
        figure::share(bound, cycles),
        cell(bound.and_then(|record| record.conditions.get(LIMIT))),
    ];
    Row::new(subject.topic().kernel().unwrap_or(MISSING), cells)
}
