//! The six rungs as one table for a terminal.

use std::collections::BTreeSet;

use tollgate_record::{Kind, Record};

use super::{Figure, Rung, climb};
use crate::cite::Citation;
use crate::figure;
use crate::grid::{Column, fitting};
use crate::lookup::{cell, latest};
use crate::names::{INSECURE, INSECURE_NOTE};
use crate::table::{Row, Table};
use crate::text::wrapped;

const COLUMNS: [Column; 6] = fitting([
    Column::words("rung and figure", 35),
    Column::words("unit", 6),
    Column::figures("predicted", 9),
    Column::figures("measured", 8),
    Column::figures("remainder", 14),
    Column::figures("published", 18),
]);

/// Returns the ladder as one table: six rungs with predicted, measured and published figures.
/// Sentences that explain each rung by the next lower rung follow.
///
/// For a rung without records the table names the command that measures it.
#[must_use]
pub fn table(records: &[Record]) -> String {
    let records = &latest(records);
    let rungs = climb(records);
    let mut text = figures(&rungs).text();
    let all = rungs.iter().flat_map(|rung| &rung.rows);
    let sources: BTreeSet<String> = all.filter_map(|row| source(row.published?)).collect();
    text.extend(sources.iter().map(|source| wrapped(source)));
    text.push('\n');
    for rung in &rungs {
        let sentences = rung.sentences.iter().map(|s| wrapped(&format!("{}  {s}", rung.number)));
        text.extend(sentences);
    }
    text
}

/// Returns the figures of all rungs.
pub(crate) fn figures(rungs: &[Rung<'_>]) -> Table {
    let all = || rungs.iter().flat_map(|rung| &rung.rows);
    let notes = [
        all().any(|figure| figure.is_bound).then_some(">: a bound, which no code can go below"),
        Some(
            "remainder: measured - predicted, and its share of what was measured; a ratio has its \
             95 % interval in brackets",
        ),
        all().any(|figure| figure.what.contains(INSECURE)).then_some(INSECURE_NOTE),
    ];
    let notes = notes.into_iter().flatten().map(str::to_owned).collect();
    let rows = rungs.iter().flat_map(rows).collect();
    Table { columns: COLUMNS.into(), rows, notes }
}

/// Returns the figures of one rung without explanations, to print before the other rungs are
/// complete. Empty if no rung has this number.
#[must_use]
pub fn rung(records: &[Record], number: u8) -> String {
    let records = &latest(records);
    let rungs = climb(records);
    let Some(rung) = rungs.iter().find(|rung| rung.number == number) else {
        return String::new();
    };
    Table { columns: COLUMNS.into(), rows: rows(rung), notes: Vec::new() }.text()
}

/// Returns the figures below the rung's name.
fn rows(rung: &Rung<'_>) -> Vec<Row> {
    let row = |names, cells| Row {
        groups: vec![format!("{} {}: {}", rung.number, rung.name, rung.about)],
        names,
        cells,
    };
    let unknown = (!rung.is_known())
        .then(|| row(vec![format!("not measured: `tollgate {}`", rung.verb)], Vec::new()));
    let known = rung.rows.iter().map(|figure| {
        let names = figure.heading.iter().chain([&figure.what]).cloned().collect();
        row(names, cells(figure))
    });
    unknown.into_iter().chain(known).collect()
}

fn cells(figure: &Figure<'_>) -> Vec<String> {
    let published = figure.published.map(|record| {
        let cited = Citation::new(record).map_or_else(String::new, |cited| format!(" {cited}"));
        figure::of(Some(record)) + &cited
    });
    vec![
        figure.unit_name.clone(),
        figure.predicted_text(),
        figure::of(figure.measured),
        figure.remainder_text(),
        cell(published),
    ]
}

/// Returns the source of a published record, such as `[ETI10] 2010: Intel processor of 2010, 3 GHz;
/// Encrypting the Internet, ...`.
fn source(record: &Record) -> Option<String> {
    let Kind::Published { source } = &record.kind else {
        return None;
    };
    Some(format!("{}: {}; {source}", Citation::new(record)?, record.machine.cpu))
}
