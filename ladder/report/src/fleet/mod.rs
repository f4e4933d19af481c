//! The tables of fleets: cores for a demand, what a core does and costs, response time under load.

mod cores;
pub(crate) mod find;
mod one_core;
mod response;
mod savings;

use tollgate_record::vocabulary as word;
use tollgate_record::{Record, Subject};

pub(crate) use response::models;

use crate::cite::Citation;
use crate::figure;
use crate::grid::{Column, grid};
use crate::lookup::Origin::Published;
use crate::lookup::{Lookup, MISSING, Origin, latest};
use crate::names;
use crate::text::wrapped;

/// Rows that text and page show alike.
pub(crate) struct Sheet {
    /// Of the name, and of each figure.
    pub(crate) columns: &'static [Column],
    pub(crate) rows: Vec<Row>,
    /// What the headings mean, and what the figures assume.
    pub(crate) note: String,
}

/// One row of a sheet.
pub(crate) struct Row {
    /// What it shares with its neighbours, `TLS 1.3, RSA-2048`.
    pub(crate) group: String,
    /// `14 KB, tollgate`.
    pub(crate) name: String,
    pub(crate) figures: Vec<String>,
}

/// Cores for each demand, ours and the papers'; what one core does, and what a million sessions
/// cost; savings; response time against load.
#[must_use]
pub fn table(records: &[Record]) -> String {
    let records = &latest(records);
    let sheets = sheets(records);
    if sheets.is_empty() {
        return "no fleet was sized: run `tollgate fleet`\n".to_owned();
    }
    let mut text = sheets.iter().map(Sheet::text).collect::<Vec<_>>().join("\n");
    let sentences: Vec<String> = sentences(records).iter().map(|line| wrapped(line)).collect();
    if !sentences.is_empty() {
        text += "\n";
        text.extend(sentences);
    }
    let mut sources: Vec<String> =
        find::sized(Lookup(records)).filter_map(crate::model::source).collect();
    sources.sort_unstable();
    sources.dedup();
    text.extend(sources.iter().map(|source| wrapped(source)));
    text
}

/// Every table that has a row; of records each of which counts.
pub(crate) fn sheets(records: &[Record]) -> Vec<Sheet> {
    let all = [cores::sheet(records), one_core::sheet(records), response::sheet(records)];
    all.into_iter().filter(|sheet| !sheet.rows.is_empty()).collect()
}

/// What one saves against another, and what papers say about money.
pub(crate) fn sentences(records: &[Record]) -> Vec<String> {
    savings::sentences(Lookup(records)).into_iter().chain(prices(records)).collect()
}

impl Sheet {
    fn text(&self) -> String {
        let mut rows = Vec::new();
        let (mut group, mut name) = ("", "");
        for row in &self.rows {
            if row.group != group {
                (group, name) = (&row.group, "");
                rows.push(vec![row.group.clone()]);
            }
            let shown = if row.name == name { String::new() } else { format!("  {}", row.name) };
            name = &row.name;
            rows.push([vec![shown], row.figures.clone()].concat());
        }
        grid(self.columns, rows) + &wrapped(&self.note)
    }
}

impl Row {
    fn of(subject: &Subject, cited: Option<&Record>, figures: Vec<String>) -> Self {
        let cited = cited.and_then(Citation::of);
        let cited = cited.map_or_else(String::new, |cited| format!("{cited} "));
        Self {
            group: format!("{cited}{}", names::service(subject)),
            name: size_and_engine(subject),
            figures,
        }
    }
}

/// `TLS 1.3, RSA-2048, 14 KB, tollgate`.
pub(crate) fn name(subject: &Subject) -> String {
    format!("{}, {}", names::service(subject), size_and_engine(subject))
}

/// `14 KB, tollgate`.
fn size_and_engine(subject: &Subject) -> String {
    let by = names::who(subject.parameter(word::BY).unwrap_or(MISSING));
    format!("{}, {by}", names::payload(names::bytes(subject)))
}

/// What papers say about money.
fn prices(records: &[Record]) -> impl Iterator<Item = String> {
    let takes = |record: &&Record| {
        Origin::of(record) == Published && record.quantity == word::PRICE_PER_SESSION_PER_S
    };
    let sentence = |record: &Record| {
        Some(format!(
            "{}: {} {} of machine for each session per second ({}).",
            name(&record.subject.without(&[word::CURRENCY])),
            figure::of(Some(record)),
            record.subject.parameter(word::CURRENCY)?,
            Citation::of(record)?
        ))
    };
    records.iter().filter(takes).filter_map(sentence)
}

/// What these records say under a condition, each text once.
fn conditions<'a>(records: impl Iterator<Item = &'a Record>, key: &str) -> Vec<&'a str> {
    once(records.filter_map(|record| record.conditions.get(key).map(String::as_str)))
}

/// Each once, as they came first.
fn once<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    all.fold(Vec::new(), |mut found, one| {
        if !found.contains(&one) {
            found.push(one);
        }
        found
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::widest;
    use crate::text::WIDTH;

    #[test]
    fn the_columns_fit() {
        for columns in [&cores::COLUMNS, &one_core::COLUMNS, &response::COLUMNS] {
            assert!(widest(columns) <= WIDTH, "{}", widest(columns));
        }
    }
}
