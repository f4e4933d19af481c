//! The terms of the report, the commands that repeat the measurements, and the list of all records.

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
    ("tollgate kernel model", "rung 0: bounds of the kernels"),
    ("tollgate papers", "five publications, with their models and machines"),
    ("tollgate kernel", "rung 1: kernels"),
    ("tollgate speed", "rung 2: RSA operations, and the libraries'"),
    ("tollgate explain", "rung 3: sessions, part by part"),
    ("tollgate bench", "rung 4: a real server under load"),
    ("tollgate fleet", "rung 5: cores, money, response time"),
    ("tollgate report", "this report, from records"),
];

/// One line for each term of the report.
const WORDS: [(&str, &str); 18] = [
    ("batch", "several operations in one call, one for each lane of the vector registers"),
    ("bound", "the fewest cycles that the processor's limits allow; no code can go below"),
    ("core clock", "the measured frequency of the core, not the nominal one"),
    ("core cycle", "one tick of the core clock; independent of how fast the clock runs"),
    ("ECDHE", "key exchange with a new key pair on an elliptic curve for each session"),
    ("interval", "95 % interval: it probably contains the true figure"),
    ("kernel", "the innermost routine: one Montgomery product or square"),
    ("key schedule", "how both sides derive the session's keys; with the hashes it needs"),
    ("lane", "one of several independent numbers in a vector register"),
    ("limit", "the resource that sets a bound: issue, port, latency, memory"),
    ("measured", "by running it on this machine"),
    ("p99", "the 99th percentile: 99 of 100 values do not exceed it"),
    ("payload", "the bytes that a session transfers, without headers and encryption"),
    ("predicted", "by arithmetic, from figures of the rung below"),
    ("published", "printed by others, on their machine, in their year"),
    ("record", "in this report: one figure with all that is known about it; in TLS: a packet"),
    ("remainder", "measured minus predicted: the part that the rung below does not explain"),
    ("session", "one TLS connection: TCP, handshake, one request, its answer, the end"),
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

pub(super) fn glossary() -> Markup {
    html! {
        section id="glossary" {
            h2 { "Words" }
            dl.facts { @for (word, line) in WORDS { dt { (word) } dd { (line) } } }
        }
    }
}

/// Returns every record as a row.
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
