//! The sources of a section's figures, in one line.

use std::collections::BTreeSet;

use maud::{Markup, html};
use tollgate_record::{Kind, Record};

use crate::cite;
use crate::lookup::Origin::{self, Measured, Predicted};
use crate::lookup::distinct;

/// Maximum number of subjects' paths in the line of sources.
const NAMED_MAX: usize = 4;

/// Returns the subjects, machines, dates and versions of the records, and the papers. Empty without
/// records.
pub(super) fn source(records: &[&Record]) -> Markup {
    let ours: Vec<&Record> =
        records.iter().copied().filter(|r| !matches!(r.kind, Kind::Published { .. })).collect();
    let papers: BTreeSet<String> = records.iter().filter_map(|r| cite::source(r)).collect();
    let topics = distinct(ours.iter().map(|record| record.subject.topic().to_string()));
    let more = topics.len().saturating_sub(NAMED_MAX);
    let count = |origin| ours.iter().filter(|r| Origin::new(r) == origin).count();
    let machines: BTreeSet<&str> = ours.iter().map(|r| r.machine.cpu.as_str()).collect();
    let dates: BTreeSet<String> = ours.iter().map(|r| date(r)).collect();
    let versions: BTreeSet<String> = ours
        .iter()
        .flat_map(|r| &r.versions)
        .map(|(name, version)| format!("{name} {version}"))
        .collect();
    html! {
        @if !records.is_empty() {
            p.source {
                @if !ours.is_empty() {
                    "Source: " (count(Measured)) " measured and " (count(Predicted))
                    " predicted records of " code { (joined(topics.iter().take(NAMED_MAX))) }
                    @if more > 0 { " and " (more) " more" }
                    "; " (joined(machines)) "; " (joined(dates))
                    @if !versions.is_empty() { "; " (joined(versions)) }
                    "."
                }
                @for paper in &papers { " Published " (paper) "." }
            }
        }
    }
}

/// Returns the day of a record, UTC.
pub(super) fn date(record: &Record) -> String {
    record.taken_at.strftime("%Y-%m-%d").to_string()
}

/// Joins words with commas; empty words are left out.
pub(super) fn joined<T: AsRef<str>>(words: impl IntoIterator<Item = T>) -> String {
    let mut text = String::new();
    for word in words {
        let word = word.as_ref();
        text.push_str(if text.is_empty() || word.is_empty() { "" } else { ", " });
        text.push_str(word);
    }
    text
}
