//! Exponentiations by fixed and by sliding windows.

use tollgate_record::vocabulary::{BITS, CYCLES_PER_OPERATION, TABLE_BYTES, WINDOW};
use tollgate_record::{Subject, Topic, Unit};

use super::calls::{parameter, plain};
use crate::grid::{Column, fitting};
use crate::lookup::Origin::Measured;
use crate::lookup::{Lookup, cell};
use crate::table::{Row, Table};

const COLUMNS: [Column; 6] = fitting([
    Column::figures("bits", 5),
    Column::figures("window", 7),
    Column::figures("fixed", 8),
    Column::figures("table bytes", 12),
    Column::figures("sliding", 8),
    Column::figures("table bytes", 12),
]);

const NOTE: &str = "\
    fixed, sliding: core cycles of x^e mod m, e as long as m; sliding windows are for public \
    exponents only: their time tells e; a fixed one reads its whole table for each window";

pub(super) fn table(lookup: Lookup<'_>) -> Table {
    let fixed = lookup.subjects(|record| {
        let name = record.subject.topic().kernel();
        !name.is_some_and(|name| name.ends_with("_vartime"))
            && record.subject.parameter(WINDOW).is_some()
    });
    let row = |subject: &&Subject| {
        let sliding =
            subject.topic().kernel().map(|name| Topic::Variant(format!("{name}_vartime")));
        let sliding = sliding.and_then(|sliding| subject.with_topic(sliding).ok());
        let mut cells = vec![parameter(subject, WINDOW)];
        for subject in [Some((*subject).clone()), sliding] {
            let subject = subject.as_ref();
            let cycles = subject.and_then(|s| lookup.cycles(Measured, s, CYCLES_PER_OPERATION));
            let bytes = subject.and_then(|s| plain(lookup, Measured, s, TABLE_BYTES, Unit::Bytes));
            cells.extend([cell(cycles), cell(bytes)]);
        }
        Row::new(parameter(subject, BITS), cells)
    };
    let rows = fixed.iter().map(row).collect();
    Table { columns: COLUMNS.into(), rows, notes: vec![NOTE.to_owned()] }
}
