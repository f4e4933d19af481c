//! The table of modelled machines: products by the model, and the figures of the papers.

use std::collections::BTreeSet;

use tollgate_record::{Kind, Record};

use crate::cite::Citation;
use crate::figure;
use crate::grid::{Column, grid};
use crate::lookup::MISSING;
use crate::modelled::{Modelled, modelled};
use crate::text::wrapped;

const COLUMNS: [Column; 8] = [
    Column::words("machine", 18),
    Column::figures("bits", 5),
    Column::figures("model", 7),
    Column::figures("paper", 7),
    Column::figures("error", 7),
    Column::words("paper's", 9),
    Column::words("limit", 14),
    Column::words("source", 12),
];

const CHANGES: [Column; 4] = [
    Column::words("what if", 26),
    Column::words("changed", 50),
    Column::figures("model", 7),
    Column::figures("error", 8),
];

/// Core cycles of one Montgomery product on every modelled machine: model, paper, error, limit;
/// this machine is last. The assumptions of each model follow.
#[must_use]
pub fn table(records: &[Record]) -> String {
    let all = modelled(records);
    if all.is_empty() {
        return "no machine was modelled: run `tollgate model`\n".to_owned();
    }
    let models = || all.iter().filter(|row| row.change.is_empty());
    let mut text = grid(&COLUMNS, models().map(cells).collect());
    text += &wrapped(
        "Core cycles of one Montgomery product; error: of the model against the paper; paper's: \
         whether its authors measured or estimated; limit: what binds the model. For this machine \
         it is a bound, for the papers' machines an estimate.",
    );
    let changed: Vec<Vec<String>> =
        all.iter().filter(|row| !row.change.is_empty()).map(changed).collect();
    if !changed.is_empty() {
        text += &format!("\n{}\n", grid(&CHANGES, changed));
    }
    for row in models() {
        let mark = row.mark().map(|mark| format!(" [{mark}]")).unwrap_or_default();
        let assumed =
            row.assumption().map(|what| format!("{} {}{mark}: {what}", row.name(), row.bits));
        text.extend(assumed.map(|line| wrapped(&line)));
    }
    let sources: BTreeSet<String> = all.iter().filter_map(|row| source(row.published?)).collect();
    text.extend(sources.iter().map(|source| wrapped(source)));
    text
}

/// The effect of changing one number of the model.
fn changed(row: &Modelled<'_>) -> Vec<String> {
    let cycles = row.predicted.map(|record| format!("{:.0}", record.estimate.point()));
    vec![
        format!("{}, {} bits", row.name(), row.bits),
        row.change.clone(),
        cycles.unwrap_or_else(|| MISSING.to_owned()),
        row.error_text(),
    ]
}

fn cells(row: &Modelled<'_>) -> Vec<String> {
    let cycles = |record: Option<&Record>| {
        record.map_or_else(|| MISSING.to_owned(), |r| format!("{:.0}", r.estimate.point()))
    };
    let cited = row.published.and_then(Citation::of).map(|cited| cited.to_string());
    vec![
        row.name(),
        row.bits.to_owned(),
        cycles(row.predicted),
        cycles(row.published),
        row.error_text(),
        row.origin().unwrap_or(MISSING).to_owned(),
        row.limit().unwrap_or(MISSING).to_owned(),
        cited.unwrap_or_else(|| MISSING.to_owned()),
    ]
}

/// The citation and where to find the figure: `[ITA00] 2000: where it can be read`.
pub(crate) fn source(record: &Record) -> Option<String> {
    let Kind::Published { source } = &record.kind else {
        return None;
    };
    Some(format!("{}: {source}", Citation::of(record)?))
}

impl Modelled<'_> {
    /// `+2.3 %`.
    pub(crate) fn error_text(&self) -> String {
        match self.error() {
            Some(error) if error.abs() < figure::ERROR_MAX => format!("{:+.1} %", 100.0 * error),
            _ => MISSING.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::widest;
    use crate::text::WIDTH;

    #[test]
    fn the_columns_fit() {
        assert!(widest(&COLUMNS) <= WIDTH, "{}", widest(&COLUMNS));
        assert!(widest(&CHANGES) <= WIDTH, "{}", widest(&CHANGES));
    }
}
