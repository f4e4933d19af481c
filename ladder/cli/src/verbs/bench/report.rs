//! The text of `bench`: machine, plan, verdicts, and the table.

use tollgate_load::Verdict;
use tollgate_record::Record;
use tollgate_report::text::wrapped;
use tollgate_report::{heading, server};

use super::scenario::Scenario;
use super::{external, plan, platforms, suites};
use crate::host::Host;
use crate::options::Bench as Options;
use crate::verbs::workload::{disclosure, find};

pub(super) fn text(options: &Options, host: &Host, scenarios: &[Scenario]) -> String {
    let mut text = heading(options, host) + "\n";
    for scenario in scenarios {
        text += &scenario.verdict_text();
    }
    let records: Vec<Record> =
        scenarios.iter().flat_map(|scenario| scenario.records.iter().cloned()).collect();
    // `--suites all` has its own table
    if !records.is_empty() && !suites::is_all(&options.suites) {
        text += "\n";
        text += &server::table(&records);
        text += &platforms::text(&records, &published(options));
    }
    if scenarios.iter().any(|scenario| scenario.verdict() == Verdict::Invalid) {
        text += "\n";
        text += &wrapped(
            "INVALID runs give no figures: follow the advice in the findings, and run again. If \
             the rate drifts, stop other programs, run longer (--seconds) or raise --drift-max.",
        );
    }
    text
}

pub(super) fn heading(options: &Options, host: &Host) -> String {
    machine(host) + &asked(options)
}

/// Returns the workload, if it is named, and the plan.
pub(super) fn asked(options: &Options) -> String {
    let named = options.workload.as_ref().and_then(|name| Some((name, find(name).ok()?)));
    let workload = named.map(|(name, workload)| wrapped(&disclosure(name, &workload)));
    workload.unwrap_or_default() + &external::heading(options) + &wrapped(&plan::words(options))
}

/// Returns the heading of tables with measured records, which names the common conditions of a run.
pub(in crate::verbs) fn machine(host: &Host) -> String {
    heading::of_machine(
        &host.context.machine,
        &host.context.versions,
        host.context.commit.as_deref(),
    )
}

/// Returns the figures of the workload's paper, if it names one.
pub(super) fn published(options: &Options) -> Vec<Record> {
    let workload = options.workload.as_ref().and_then(|name| find(name).ok());
    let paper = workload.and_then(|workload| workload.compared_with);
    paper.map_or_else(Vec::new, |paper| tollgate_published::records_of(paper.value.get()))
}
