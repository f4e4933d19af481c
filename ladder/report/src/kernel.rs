//! The table of Montgomery kernels: cycles per call and per lane, with the bound.

use tollgate_record::{Area, Record, Subject, Unit};

use crate::grid::{Column, grid};
use crate::lookup::Origin::{Measured, Predicted};
use crate::lookup::{Lookup, MISSING, cell, share};
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
    let lookup = Lookup(records);
    let subjects = lookup.measured(Area::Kernel);
    if subjects.is_empty() {
        return "no kernel was measured\n".to_owned();
    }
    let mut above = None;
    let mut rows = Vec::new();
    for subject in subjects {
        let is_first = above != Some(subject.topic());
        above = Some(subject.topic());
        rows.push(line(lookup, subject, is_first));
    }
    let notes = "amm: a product, ams: a square; K: words of the modulus; mb8: eight lanes in a \
                 call; bound: the fewest that its algorithm allows; share: bound / measured; \
                 limit: what binds";
    grid(&COLUMNS, rows) + &wrapped(notes)
}

fn line(lookup: Lookup<'_>, subject: &Subject, is_first: bool) -> Vec<String> {
    let cycles = lookup.cycles(Measured, subject, CYCLES_PER_CALL);
    let bound = lookup.record(Predicted, subject, BOUND_CYCLES_PER_CALL, Unit::Cycles);
    let name = subject.topic().kernel().unwrap_or(MISSING);
    let parameter = |key| subject.parameter(key).unwrap_or(MISSING).to_owned();
    vec![
        if is_first { name.to_owned() } else { String::new() },
        parameter(BITS),
        parameter(K),
        cell(cycles),
        cell(lookup.cycles(Measured, subject, CYCLES_PER_LANE)),
        cell(lookup.cycles(Predicted, subject, BOUND_CYCLES_PER_CALL)),
        share(lookup.cycles(Predicted, subject, BOUND_CYCLES_PER_CALL), cycles),
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
