//! What the paper that a workload is compared with says, beside what the workload gave here.

use tollgate_record::{Record, Timestamp};
use tollgate_report::published;

use crate::options::Bench as Options;
use crate::verbs::compare::platforms;
use crate::verbs::workload::find;

/// The figures of the paper that the workload names; none where it names none.
pub(super) fn published(options: &Options) -> Vec<Record> {
    let workload = options.workload.as_ref().and_then(|name| find(name).ok());
    let paper = workload.and_then(|workload| workload.compared_with);
    paper.map_or_else(Vec::new, |paper| published::of(paper.value.word(), Timestamp::now()))
}

/// A table of what was measured and of what the paper has of the same; empty where it has nothing.
pub(super) fn table(options: &Options, measured: &[Record]) -> String {
    let published = published(options);
    let table = platforms::text(measured.iter(), &published).filter(|_| !published.is_empty());
    table.map_or_else(String::new, |table| format!("\n{table}"))
}
