//! The heading of a table: the machine, its features and the versions.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_record::{Area, Estimate, Kind, Machine, Record, Unit};

use crate::figure::number;
use crate::text::wrapped;
use tollgate_record::vocabulary::KERNEL;

/// Returns the heading of a table of measured records: processor, core clock, features, kernels,
/// versions. The heading mentions disabled features, portable kernels and an old baseline
/// explicitly. Empty if there are no measured records.
#[must_use]
pub fn lines(records: &[Record]) -> String {
    let Some(first) = records.iter().find(|record| record.kind == Kind::Measured) else {
        return String::new();
    };
    // A table of kernels names each kernel in its row. For a table of operations, name kernels
    // here.
    let kernels: BTreeSet<&str> = records
        .iter()
        .filter(|record| record.subject.area() != Area::Kernel)
        .filter_map(|record| record.conditions.get(KERNEL).map(String::as_str))
        .collect();
    let text = text(&first.machine, &first.versions, first.commit.as_deref(), &kernels);
    let is_kernel = |record: &Record| matches!(record.subject.area(), Area::Kernel | Area::Model);
    match records.iter().all(is_kernel) {
        true => text,
        false => text + &of_baseline(&first.versions),
    }
}

/// Returns the heading for a machine without measurements.
#[must_use]
pub fn of_machine(
    machine: &Machine,
    versions: &BTreeMap<String, String>,
    commit: Option<&str>,
) -> String {
    text(machine, versions, commit, &BTreeSet::new()) + &of_baseline(versions)
}

/// The first OpenSSL with ML-KEM. On processors with AVX-512 it signs with longer keys faster than
/// those before.
const BASELINE: [u32; 2] = [3, 5];

/// Returns what to do if the OpenSSL that figures are compared with is older than [`BASELINE`].
fn of_baseline(versions: &BTreeMap<String, String>) -> String {
    let Some(version) = versions.get("openssl") else { return String::new() };
    let numbers: Vec<u32> = version.split('.').map_while(|part| part.parse().ok()).collect();
    match numbers.get(..2) {
        Some(numbers) if numbers < &BASELINE[..] => wrapped(&format!(
            "baseline OpenSSL {version}: measure on Debian 13 too, whose 3.5 signs RSA-3072 and \
             4096 with IFMA"
        )),
        _ => String::new(),
    }
}

fn text(
    machine: &Machine,
    versions: &BTreeMap<String, String>,
    commit: Option<&str>,
    kernels: &BTreeSet<&str>,
) -> String {
    wrapped(&hardware(machine))
        + &wrapped(&of_features(machine, kernels))
        + &wrapped(&of_versions(versions, commit))
}

fn hardware(machine: &Machine) -> String {
    let mut parts = vec![machine.cpu.clone()];
    parts.extend(machine.logical_cores.map(|cores| format!("{cores} logical cores")));
    parts.push(match machine.virtualised {
        Some(true) => "virtualised".to_owned(),
        Some(false) => "not virtualised".to_owned(),
        None => "virtualised or not is unknown".to_owned(),
    });
    parts.push(match &machine.core_clock_hz {
        Some(hz) => format!("core clock {}", clock(hz)),
        None => "core clock unknown".to_owned(),
    });
    parts.extend(machine.kernel.as_ref().map(|release| format!("kernel {release}")));
    parts.join(", ")
}

/// `4.01 GHz`.
pub(crate) fn clock(hz: &Estimate) -> String {
    format!("{}Hz", spaced(&number(hz.point(), Unit::PerSecond)))
}

/// Inserts a space: `4.01G` becomes `4.01 G`.
fn spaced(figure: &str) -> String {
    match figure.find(|c: char| c.is_ascii_alphabetic()) {
        Some(at) => format!("{} {}", &figure[..at], &figure[at..]),
        None => format!("{figure} "),
    }
}

fn of_features(machine: &Machine, kernels: &BTreeSet<&str>) -> String {
    let list = |words: &BTreeSet<String>| match words.is_empty() {
        true => "none".to_owned(),
        false => words.iter().cloned().collect::<Vec<_>>().join(", "),
    };
    let mut text = format!("features in use: {}", list(&machine.features));
    if !machine.vetoed.is_empty() {
        text += &format!("; SWITCHED OFF by TOLLGATE_CPU_DISABLE: {}", list(&machine.vetoed));
    }
    if !kernels.is_empty() {
        let named = |kernel: &&str| match kernel.ends_with("_portable") {
            true => format!("{kernel} (FALLBACK: slow, for any processor)"),
            false => (*kernel).to_owned(),
        };
        let kernels: Vec<String> = kernels.iter().map(named).collect();
        text += &format!("; kernels: {}", kernels.join(", "));
    }
    text
}

fn of_versions(versions: &BTreeMap<String, String>, commit: Option<&str>) -> String {
    let mut parts: Vec<String> =
        versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
    parts.push(format!("commit {}", commit.unwrap_or("unknown")));
    parts.join(", ")
}
