//! The figures of a workload's paper beside the measured ones.

use tollgate_record::{Record, Timestamp};
use tollgate_report::published;

use crate::options::Bench as Options;
use crate::verbs::compare::platforms;
use crate::verbs::workload::find;

/// The figures of the workload's paper, if it names one.
pub(super) fn published(options: &Options) -> Vec<Record> {
    let workload = options.workload.as_ref().and_then(|name| find(name).ok());
    let paper = workload.and_then(|workload| workload.compared_with);
    paper.map_or_else(Vec::new, |paper| published::of(paper.value.word(), Timestamp::now()))
}

/// A table of measured and published figures; empty if no figure is in both.
pub(super) fn table(options: &Options, measured: &[Record]) -> String {
    let published = published(options);
    let table = platforms::text(measured.iter(), &published).filter(|_| !published.is_empty());
    table.map_or_else(String::new, |table| format!("\n{table}"))
}
