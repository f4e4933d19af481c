//! Published figures of papers that made the same comparisons.

use tollgate_record::vocabulary::{
    BITS, BY, CYCLES_PER_CALL, CYCLES_PER_OPERATION, OPERATIONS_PER_S, WINDOW,
};
use tollgate_record::{Subject, Topic};

use super::calls::{UNROLL_ELSEWHERE, calls, cycles_of, unrolled};
use super::published::product;
use crate::grid::{Column, fitting};
use crate::lookup::Origin::{Measured, Published};
use crate::lookup::{Lookup, cell};
use crate::published::{private, subject};
use crate::simulation;
use crate::table::{Row, Table};

const COLUMNS: [Column; 3] = fitting([
    Column::words("of a paper", 74),
    Column::figures("theirs", 10),
    Column::figures("here", 10),
]);

const NOTE: &str = "\
    papers: other machines, words of 32 or 64 bits, and other code: for the ratios, not the \
    cycles";

pub(super) fn table(lookup: Lookup<'_>) -> Table {
    let at_512 = |name: &str| {
        let found = calls(lookup).into_iter().find(|subject| {
            *subject.topic() == Topic::Variant(name.to_owned())
                && subject.parameter(BITS) == Some("512")
        });
        found.and_then(|found| cycles_of(lookup, unrolled(&found, UNROLL_ELSEWHERE)))
    };
    let rate =
        |by: &str| lookup.per_second(Published, &subject(private(), &[(BY, by)]), OPERATIONS_PER_S);
    let theirs = rate("eti10").zip(rate("eti10-karatsuba")).map(|(a, b)| a.get() / b.get());
    let ours = at_512("amm64_karatsuba").zip(at_512("amm64_sos")).map(|(a, b)| a.get() / b.get());
    let times = |ratio: Option<f64>| cell(ratio.map(|ratio| format!("{ratio:.2}")));
    let least = lookup
        .subjects(|record| {
            record.subject.parameter(WINDOW).is_some()
                && record.subject.parameter(BITS) == Some("1024")
                && !record.subject.topic().kernel().is_some_and(|name| name.ends_with("_vartime"))
        })
        .into_iter()
        .filter_map(|subject| lookup.cycles(Measured, subject, CYCLES_PER_OPERATION))
        .min_by(|a, b| a.get().total_cmp(&b.get()));
    let published = |subject: &Subject, quantity| cell(lookup.cycles(Published, subject, quantity));
    let rows = [
        (
            "[ETI10] time with Karatsuba over schoolbook; RSA-1024, ours 512 bits",
            [times(theirs), times(ours)],
        ),
        (
            "[ETI10] 512 bits, cycles: a product; ours of Montgomery, schoolbook",
            [published(&product(), CYCLES_PER_CALL), cell(at_512("amm64_sos"))],
        ),
        (
            "[GTS07] 1024-bit exponentiation, cycles; ours the best fixed window",
            [published(&simulation::of_paper(), CYCLES_PER_OPERATION), cell(least)],
        ),
    ];
    let rows = rows.map(|(name, cells)| Row::new(name, cells.into()));
    Table { columns: COLUMNS.into(), rows: rows.into(), notes: vec![NOTE.to_owned()] }
}
