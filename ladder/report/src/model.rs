//! Montgomery products of modelled machines: the figures of the model and of the papers, and their
//! table.

use std::collections::BTreeSet;

use tollgate_record::vocabulary::{ASSUMPTION, BITS, CYCLES_PER_PRODUCT, LIMIT, MARK, ORIGIN};
use tollgate_record::{Area, Kind, Record, Subject, Topic, Unit};

use crate::cite::Citation;
use crate::figure;
use crate::grid::{Column, fitting};
use crate::lookup::Origin::{self, Measured, Predicted, Published};
use crate::lookup::{Lookup, MISSING, cell};
use crate::table::{Row, Table};
use crate::text::wrapped;

const COLUMNS: [Column; 8] = fitting([
    Column::words("machine", 21),
    Column::figures("bits", 5),
    Column::figures("model", 7),
    Column::figures("paper", 7),
    Column::figures("error", 7),
    Column::words("paper's", 9),
    Column::words("limit", 14),
    Column::words("source", 12),
]);

const CHANGES: [Column; 4] = fitting([
    Column::words("what if", 26),
    Column::words("changed", 50),
    Column::figures("model", 7),
    Column::figures("error", 8),
]);

/// Returns the core cycles of one Montgomery product on every modelled machine: model, paper,
/// error, limit. This machine is last. Below the table, the text states the assumptions of each
/// model, and the effect of changing one number of a model.
#[must_use]
pub fn table(records: &[Record]) -> String {
    let table = products(records);
    if table.rows.is_empty() {
        return "no machine was modelled: run `tollgate model`\n".to_owned();
    }
    let all = modelled(records);
    let rows: Vec<Row> = all.iter().filter(|row| !row.change.is_empty()).map(changed).collect();
    let changes = Table { columns: CHANGES.into(), rows, notes: Vec::new() };
    let changes = match changes.rows.is_empty() {
        true => String::new(),
        false => format!("\n{}\n", changes.text()),
    };
    table.text() + &changes + &sources(all.iter().filter_map(|row| row.published))
}

/// Returns the products of the unchanged models, for a terminal or a page.
pub(crate) fn products(records: &[Record]) -> Table {
    let mut all = modelled(records);
    all.retain(|row| row.change.is_empty());
    let mut notes = vec![
        "Core cycles of one Montgomery product; error: of the model's figure, relative to the \
         published one; paper's: whether its authors measured or estimated; limit: the resource \
         that determines the figure. For this machine the figure is a bound, for the machines of \
         papers an estimate."
            .to_owned(),
    ];
    notes.extend(all.iter().filter_map(Modelled::assumption));
    Table { columns: COLUMNS.into(), rows: all.iter().map(row).collect(), notes }
}

fn row(row: &Modelled<'_>) -> Row {
    let cells = vec![
        row.bits.to_owned(),
        cycles(row.predicted),
        cycles(row.published),
        row.error_text(),
        row.origin().unwrap_or(MISSING).to_owned(),
        row.limit().unwrap_or(MISSING).to_owned(),
        cell(row.published.and_then(Citation::of)),
    ];
    Row::new(row.name(), cells)
}

/// Returns a row for the effect of changing one number of the model.
fn changed(row: &Modelled<'_>) -> Row {
    let name = format!("{}, {} bits", row.name(), row.bits);
    Row::new(name, vec![row.change.clone(), cycles(row.predicted), row.error_text()])
}

fn cycles(record: Option<&Record>) -> String {
    cell(record.map(|record| format!("{:.0}", record.estimate.point())))
}

/// Returns the sources of published records: a paragraph for each source, without repetition.
pub(crate) fn sources<'a>(records: impl Iterator<Item = &'a Record>) -> String {
    let sources: BTreeSet<String> = records.filter_map(source).collect();
    sources.iter().map(|source| wrapped(source)).collect()
}

/// Returns the citation of a figure and its place in the paper: `[ITA00] 2000: table 5`.
pub(crate) fn source(record: &Record) -> Option<String> {
    let Kind::Published { source } = &record.kind else {
        return None;
    };
    Some(format!("{}: {source}", Citation::of(record)?))
}

/// The name that record subjects use for the machine on which the report is made.
pub(crate) const HOST: &str = "host";

/// One machine and modulus size.
pub(crate) struct Modelled<'a> {
    /// The machine's name in the subject, such as `alpha-21264`.
    pub(crate) machine: &'a str,
    pub(crate) bits: &'a str,
    /// The changed number, such as `limit multiplier`; empty for the unchanged model.
    pub(crate) change: String,
    pub(crate) predicted: Option<&'a Record>,
    pub(crate) measured: Option<&'a Record>,
    pub(crate) published: Option<&'a Record>,
}

impl Modelled<'_> {
    /// Returns the machine's name in words, from its records.
    pub(crate) fn name(&self) -> &str {
        let record = self.predicted.or(self.measured).or(self.published);
        match self.machine {
            HOST => "this machine",
            other => record.map_or(other, |record| &record.machine.cpu),
        }
    }

    /// Returns the relative error of the model against the paper: 0.02 means 2 % above the paper.
    pub(crate) fn error(&self) -> Option<f64> {
        let (model, paper) = (self.predicted?.estimate.point(), self.published?.estimate.point());
        let error = model / paper - 1.0;
        (paper > 0.0 && error.is_finite()).then_some(error)
    }

    /// `+2.3 %`.
    pub(crate) fn error_text(&self) -> String {
        match self.error() {
            Some(error) if error.abs() < figure::ERROR_MAX => format!("{:+.1} %", 100.0 * error),
            _ => MISSING.to_owned(),
        }
    }

    /// Returns the resource that limits the model.
    pub(crate) fn limit(&self) -> Option<&str> {
        self.condition(LIMIT)
    }

    /// Returns the origin of the paper's figure: `measured`, `estimated`.
    pub(crate) fn origin(&self) -> Option<&str> {
        self.published?.conditions.get(ORIGIN).map(String::as_str)
    }

    /// Returns the assumptions of the model, with the mark of its least certain number: `stated`,
    /// `assumed`.
    fn assumption(&self) -> Option<String> {
        let mark = self.condition(MARK).map(|mark| format!(" [{mark}]")).unwrap_or_default();
        Some(format!("{} {}{mark}: {}", self.name(), self.bits, self.condition(ASSUMPTION)?))
    }

    fn condition(&self, key: &str) -> Option<&str> {
        self.predicted?.conditions.get(key).map(String::as_str)
    }
}

/// Returns every machine and size, in the order of the records. After each unchanged model, its
/// changed models follow. This machine is last.
pub(crate) fn modelled(records: &[Record]) -> Vec<Modelled<'_>> {
    let lookup = Lookup(records);
    let mut subjects: Vec<&Subject> = lookup.subjects(|record| {
        record.subject.area() == Area::Model && record.quantity == CYCLES_PER_PRODUCT
    });
    let order: Vec<(&str, Option<&str>)> = subjects.iter().map(|s| row_of(s)).collect();
    subjects.sort_by_key(|subject| {
        let place = order.iter().position(|row| *row == row_of(subject));
        (machine_of(subject) == HOST, place, subject.parameters().count())
    });
    let find = |origin: Origin, subject: &Subject| {
        lookup.record(origin, subject, CYCLES_PER_PRODUCT, Unit::Cycles)
    };
    subjects
        .iter()
        .map(|subject| {
            let changes = subject.parameters().filter(|(key, _)| *key != BITS);
            let change: Vec<String> =
                changes.map(|(key, value)| format!("{key} {value}")).collect();
            let itself = subjects.iter().find(|other| row_of(other) == row_of(subject));
            Modelled {
                machine: machine_of(subject),
                bits: subject.parameter(BITS).unwrap_or_default(),
                change: change.join(", ").replace('_', " "),
                predicted: find(Predicted, subject),
                measured: find(Measured, subject),
                published: itself.and_then(|itself| find(Published, itself)),
            }
        })
        .collect()
}

/// Returns machine and size of a subject, which name its row.
fn row_of(subject: &Subject) -> (&str, Option<&str>) {
    (machine_of(subject), subject.parameter(BITS))
}

fn machine_of(subject: &Subject) -> &str {
    match subject.topic() {
        Topic::Model { machine, .. } => machine,
        _ => "",
    }
}
