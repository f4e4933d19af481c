//! The six rungs as one table for a terminal.

use std::collections::BTreeSet;

use tollgate_record::{Kind, Record};

use super::{Row, Rung, beyond, climb};
use crate::cite::Citation;
use crate::figure;
use crate::grid::{Column, grid};
use crate::lookup::{MISSING, latest};
use crate::names::{INSECURE, INSECURE_NOTE};
use crate::text::wrapped;

const COLUMNS: [Column; 6] = [
    Column::words("rung and figure", 35),
    Column::words("unit", 6),
    Column::figures("predicted", 9),
    Column::figures("measured", 8),
    Column::figures("remainder", 14),
    Column::figures("published", 18),
];

/// The ladder: one table of six rungs with predicted, measured and published figures, followed by
/// sentences that explain each rung by the rung below.
///
/// For a rung without records the table names the verb that measures it.
#[must_use]
pub fn table(records: &[Record]) -> String {
    let records = &latest(records);
    let rungs = climb(records);
    let mut rows = Vec::new();
    for rung in &rungs {
        rows.extend(lines(rung));
    }
    let mut text = grid(&COLUMNS, rows);
    let all = || rungs.iter().flat_map(|rung| &rung.rows);
    if all().any(|row| row.is_bound) {
        text += &wrapped(">: a bound, which no code can go below");
    }
    text += &wrapped(
        "remainder: measured - predicted, and its share of what was measured; a ratio has its 95 % \
         interval in brackets",
    );
    if all().any(|row| row.what.contains(INSECURE)) {
        text += &wrapped(INSECURE_NOTE);
    }
    let sources: BTreeSet<String> = all().filter_map(|row| source(row.published?)).collect();
    text.extend(sources.iter().map(|source| wrapped(source)));
    text.push('\n');
    for rung in &rungs {
        let sentences = rung.sentences.iter().map(|s| wrapped(&format!("{}  {s}", rung.number)));
        text.extend(sentences);
    }
    text.extend(beyond(records).map(|sentence| wrapped(&format!("*  {sentence}"))));
    text
}

/// The rows of one rung, for a reader who waits for the others: its figures without explanations.
/// Empty if no rung has the number.
#[must_use]
pub fn rung(records: &[Record], number: u8) -> String {
    let records = &latest(records);
    let rungs = climb(records);
    let rows = rungs.iter().find(|rung| rung.number == number).map(lines);
    rows.map_or_else(String::new, |rows| grid(&COLUMNS, rows))
}

/// The rung's name, then its figures.
fn lines(rung: &Rung<'_>) -> Vec<Vec<String>> {
    let name = vec![format!("{} {}: {}", rung.number, rung.name, rung.about)];
    let unknown =
        (!rung.is_known()).then(|| vec![format!("  not measured: `tollgate {}`", rung.verb)]);
    [name].into_iter().chain(unknown).chain(rung.rows.iter().map(cells)).collect()
}

fn cells(row: &Row<'_>) -> Vec<String> {
    let published = row.published.map_or_else(
        || MISSING.to_owned(),
        |record| {
            let cited = Citation::of(record).map_or_else(String::new, |cited| format!(" {cited}"));
            figure::of(Some(record)) + &cited
        },
    );
    vec![
        format!("  {}", row.what),
        row.unit_name.clone(),
        row.predicted_text(),
        figure::of(row.measured),
        row.remainder_text(),
        published,
    ]
}

/// `[ETI10] 2010: Intel processor of 2010, 3 GHz; Encrypting the Internet, ...`.
fn source(record: &Record) -> Option<String> {
    let Kind::Published { source } = &record.kind else {
        return None;
    };
    Some(format!("{}: {}; {source}", Citation::of(record)?, record.machine.cpu))
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
