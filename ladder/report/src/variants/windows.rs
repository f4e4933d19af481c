//! Exponentiations by fixed and by sliding windows.

use tollgate_record::vocabulary::{BITS, CYCLES_PER_OPERATION, TABLE_BYTES, WINDOW};
use tollgate_record::{Subject, Topic, Unit};

use super::calls::{parameter, plain};
use crate::grid::Column;
use crate::lookup::Origin::Measured;
use crate::lookup::{Lookup, MISSING, cell};

pub(super) const COLUMNS: [Column; 6] = [
    Column::figures("bits", 5),
    Column::figures("window", 7),
    Column::figures("fixed", 8),
    Column::figures("table bytes", 12),
    Column::figures("sliding", 8),
    Column::figures("table bytes", 12),
];

pub(super) const NOTE: &str = "\
    fixed, sliding: core cycles of x^e mod m, e as long as m; sliding windows are for public \
    exponents only: their time tells e; a fixed one reads its whole table for each window";

pub(super) fn rows(lookup: Lookup<'_>) -> Vec<Vec<String>> {
    let fixed = lookup.subjects(|record| {
        let name = record.subject.topic().kernel();
        !name.is_some_and(|name| name.ends_with("_vartime"))
            && record.subject.parameter(WINDOW).is_some()
    });
    let mut above = "";
    let row = |subject: &Subject| {
        let sliding =
            subject.topic().kernel().map(|name| Topic::Variant(format!("{name}_vartime")));
        let sliding = sliding.and_then(|sliding| subject.with_topic(sliding).ok());
        let bits = subject.parameter(BITS).unwrap_or(MISSING).to_owned();
        let mut cells = vec![bits, parameter(subject, WINDOW)];
        for subject in [Some(subject.clone()), sliding] {
            let cycles = subject
                .as_ref()
                .and_then(|subject| lookup.cycles(Measured, subject, CYCLES_PER_OPERATION));
            let bytes = subject
                .as_ref()
                .and_then(|subject| plain(lookup, Measured, subject, TABLE_BYTES, Unit::Bytes));
            cells.extend([cell(cycles), bytes.unwrap_or_else(|| MISSING.to_owned())]);
        }
        cells
    };
    let mut rows: Vec<Vec<String>> = fixed.iter().map(|subject| row(subject)).collect();
    for (cells, subject) in rows.iter_mut().zip(fixed) {
        let bits = subject.parameter(BITS).unwrap_or(MISSING);
        if bits == above {
            cells[0].clear();
        }
        above = bits;
    }
    rows
}
