//! Bytes of code.

use tollgate_record::vocabulary::CODE_BYTES;
use tollgate_record::{Subject, Unit};

use super::calls::{UNROLL_ELSEWHERE, UNROLLS, calls, name, plain, square_of, unrolled};
use crate::grid::{Column, fitting};
use crate::lookup::Origin::Measured;
use crate::lookup::{Lookup, cell};
use crate::table::{Row, Table};

const COLUMNS: [Column; 6] = fitting([
    Column::words("bytes of code", 18),
    Column::figures("rolled", 8),
    Column::figures("by 2", 8),
    Column::figures("by 4", 8),
    Column::figures("by 8", 8),
    Column::figures("square", 8),
]);

const NOTE: &str = "\
    bytes of code: sizes of the functions in this program's table of symbols, code for every \
    size of modulus, without what the standard library copies and fills with";

/// Uses the first record of each name, since the code does not depend on the modulus size.
pub(super) fn table(lookup: Lookup<'_>) -> Table {
    let mut rows: Vec<Row> = Vec::new();
    for subject in calls(lookup) {
        let bytes =
            |subject: Option<Subject>| plain(lookup, Measured, &subject?, CODE_BYTES, Unit::Bytes);
        let by = UNROLLS.map(|unroll| bytes(unrolled(&subject, unroll)));
        let is_new = rows.last().is_none_or(|row| row.names[0] != name(&subject));
        if is_new && by.iter().any(Option::is_some) {
            let square = square_of(&subject).and_then(|square| unrolled(&square, UNROLL_ELSEWHERE));
            let cells = by.into_iter().chain([bytes(square)]).map(cell).collect();
            rows.push(Row::new(name(&subject), cells));
        }
    }
    Table { columns: COLUMNS.into(), rows, notes: vec![NOTE.to_owned()] }
}
