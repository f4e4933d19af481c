//! The table of Montgomery kernels: cycles per call and per lane, with the bound.

use tollgate_record::{Record, Subject, Unit};

use crate::grid::{Column, grid};
use crate::shelf::Origin::{Measured, Predicted};
use crate::shelf::{MISSING, Shelf, cell, share};
use crate::text::wrapped;
use tollgate_record::vocabulary::{
    BITS, BOUND_CYCLES_PER_CALL, CYCLES_PER_CALL, CYCLES_PER_LANE, K, LIMIT,
};

const COLUMNS: [Column; 8] = [
    Column::words("kernel", 24),
    Column::figures("bits", 5),
    Column::figures("K", 4),
    Column::figures("cycles/call", 11),
    Column::figures("cycles/lane", 11),
    Column::figures("bound/call", 10),
    Column::figures("share", 6),
    Column::words("limit", 8),
];

/// The table of every measured kernel.
#[must_use]
pub fn table(records: &[Record]) -> String {
    let shelf = Shelf(records);
    let subjects = shelf.measured("kernel");
    if subjects.is_empty() {
        return "no kernel was measured\n".to_owned();
    }
    let mut above = "";
    let mut rows = Vec::new();
    for subject in subjects {
        let is_first = above != subject.path();
        above = subject.path();
        rows.push(line(shelf, subject, is_first));
    }
    let notes = "amm: a product, ams: a square; K: words of the modulus; mb8: eight lanes in a \
                 call; bound: the fewest that its algorithm allows; share: bound / measured; \
                 limit: what binds";
    grid(&COLUMNS, rows) + &wrapped(notes)
}

fn line(shelf: Shelf<'_>, subject: &Subject, is_first: bool) -> Vec<String> {
    let cycles = shelf.cycles(Measured, subject, CYCLES_PER_CALL);
    let bound = shelf.record(Predicted, subject, BOUND_CYCLES_PER_CALL, Unit::Cycles);
    let name = subject.segments().nth(1).unwrap_or(MISSING);
    let parameter = |key| subject.parameter(key).unwrap_or(MISSING).to_owned();
    vec![
        if is_first { name.to_owned() } else { String::new() },
        parameter(BITS),
        parameter(K),
        cell(cycles),
        cell(shelf.cycles(Measured, subject, CYCLES_PER_LANE)),
        cell(shelf.cycles(Predicted, subject, BOUND_CYCLES_PER_CALL)),
        share(shelf.cycles(Predicted, subject, BOUND_CYCLES_PER_CALL), cycles),
        bound
            .and_then(|record| record.conditions.get(LIMIT))
            .map_or_else(|| MISSING.into(), Clone::clone),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::widest;
    use crate::text::WIDTH;

    #[test]
    fn the_columns_fit() {
        assert!(widest(&COLUMNS) <= WIDTH, "{}", widest(&COLUMNS));
    }
}
