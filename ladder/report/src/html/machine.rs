//! Machines, versions, conditions, and warnings.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use tollgate_record::{Kind, Machine, Record};

use super::missing;
use super::sections::joined;
use crate::heading;
use crate::server::doubts;

/// Maximum number of values of one condition that are listed.
const VALUES_MAX: usize = 4;

pub(super) fn section(records: &[Record]) -> Markup {
    let mut machines: Vec<&Machine> = Vec::new();
    for record in records.iter().filter(|record| record.kind == Kind::Measured) {
        // Ignore the core clock: each run measures it, so it may differ on the same machine.
        let is = |m: &&Machine| {
            let bare = |m: &Machine| Machine { core_clock_hz: None, ..m.clone() };
            bare(m) == bare(&record.machine)
        };
        if !machines.iter().any(is) {
            machines.push(&record.machine);
        }
    }
    let warnings = warnings(records, &machines);
    html! {
        section id="machine" {
            h2 { "Machine, versions, conditions" }
            @if machines.is_empty() { (missing("ladder")) }
            @for machine in &machines { (facts(machine)) }
            (versions(records))
            @if !warnings.is_empty() {
                h3 { "Warnings" }
                ul { @for warning in &warnings { li.warning { (warning) } } }
            }
            (conditions(records))
        }
    }
}

fn facts(machine: &Machine) -> Markup {
    let list = |words: &BTreeSet<String>| match words.is_empty() {
        true => "none".to_owned(),
        false => joined(words),
    };
    let known = |fact: Option<String>| fact.unwrap_or_else(|| "unknown".to_owned());
    let rows = [
        ("processor", machine.cpu.clone()),
        ("logical cores", known(machine.logical_cores.map(|cores| cores.to_string()))),
        ("core clock", known(machine.core_clock_hz.as_ref().map(heading::clock))),
        (
            "virtualised",
            known(machine.virtualised.map(|v| if v { "yes" } else { "no" }.to_owned())),
        ),
        ("kernel", known(machine.kernel.clone())),
        ("features in use", list(&machine.features)),
        ("features switched off", list(&machine.vetoed)),
    ];
    html! {
        dl.facts { @for (name, fact) in rows { dt { (name) } dd { (fact) } } }
    }
}

fn versions(records: &[Record]) -> Markup {
    let ours = || records.iter().filter(|r| !matches!(r.kind, Kind::Published { .. }));
    let versions: BTreeSet<String> = ours()
        .flat_map(|record| &record.versions)
        .map(|(name, version)| format!("{name} {version}"))
        .collect();
    let commits: BTreeSet<&str> = ours().filter_map(|record| record.commit.as_deref()).collect();
    html! {
        @if !versions.is_empty() { p { "Versions: " (joined(&versions)) "." } }
        @if !commits.is_empty() { p { "Commits of tollgate: " (joined(commits)) "." } }
    }
}

/// Returns warnings about doubtful figures.
fn warnings(records: &[Record], machines: &[&Machine]) -> Vec<String> {
    let mut found = Vec::new();
    if machines.len() > 1 {
        found.push(format!(
            "figures of {} machines stand side by side: compare with care",
            machines.len()
        ));
    }
    for machine in machines {
        if !machine.vetoed.is_empty() {
            let vetoed = joined(&machine.vetoed);
            found.push(format!("switched off by TOLLGATE_CPU_DISABLE: {vetoed}"));
        }
    }
    if machines.iter().any(|machine| machine.virtualised == Some(true)) {
        found.push("a virtual machine: neighbours on the same core can slow it down".to_owned());
    }
    if heading::lines(records).contains("FALLBACK") {
        found.push("a portable kernel took part: slow, for any processor".to_owned());
    }
    found.extend(doubts(records));
    found
}

/// Returns every condition of the measured records, with its values.
fn conditions(records: &[Record]) -> Markup {
    let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for record in records.iter().filter(|record| record.kind == Kind::Measured) {
        for (key, value) in &record.conditions {
            values.entry(key).or_default().insert(value);
        }
    }
    html! {
        @if !values.is_empty() {
            h3 { "Conditions" }
            dl.facts {
                @for (key, values) in &values {
                    dt { (key.replace('_', " ")) }
                    dd {
                        (joined(values.iter().take(VALUES_MAX)))
                        @if values.len() > VALUES_MAX {
                            " and " (values.len() - VALUES_MAX) " more"
                        }
                    }
                }
            }
        }
    }
}
