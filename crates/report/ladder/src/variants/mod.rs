//! The tables of variants: cycles by unrolling, bytes of code, windows, and what papers say.

mod published;

use tollgate_record::vocabulary::{
    ADDITIONS, BITS, BY, CODE_BYTES, CYCLES_PER_CALL, CYCLES_PER_OPERATION, K, MULTIPLICATIONS,
    OPERATIONS_PER_S, READS, TABLE_BYTES, UNROLL, VARIANT, WINDOW, WRITES,
};
use tollgate_record::{Cycles, Record, Subject, Unit};

use crate::grid::{Column, grid};
use crate::shelf::Origin::{self, Measured, Predicted, Published};
use crate::shelf::{MISSING, Shelf, cell};
use crate::text::wrapped;
pub use published::{ETI10_PRODUCT_512, GTS07_EXPONENTIATION, KAK96_TABLE, Schedule, published};

const UNROLLS: [&str; 4] = ["1", "2", "4", "8"];

/// How far squares and exponentiations are unrolled.
const UNROLL_ELSEWHERE: &str = "4";

const PRODUCTS: [Column; 10] = [
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
];

const CODE: [Column; 6] = [
    Column::words("bytes of code", 18),
    Column::figures("rolled", 8),
    Column::figures("by 2", 8),
    Column::figures("by 4", 8),
    Column::figures("by 8", 8),
    Column::figures("square", 8),
];

const WINDOWS: [Column; 6] = [
    Column::figures("bits", 5),
    Column::figures("window", 7),
    Column::figures("fixed", 8),
    Column::figures("table bytes", 12),
    Column::figures("sliding", 8),
    Column::figures("table bytes", 12),
];

const COUNTS: [Column; 7] = [
    Column::words("schedule", 18),
    Column::figures("K", 3),
    Column::figures("mults, ours", 12),
    Column::figures("mults", 7),
    Column::figures("additions", 10),
    Column::figures("reads", 7),
    Column::figures("writes", 7),
];

const PAPERS: [Column; 3] =
    [Column::words("of a paper", 74), Column::figures("theirs", 10), Column::figures("here", 10)];

const NOTES: [&str; 4] = [
    "product, square: core cycles of a call; mults: multiplications of limbs in a product; by 2, \
     4, 8: products in the body of the innermost loop; best: the least of them; square: unrolled \
     by 4, its own formula, or the product where there is none (cios, fios); the kernel of the \
     engine below the variants is not one of them",
    "bytes of code: sizes of the functions in this program's table of symbols, code for every size \
     of modulus, without what the standard library copies and fills with",
    "fixed, sliding: core cycles of x^e mod m, e as long as m; sliding windows are for public \
     exponents only: their time tells e; a fixed one reads its whole table for each window",
    "papers: other machines, words of 32 or 64 bits, and other code: for the ratios, not the \
     cycles",
];

/// All tables of a study; those without a record are left out.
#[must_use]
pub fn table(records: &[Record]) -> String {
    let shelf = Shelf(records);
    let products = products(shelf);
    if products.is_empty() {
        return "no variant was measured\n".to_owned();
    }
    let drawn = |columns: &[Column], rows: Vec<Vec<String>>, note: &str| {
        (!rows.is_empty()).then(|| grid(columns, rows) + &wrapped(note))
    };
    let tables = [
        drawn(&PRODUCTS, products, NOTES[0]),
        drawn(&CODE, code(shelf), NOTES[1]),
        drawn(&WINDOWS, windows(shelf), NOTES[2]),
        drawn(&COUNTS, counts(shelf), "additions, reads, writes: of words, by [KAK96]"),
        drawn(&PAPERS, papers(shelf), NOTES[3]),
    ];
    tables.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// Subjects of products, one for each name and size: by name, then by size.
fn calls(shelf: Shelf<'_>) -> Vec<Subject> {
    let mut names: Vec<&str> = Vec::new();
    let mut found: Vec<Subject> = Vec::new();
    for subject in shelf.measured(VARIANT).into_iter().chain(shelf.measured("kernel")) {
        let name = name(subject);
        let Some(bare) = sized(subject).filter(|_| name.starts_with("amm")) else {
            continue;
        };
        if !found.contains(&bare) {
            found.push(bare);
        }
        if !names.contains(&name) {
            names.push(name);
        }
    }
    found.sort_by_key(|subject| names.iter().position(|known| *known == name(subject)));
    found
}

/// The subject with its size and nothing else.
fn sized(subject: &Subject) -> Option<Subject> {
    let bare: Subject = subject.path().parse().ok()?;
    let bare = bare.with(BITS, subject.parameter(BITS)?).ok()?;
    bare.with(K, subject.parameter(K)?).ok()
}

fn name(subject: &Subject) -> &str {
    subject.segments().nth(1).unwrap_or(MISSING)
}

fn parameter(subject: &Subject, key: &str) -> String {
    subject.parameter(key).unwrap_or(MISSING).to_owned()
}

/// The same call unrolled so far.
fn unrolled(subject: &Subject, unroll: &str) -> Option<Subject> {
    subject.with(UNROLL, unroll).ok()
}

fn cycles_of(shelf: Shelf<'_>, subject: Option<Subject>) -> Option<Cycles> {
    shelf.cycles(Measured, &subject?, CYCLES_PER_CALL)
}

/// The square of a product's subject, if it was measured.
fn square_of(subject: &Subject) -> Option<Subject> {
    subject.to_string().replacen("/amm", "/ams", 1).parse().ok()
}

fn products(shelf: Shelf<'_>) -> Vec<Vec<String>> {
    let mut above = String::new();
    let row = |subject: Subject| {
        let by = UNROLLS.map(|unroll| cycles_of(shelf, unrolled(&subject, unroll)));
        let alone = cycles_of(shelf, Some(subject.clone()));
        let best = by.iter().flatten().copied().chain(alone);
        let best = best.min_by(|a, b| a.get().total_cmp(&b.get()));
        let squares = [&Some(UNROLL_ELSEWHERE), &None].map(|unroll| {
            let of = |call: &Subject| match unroll {
                Some(unroll) => unrolled(call, unroll),
                None => Some(call.clone()),
            };
            let square = cycles_of(shelf, square_of(&subject).as_ref().and_then(of));
            square.or_else(|| cycles_of(shelf, of(&subject)))
        });
        let mults = unrolled(&subject, UNROLLS[0])
            .and_then(|subject| plain(shelf, Predicted, &subject, MULTIPLICATIONS, Unit::Count));
        let first = name(&subject) != above;
        above = name(&subject).to_owned();
        let mut cells = vec![
            if first { above.clone() } else { String::new() },
            parameter(&subject, BITS),
            parameter(&subject, K),
            mults.unwrap_or_else(|| MISSING.to_owned()),
        ];
        cells.extend(by.map(cell));
        cells.extend([cell(best), cell(squares.into_iter().flatten().next())]);
        cells
    };
    calls(shelf).into_iter().map(row).collect()
}

/// A whole number without prefix.
fn plain(
    shelf: Shelf<'_>,
    origin: Origin,
    subject: &Subject,
    quantity: &str,
    unit: Unit,
) -> Option<String> {
    shelf.find(origin, subject, quantity, unit).map(|figure| format!("{:.0}", figure.point()))
}

/// Bytes do not depend on the size: those of each name's first.
fn code(shelf: Shelf<'_>) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for subject in calls(shelf) {
        let bytes =
            |subject: Option<Subject>| plain(shelf, Measured, &subject?, CODE_BYTES, Unit::Bytes);
        let by = UNROLLS.map(|unroll| bytes(unrolled(&subject, unroll)));
        let is_new = rows.last().is_none_or(|row| row[0] != name(&subject));
        if is_new && by.iter().any(Option::is_some) {
            let square = square_of(&subject).and_then(|square| unrolled(&square, UNROLL_ELSEWHERE));
            let cells = by.into_iter().chain([bytes(square)]);
            let cells = cells.map(|bytes| bytes.unwrap_or_else(|| MISSING.to_owned()));
            rows.push([name(&subject).to_owned()].into_iter().chain(cells).collect());
        }
    }
    rows
}

fn windows(shelf: Shelf<'_>) -> Vec<Vec<String>> {
    let fixed = shelf.subjects(|record| {
        let is_fixed = !record.subject.path().ends_with("_vartime");
        is_fixed && record.subject.parameter(WINDOW).is_some()
    });
    let mut above = "";
    let row = |subject: &Subject| {
        let sliding: Option<Subject> =
            subject.to_string().replacen('?', "_vartime?", 1).parse().ok();
        let bits = subject.parameter(BITS).unwrap_or(MISSING).to_owned();
        let mut cells = vec![bits, parameter(subject, WINDOW)];
        for subject in [Some(subject.clone()), sliding] {
            let cycles = subject
                .as_ref()
                .and_then(|subject| shelf.cycles(Measured, subject, CYCLES_PER_OPERATION));
            let bytes = subject
                .as_ref()
                .and_then(|subject| plain(shelf, Measured, subject, TABLE_BYTES, Unit::Bytes));
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

/// Counts of \[KAK96\] beside ours, at one size.
fn counts(shelf: Shelf<'_>) -> Vec<Vec<String>> {
    let of_paper = shelf.subjects(|record| record.subject.parameter(BY) == Some("kak96"));
    let has_16 = of_paper.iter().any(|subject| subject.parameter(K) == Some("16"));
    let words = if has_16 { Some("16") } else { of_paper.first().and_then(|s| s.parameter(K)) };
    let row = |subject: &&Subject| {
        let ours = calls(shelf)
            .into_iter()
            .find(|call| name(call) == name(subject) && call.parameter(K) == subject.parameter(K));
        let ours = ours
            .and_then(|ours| unrolled(&ours, UNROLLS[0]))
            .and_then(|ours| plain(shelf, Predicted, &ours, MULTIPLICATIONS, Unit::Count));
        let theirs = [MULTIPLICATIONS, ADDITIONS, READS, WRITES]
            .map(|quantity| plain(shelf, Published, subject, quantity, Unit::Count));
        let figures = [ours].into_iter().chain(theirs);
        let figures = figures.map(|figure| figure.unwrap_or_else(|| MISSING.to_owned()));
        [name(subject).to_owned(), parameter(subject, K)].into_iter().chain(figures).collect()
    };
    of_paper.iter().filter(|subject| subject.parameter(K) == words).map(row).collect()
}

fn papers(shelf: Shelf<'_>) -> Vec<Vec<String>> {
    let variant = |name: &str| format!("{VARIANT}/{name}").parse::<Subject>().ok();
    let at_512 = |name: &str| {
        let found = calls(shelf).into_iter().find(|subject| {
            Some(subject.path()) == variant(name).as_ref().map(Subject::path)
                && subject.parameter(BITS) == Some("512")
        });
        found.and_then(|found| cycles_of(shelf, unrolled(&found, UNROLL_ELSEWHERE)))
    };
    let rate = |by: &str| {
        let subject: Subject = format!("operation/rsa-1024/private?{BY}={by}").parse().ok()?;
        shelf.per_second(Published, &subject, OPERATIONS_PER_S)
    };
    let theirs = rate("eti10").zip(rate("eti10-karatsuba")).map(|(a, b)| a.get() / b.get());
    let ours = at_512("amm64_karatsuba").zip(at_512("amm64_sos")).map(|(a, b)| a.get() / b.get());
    let times = |ratio: Option<f64>| ratio.map_or_else(|| MISSING.into(), |r| format!("{r:.2}"));
    let product: Option<Subject> =
        format!("{VARIANT}/product?{BITS}=512&{BY}=eti10-older-core").parse().ok();
    let power: Option<Subject> = format!("{VARIANT}/exp?{BITS}=1024&{BY}=gts07").parse().ok();
    let least = shelf
        .subjects(|record| {
            record.subject.parameter(WINDOW).is_some()
                && record.subject.parameter(BITS) == Some("1024")
                && !record.subject.path().ends_with("_vartime")
        })
        .into_iter()
        .filter_map(|subject| shelf.cycles(Measured, subject, CYCLES_PER_OPERATION))
        .min_by(|a, b| a.get().total_cmp(&b.get()));
    let published = |subject: Option<Subject>, quantity: &str| {
        cell(subject.and_then(|subject| shelf.cycles(Published, &subject, quantity)))
    };
    vec![
        vec![
            "[ETI10] time with Karatsuba over schoolbook; RSA-1024, ours 512 bits".to_owned(),
            times(theirs),
            times(ours),
        ],
        vec![
            "[ETI10] 512 bits, cycles: a product; ours of Montgomery, schoolbook".to_owned(),
            published(product, CYCLES_PER_CALL),
            cell(at_512("amm64_sos")),
        ],
        vec![
            "[GTS07] 1024-bit exponentiation, cycles; ours the best fixed window".to_owned(),
            published(power, CYCLES_PER_OPERATION),
            cell(least),
        ],
    ]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::collections::BTreeMap;

    use tollgate_record::{Estimate, Kind, Machine, Timestamp};

    use super::*;
    use crate::grid::widest;
    use crate::text::WIDTH;

    fn studied(subject: &str, (quantity, unit, figure): (&str, Unit, f64)) -> Record {
        Record {
            subject: subject.parse().unwrap(),
            quantity: quantity.parse().unwrap(),
            unit,
            estimate: Estimate::exact(figure).unwrap(),
            kind: Kind::Measured,
            machine: Machine::unknown("Some Processor 9000"),
            versions: BTreeMap::new(),
            commit: None,
            conditions: BTreeMap::new(),
            taken_at: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn figures_stand_in_their_places_and_gaps_are_not_zeros() {
        let call = |figure| (CYCLES_PER_CALL, Unit::Cycles, figure);
        let power = |figure| (CYCLES_PER_OPERATION, Unit::Cycles, figure);
        let mut records = published(Timestamp::UNIX_EPOCH, &[8]);
        assert_eq!(table(&records), "no variant was measured\n");
        records.extend([
            studied("variant/amm64_sos?K=8&bits=512&unroll=1", call(500.0)),
            studied("variant/amm64_sos?K=8&bits=512&unroll=4", call(400.0)),
            studied("variant/amm64_sos?K=8&bits=512&unroll=4", (CODE_BYTES, Unit::Bytes, 1234.0)),
            studied("variant/ams64_sos?K=8&bits=512&unroll=4", call(300.0)),
            studied("variant/amm64_karatsuba?K=8&bits=512&unroll=4", call(600.0)),
            studied("kernel/amm64_mulx?K=8&bits=512", call(230.0)),
            studied("variant/exp64_sos?bits=1024&unroll=4&window=5", power(2e6)),
            studied("variant/exp64_sos_vartime?bits=1024&unroll=4&window=5", power(1.8e6)),
        ]);
        let text = table(&records);
        let words = |line: &str| line.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        let line =
            |of: &str| words(text.lines().find(|line| line.starts_with(of)).unwrap_or_default());
        assert_eq!(line("amm64_sos "), "amm64_sos 512 8 - 500 - 400 - 400 300");
        // no formula for squares: the product
        assert_eq!(line("amm64_karatsuba"), "amm64_karatsuba 512 8 - - - 600 - 600 600");
        assert_eq!(line("amm64_mulx"), "amm64_mulx 512 8 - - - - - 230 230");
        assert!(text.lines().any(|line| words(line) == "amm64_sos - - 1234 - -"), "{text}");
        assert_eq!(line("1024 "), "1024 5 2.00M - 1.80M -");
        assert_eq!(line("amm64_cios"), "amm64_cios 8 - 136 290 442 169"); // 4s^2 + 4s + 2 ...
        assert!(text.contains(" 1.46   1.50\n"), "{text}");
        assert!(text.contains(" 12.5M  2.00M\n"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH && !line.contains('~')));
    }

    #[test]
    fn the_columns_fit() {
        for columns in [&PRODUCTS[..], &CODE, &WINDOWS, &COUNTS, &PAPERS] {
            assert!(widest(columns) <= WIDTH, "{}", widest(columns));
        }
    }
}
