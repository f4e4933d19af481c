//! The table of `tollgate bench eti10`: sessions of \[ETI10\] today, compared with the paper's
//! figures.

use tollgate_record::vocabulary::{
    PART_KEY_EXCHANGE, PART_KEY_SCHEDULE, PART_LIBRARY, PART_MAC, PART_RECORDS, PART_RSA,
    PART_SERVER, PART_SYSTEM, PART_UNKNOWN,
};
use tollgate_record::{Estimate, Unit};

use crate::figure::{number, optional};
use crate::grid::{Column, fitting};
use crate::lookup::{MISSING, ratio};
use crate::table::{Row, Table};

/// The clock cycles of a session in the paper, before the improvements.
const PUBLISHED_CYCLES: f64 = 6.38e6;

/// The rows of the second table: parts of a session, and the paper's clocks.
const PARTS: [(&str, &[&str], Option<f64>); 7] = [
    ("RSA-1024", &[PART_RSA], Some(2.17e6)),
    ("AES", &[PART_RECORDS], Some(2.30e6)),
    ("HMAC-SHA1", &[PART_MAC], Some(1.18e6)),
    ("key schedule", &[PART_KEY_SCHEDULE], None),
    ("TLS library", &[PART_LIBRARY, PART_KEY_EXCHANGE, PART_UNKNOWN], None),
    ("server", &[PART_SERVER], None),
    ("system", &[PART_SYSTEM], None),
];

/// The clock cycles in the paper for everything but RSA, AES and HMAC.
const PUBLISHED_OTHER: f64 = 0.73e6;

const COLUMNS: [Column; 6] = fitting([
    Column::words("140 KB, RSA-1024", 32),
    Column::figures("cycles", 7),
    Column::figures("sess/s", 6),
    Column::figures("times", 16),
    Column::figures("paper", 6),
    Column::figures("cycles", 7),
]);

/// A way to serve the session.
#[derive(Clone, Debug)]
pub struct Step {
    /// The name of the step.
    pub words: &'static str,
    /// Core cycles of the server for one session.
    pub cycles: Estimate,
    /// Sessions per second of one core.
    pub per_s: Estimate,
    /// The cycles of the first step, divided by those of this step.
    pub times: Estimate,
    /// The same ratio in the paper, if the paper has this step.
    pub published: Option<f64>,
    /// Core cycles of each part of one session. The parts have the names of the vocabulary. Empty
    /// without a profile.
    pub parts: Vec<(String, f64)>,
}

/// Returns a row for each step: cycles, sessions per second, the ratio to the first step with its
/// interval, and the paper's ratio and cycles.
#[must_use]
pub fn table(steps: &[Step]) -> String {
    let row = |step: &Step| {
        let paper = |of: fn(f64) -> String| step.published.map_or_else(|| MISSING.to_owned(), of);
        let cells = vec![
            number(step.cycles.point(), Unit::Cycles),
            number(step.per_s.point(), Unit::PerSecond),
            ratio(&step.times),
            paper(|times| format!("{times:.2}")),
            paper(|times| number(PUBLISHED_CYCLES / times, Unit::Cycles)),
        ];
        Row::new(step.words, cells)
    };
    let notes = vec![
        "cycles: of the server's core for one session; times: sessions in the same cycles, relative \
         to the first row, the median of the rounds with its 95 % interval; paper: [ETI10] 2010, whose \
         first row has OpenSSL 1.0 with AES by tables, and whose other rows have its own RSA"
            .to_owned(),
    ];
    let table = Table { columns: COLUMNS.into(), rows: steps.iter().map(row).collect(), notes };
    table.text() + &by_part(steps).map_or_else(String::new, |table| format!("\n{}", table.text()))
}

/// Returns the cycles of each step by part; empty if there is no profile.
fn by_part(steps: &[Step]) -> Option<Table> {
    if steps.iter().any(|step| step.parts.is_empty()) {
        return None;
    }
    let mut columns = vec![Column::words("cycles by part", 24)];
    let headings = (1..=steps.len()).map(|place| format!("row {place}"));
    columns.extend(headings.map(|heading| Column::figures("", 8).headed(heading)));
    columns.push(Column::figures("paper", 8));
    let cycles = |point: f64| number(point, Unit::Cycles);
    let of_step = |step: &Step, words: &[&str]| -> f64 {
        let own = step.parts.iter().filter(|(word, _)| words.contains(&word.as_str()));
        own.map(|(_, cycles)| cycles).sum()
    };
    let row = |name: &str, words: &[&str], published: Option<f64>| {
        let cells = steps.iter().map(|step| cycles(of_step(step, words)));
        Row::new(name, cells.chain([optional(published, Unit::Cycles)]).collect())
    };
    let mut rows: Vec<Row> =
        PARTS.iter().map(|(name, words, paper)| row(name, words, *paper)).collect();
    let other: Vec<&str> = PARTS[3..].iter().flat_map(|(_, words, _)| *words).copied().collect();
    let all: Vec<&str> = PARTS.iter().flat_map(|(_, words, _)| *words).copied().collect();
    rows.push(row("all but RSA, AES, HMAC", &other, Some(PUBLISHED_OTHER)));
    rows.push(row("sum", &all, Some(PUBLISHED_CYCLES)));
    let notes = vec![
        "row 1 to 5: the rows of the table above; AES: with GCM, it includes the authentication; \
         paper: the session of its first row"
            .to_owned(),
    ];
    Some(Table { columns, rows, notes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_stand_beside_the_paper() {
        let estimate = |point: f64| Estimate::new(point, (0.9 * point, 1.1 * point), 6).unwrap();
        let step = |words, cycles: f64, published| Step {
            words,
            cycles: estimate(cycles),
            per_s: estimate(3e9 / cycles),
            times: estimate(4e6 / cycles),
            published,
            parts: vec![("rsa".to_owned(), 0.25 * cycles), ("system".to_owned(), 0.75 * cycles)],
        };
        let steps = [
            step("AES128-SHA, no AES instructions", 4e6, Some(1.0)),
            step("AES128-SHA", 2e6, None),
            step("AES128-GCM, Tollgate's RSA", 1e6, Some(2.43)),
        ];
        let text = table(&steps);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for row in [
            "no AES instructions 4.00M 750 1.00 [0.90-1.10] 1.00 6.38M",
            "AES128-SHA 2.00M 1.50k 2.00 [1.80-2.20] - -",
            "Tollgate's RSA 1.00M 3.00k 4.00 [3.60-4.40] 2.43 2.63M",
            "RSA-1024 1.00M 500k 250k 2.17M",
            "all but RSA, AES, HMAC 3.00M 1.50M 750k 730k sum 4.00M 2.00M 1.00M 6.38M",
        ] {
            assert!(words.contains(row), "{row}\n{text}");
        }
    }
}
