//! Operations on words: the counts of a paper, and the counts of this project.

use tollgate_record::vocabulary::{ADDITIONS, BY, K, MULTIPLICATIONS, READS, WRITES};
use tollgate_record::{Subject, Unit};

use super::calls::{UNROLLS, calls, name, parameter, plain, unrolled};
use crate::grid::{Column, fitting};
use crate::lookup::Origin::{Predicted, Published};
use crate::lookup::{Lookup, cell};
use crate::table::{Row, Table};

const COLUMNS: [Column; 7] = fitting([
    Column::words("schedule", 18),
    Column::figures("K", 3),
    Column::figures("mults, ours", 12),
    Column::figures("mults", 7),
    Column::figures("additions", 10),
    Column::figures("reads", 7),
    Column::figures("writes", 7),
]);

const NOTE: &str = "\
    additions, reads, writes: of words, by [KAK96]; not all of them were compared with the \
    paper (see METHODOLOGY)";

/// The counts of \[KAK96\] and of this project, at one size.
pub(super) fn table(lookup: Lookup<'_>) -> Table {
    let of_paper = lookup.subjects(|record| record.subject.parameter(BY) == Some("kak96"));
    let has_16 = of_paper.iter().any(|subject| subject.parameter(K) == Some("16"));
    let words = if has_16 { Some("16") } else { of_paper.first().and_then(|s| s.parameter(K)) };
    let row = |subject: &&Subject| {
        let ours = calls(lookup)
            .into_iter()
            .find(|call| name(call) == name(subject) && call.parameter(K) == subject.parameter(K));
        let ours = ours
            .and_then(|ours| unrolled(&ours, UNROLLS[0]))
            .and_then(|ours| plain(lookup, Predicted, &ours, MULTIPLICATIONS, Unit::Count));
        let theirs = [MULTIPLICATIONS, ADDITIONS, READS, WRITES]
            .map(|quantity| plain(lookup, Published, subject, quantity, Unit::Count));
        let figures = [ours].into_iter().chain(theirs).map(cell);
        Row::new(name(subject), [parameter(subject, K)].into_iter().chain(figures).collect())
    };
    let rows = of_paper.iter().filter(|subject| subject.parameter(K) == words).map(row).collect();
    Table { columns: COLUMNS.into(), rows, notes: vec![NOTE.to_owned()] }
}
