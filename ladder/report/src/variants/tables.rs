//! The tables of variants: calls by unroll factor, bytes of code, windows, counts of operations on
//! words, and figures of papers.

use tollgate_record::vocabulary::{
    ADDITIONS, BITS, BY, CODE_BYTES, CYCLES_PER_CALL, CYCLES_PER_OPERATION, K, MULTIPLICATIONS,
    OPERATIONS_PER_S, READS, TABLE_BYTES, UNROLL, WINDOW, WRITES,
};
use tollgate_record::{Area, Cycles, Quantity, Subject, Topic, Unit};

use super::published::product;
use crate::grid::{Column, fitting};
use crate::lookup::Origin::{self, Measured, Predicted, Published};
use crate::lookup::{Lookup, MISSING, cell, distinct};
use crate::published::{private, subject};
use crate::simulation;
use crate::table::{Row, Table};

const UNROLLS: [&str; 4] = ["1", "2", "4", "8"];

/// The unroll factor of squares and exponentiations. Only products are measured with all factors.
const UNROLL_ELSEWHERE: &str = "4";

const PRODUCTS: [Column; 10] = fitting([
    Column::words("product", 18),
    Column::figures("bits", 5),
    Column::figures("K", 3),
    Column::figures("mults", 6),
    Column::figures("rolled", 8),
    Column::figures("by 2", 8),
    Column::figures("by 4", 8),
    Column::figures("by 8", 8),
    Column::figures("best", 8),
    Column::figures("square", 8),
]);

/// Returns the table of products and squares: cycles by unroll factor.
pub(super) fn products(lookup: Lookup<'_>) -> Table {
    let row = |subject: Subject| {
        let by = UNROLLS.map(|unroll| cycles_of(lookup, unrolled(&subject, unroll)));
        let alone = cycles_of(lookup, Some(subject.clone()));
        let best = by.iter().flatten().copied().chain(alone);
        let best = best.min_by(|a, b| a.get().total_cmp(&b.get()));
        let squares = [&Some(UNROLL_ELSEWHERE), &None].map(|unroll| {
            let of = |call: &Subject| match unroll {
                Some(unroll) => unrolled(call, unroll),
                None => Some(call.clone()),
            };
            let square = cycles_of(lookup, square_of(&subject).as_ref().and_then(of));
            square.or_else(|| cycles_of(lookup, of(&subject)))
        });
        let mults = unrolled(&subject, UNROLLS[0])
            .and_then(|subject| plain(lookup, Predicted, &subject, MULTIPLICATIONS, Unit::Count));
        let mut cells = vec![parameter(&subject, BITS), parameter(&subject, K), cell(mults)];
        cells.extend(by.map(cell));
        cells.extend([cell(best), cell(squares.into_iter().flatten().next())]);
        Row::new(name(&subject), cells)
    };
    let rows = calls(lookup).into_iter().map(row).collect();
    let note = "\
        product, square: core cycles of a call. mults: the number of multiplications of two limbs \
        in a product. by 2, 4, 8: the number of products in the body of the innermost loop. best: \
        the lowest cycles of a product. square: unrolled by 4; if there is no formula for squares \
        (cios, fios), the cycles of a product. The rows below the variants are the engine's \
        kernel";
    Table { columns: PRODUCTS.into(), rows, notes: vec![note.to_owned()] }
}

const CODE: [Column; 6] = fitting([
    Column::words("bytes of code", 18),
    Column::figures("rolled", 8),
    Column::figures("by 2", 8),
    Column::figures("by 4", 8),
    Column::figures("by 8", 8),
    Column::figures("square", 8),
]);

/// Uses the first record of each name, since the code does not depend on the modulus size.
pub(super) fn code(lookup: Lookup<'_>) -> Table {
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
    let note = "\
        bytes of code: sizes of the functions according to this program's table of symbols. The \
        code is for every size of modulus. The standard library's functions that copy and fill \
        are not included";
    Table { columns: CODE.into(), rows, notes: vec![note.to_owned()] }
}

const WINDOWS: [Column; 6] = fitting([
    Column::figures("bits", 5),
    Column::figures("window", 7),
    Column::figures("fixed", 8),
    Column::figures("table bytes", 12),
    Column::figures("sliding", 8),
    Column::figures("table bytes", 12),
]);

/// Returns the table of exponentiations by fixed and by sliding windows.
pub(super) fn windows(lookup: Lookup<'_>) -> Table {
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
    let note = "\
        fixed, sliding: core cycles of x^e mod m; e is as long as m. Sliding windows are for \
        public exponents only, because their time reveals e. Fixed windows read the whole table for each \
        window of the exponent";
    Table { columns: WINDOWS.into(), rows, notes: vec![note.to_owned()] }
}

const COUNTS: [Column; 7] = fitting([
    Column::words("schedule", 18),
    Column::figures("K", 3),
    Column::figures("mults, here", 12),
    Column::figures("mults", 7),
    Column::figures("additions", 10),
    Column::figures("reads", 7),
    Column::figures("writes", 7),
]);

/// Returns the counts of \[KAK96\] and of this project, at one size.
pub(super) fn counts(lookup: Lookup<'_>) -> Table {
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
    let note = "\
        additions, reads, writes: numbers of operations on words according to [KAK96]. Not all of \
        these numbers were compared with the paper (see METHODOLOGY)";
    Table { columns: COUNTS.into(), rows, notes: vec![note.to_owned()] }
}

const PAPERS: [Column; 3] = fitting([
    Column::words("comparison", 74),
    Column::figures("published", 10),
    Column::figures("here", 10),
]);

/// Returns the published figures of papers that made the same comparisons.
pub(super) fn papers(lookup: Lookup<'_>) -> Table {
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
            "[ETI10] time by Karatsuba / time by schoolbook: RSA-1024; here 512 bits",
            [times(theirs), times(ours)],
        ),
        (
            "[ETI10] cycles, 512-bit product; here Montgomery product by schoolbook",
            [published(&product(), CYCLES_PER_CALL), cell(at_512("amm64_sos"))],
        ),
        (
            "[GTS07] cycles, 1024-bit exponentiation; here the best fixed window",
            [published(&simulation::of_paper(), CYCLES_PER_OPERATION), cell(least)],
        ),
    ];
    let rows = rows.map(|(name, cells)| Row::new(name, cells.into()));
    let note = "\
        The published results are from other machines, with words of 32 or 64 bits, and from other \
        code. Compare the ratios, not the cycles";
    Table { columns: PAPERS.into(), rows: rows.into(), notes: vec![note.to_owned()] }
}

/// Returns the subjects of products, one for each name and size, sorted by name, then by size.
fn calls(lookup: Lookup<'_>) -> Vec<Subject> {
    let measured = [Area::Variant, Area::Kernel].into_iter().flat_map(|area| lookup.measured(area));
    let sizes = measured.filter(|subject| name(subject).starts_with("amm")).filter_map(sized);
    let mut found = distinct(sizes);
    let order: Vec<String> = found.iter().map(|subject| name(subject).to_owned()).collect();
    found.sort_by_key(|subject| order.iter().position(|known| known == name(subject)));
    found
}

/// Returns the subject with its size as the only parameter.
fn sized(subject: &Subject) -> Option<Subject> {
    let bare = Subject::new(subject.topic().clone()).ok()?;
    let bare = bare.with(BITS, subject.parameter(BITS)?).ok()?;
    bare.with(K, subject.parameter(K)?).ok()
}

fn name(subject: &Subject) -> &str {
    subject.topic().kernel().unwrap_or(MISSING)
}

fn parameter(subject: &Subject, key: &str) -> String {
    subject.parameter(key).unwrap_or(MISSING).to_owned()
}

/// Returns the same call with this unroll factor.
fn unrolled(subject: &Subject, unroll: &str) -> Option<Subject> {
    subject.with(UNROLL, unroll).ok()
}

fn cycles_of(lookup: Lookup<'_>, subject: Option<Subject>) -> Option<Cycles> {
    lookup.cycles(Measured, &subject?, CYCLES_PER_CALL)
}

/// Returns the square of a product's subject, if it was measured.
fn square_of(subject: &Subject) -> Option<Subject> {
    let square = |name: &str| Some(format!("ams{}", name.strip_prefix("amm")?));
    let topic = match subject.topic() {
        Topic::Kernel(name) => Topic::Kernel(square(name)?),
        Topic::Variant(name) => Topic::Variant(square(name)?),
        _ => return None,
    };
    subject.with_topic(topic).ok()
}

/// Returns a whole number without a unit prefix.
fn plain(
    lookup: Lookup<'_>,
    origin: Origin,
    subject: &Subject,
    quantity: Quantity,
    unit: Unit,
) -> Option<String> {
    lookup.find(origin, subject, quantity, unit).map(|figure| format!("{:.0}", figure.point()))
}
