//! The commands that repeat the measurements, and the list of all records.

use maud::{Markup, html};
use tollgate_record::{Kind, Record};

use super::section::folded;
use super::source;
use crate::cite::Citation;
use crate::figure::{number, unit};
use crate::grid::Column;
use crate::table::{Row, Table};

/// The columns of the list of records. Only the page contains this list, so the widths do not
/// matter.
const COLUMNS: [Column; 6] = [
    Column::words("subject", 0),
    Column::words("quantity", 0),
    Column::figures("figure", 0),
    Column::figures("95 % interval", 0),
    Column::words("origin", 0),
    Column::words("date", 0),
];

/// Maximum number of records in the list.
const LISTED_MAX: usize = 2000;

/// Commands that run one rung each.
const COMMANDS: [(&str, &str); 9] = [
    ("./x ladder", "all six rungs, this report, and the records"),
    ("tollgate model", "rung 0: bounds, and the machines of the papers"),
    ("tollgate simulate study", "rung 0: a processor that nobody has built"),
    ("tollgate kernel", "rung 1: kernels"),
    ("tollgate speed", "rung 2: RSA operations, and the libraries'"),
    ("tollgate session", "rung 3: sessions, part by part"),
    ("tollgate bench", "rung 4: a real server under load"),
    ("tollgate fleet", "rung 5: cores, money, response time"),
    ("tollgate report", "this report, from records"),
];

pub(super) fn reproduce(records: &[Record]) -> Markup {
    let commit = records.iter().rev().find_map(|record| record.commit.as_deref());
    html! {
        section id="reproduce" {
            h2 { "Do it again" }
            p {
                "On a machine at rest, in the project's folder"
                @if let Some(commit) = commit { ", at commit " code { (commit) } }
                ". Each command takes " code { "--json FILE" } " and then writes its records."
            }
            dl.facts {
                @for (command, what) in COMMANDS { dt { code { (command) } } dd { (what) } }
            }
        }
    }
}

/// Every record as a row.
pub(super) fn all(records: &[Record]) -> Markup {
    let table = Table {
        columns: COLUMNS.into(),
        rows: records.iter().take(LISTED_MAX).map(row).collect(),
        notes: Vec::new(),
    };
    html! {
        section id="records" {
            h2 { "All records" }
            (folded("records", records.len(), &html! {
                (table.markup())
                @if records.len() > LISTED_MAX {
                    p { "and " (records.len() - LISTED_MAX) " more" }
                }
            }))
        }
    }
}

fn row(record: &Record) -> Row {
    let estimate = &record.estimate;
    let (low, high) = estimate.interval();
    let text = |point| number(point, record.unit);
    let origin = match &record.kind {
        Kind::Measured => format!("measured, {} samples", estimate.samples()),
        Kind::Predicted { by, .. } => format!("predicted by {by}"),
        Kind::Published { .. } => {
            Citation::of(record).map_or_else(String::new, |cited| format!("published {cited}"))
        }
    };
    let cells = vec![
        record.quantity.to_string(),
        text(estimate.point()) + unit(record.unit),
        format!("{} to {}", text(low), text(high)),
        origin,
        source::date(record),
    ];
    Row::new(record.subject.to_string(), cells)
}
