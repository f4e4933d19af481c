//! Kernels of this project on a machine: bound, limit, and rates that would lower the bound.

use tollgate_processor::{Analysis, Improvement, Kernel, Machine};
use tollgate_record::vocabulary as word;
use tollgate_record::{Kind, Record, Subject, Topic, Unit};
use tollgate_report::text::wrapped;

use super::columns::{columns, figure};
use super::selected::SelectedMachine;
use crate::bounds::call;
use crate::error::CliError;
use crate::figures::Figures;
use crate::host::Host;

/// The kernels of this name; `all` names every one.
fn named(name: &str) -> impl Iterator<Item = Kernel> {
    Kernel::ALL.into_iter().filter(move |kernel| name == "all" || kernel.name == name)
}

/// Bound against size, with its limits and rates.
pub(super) fn report(
    selected: &SelectedMachine,
    name: &str,
    sizes: &[u32],
) -> Result<String, CliError> {
    let model = &selected.model;
    let heads = ["kernel", "bits", "cycles", "limit", "algorithm", "next limit"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    let mut last = None;
    for kernel in named(name) {
        for &bits in sizes {
            let Some(call) = call(kernel, bits) else {
                continue;
            };
            let Some(analysis) = model.kernel(kernel, call) else {
                continue;
            };
            rows.push(vec![
                kernel.name.to_owned(),
                bits.to_string(),
                figure(analysis.bound.cycles.get()),
                analysis.bound.limit.word().to_owned(),
                kernel.algorithm(call).to_owned(),
                next_limit(&analysis),
            ]);
            last = Some((kernel, bits, call, analysis));
        }
    }
    let Some((kernel, bits, call, analysis)) = last else {
        let what = "no multiplier has a known rate, or the kernel supports none of the sizes; omit \
                    --kernel for the machine's own product";
        return Err(CliError::new(format!("{name} on {}: {what}", model.name)));
    };
    let mut text = columns(&rows, 1..3);
    text += &wrapped(&format!(
        "{}: lower bound in core cycles for one number of a call; next limit: the cycles of the \
         second largest limit",
        model.name
    ));
    text += &unknown(&analysis);
    if name != "all" {
        let improvements = model.improvements(|machine| machine.kernel(kernel, call));
        text += &lowered_by(kernel, bits, &analysis, &improvements);
        text += &from(model, &analysis);
    }
    Ok(text)
}

/// The largest of the limits that do not bind.
fn next_limit(analysis: &Analysis) -> String {
    let others = analysis.limits.iter().filter(|alone| alone.limit != analysis.bound.limit);
    let next = others.max_by(|x, y| x.cycles.get().total_cmp(&y.cycles.get()));
    next.map(|next| format!("{} {}", next.limit, figure(next.cycles.get()))).unwrap_or_default()
}

/// The unknown limits, and whether one of them could bind.
fn unknown(analysis: &Analysis) -> String {
    let bound = analysis.bound.cycles;
    let words = analysis.unknown.iter().map(|left| {
        let name = left.limit.key();
        match left.at_most {
            None => name.to_owned(),
            Some(most) if most <= bound => format!("{name} (cannot bind)"),
            Some(most) => format!("{name} (up to {} cycles)", figure(most.get())),
        }
    });
    let words: Vec<String> = words.collect();
    if words.is_empty() {
        return String::new();
    }
    wrapped(&format!("unknown and ignored, for the last row: {}", words.join(", ")))
}

/// The rates that would lower the bound.
fn lowered_by(
    kernel: Kernel,
    bits: u32,
    analysis: &Analysis,
    improvements: &[Improvement],
) -> String {
    let now = &analysis.bound;
    let mut text = wrapped(&format!("{} of {bits} bits: {now}. Lower with:", kernel.name));
    if improvements.is_empty() {
        text += &wrapped("* no single rate: two limits are equal");
    }
    for improvement in improvements {
        let name = improvement.limit.key();
        let what = match (improvement.limit.is_in_cycles(), improvement.now.value()) {
            (true, _) => format!("half of {name}"),
            (false, Some(1.0)) => format!("a second unit of {name}"),
            (false, _) => format!("twice as many {name} per cycle"),
        };
        let saved = 100.0 * (1.0 - improvement.bound.cycles.get() / now.cycles.get());
        text += &wrapped(&format!(
            "* {what} would give {} cycles, {saved:.0} % fewer, then limited by {}",
            figure(improvement.bound.cycles.get()),
            improvement.bound.limit,
        ));
    }
    text
}

/// The rates behind the bound, with their marks.
fn from(model: &Machine, analysis: &Analysis) -> String {
    let mut lines = model.rates_behind(&analysis.limits);
    lines.sort();
    lines.dedup();
    lines.iter().map(|line| wrapped(line)).collect()
}

/// The bounds as records: `model/zen-5/amm52_mb8_ifma?bits=1024`.
pub(super) fn records(
    selected: &SelectedMachine,
    name: &str,
    sizes: &[u32],
    host: &Host,
) -> Vec<Record> {
    let figures = Figures::new(host);
    let mut records = Vec::new();
    for kernel in named(name) {
        for &bits in sizes {
            let Some(call) = call(kernel, bits) else {
                continue;
            };
            let (machine, routine) = (selected.word.clone(), kernel.name.to_owned());
            let subject = Subject::new(Topic::Model { machine, routine });
            let subject = subject.and_then(|subject| subject.with(word::BITS, bits));
            let analysis = selected.model.kernel(kernel, call);
            if let (Some(analysis), Ok(subject)) = (analysis, subject) {
                let mut bound = analysis.bound;
                bound.cycles = bound.cycles * f64::from(call.numbers);
                let record = figures.bound(&subject, word::BOUND_CYCLES_PER_CALL, bound);
                let (by, from) =
                    (word::MODEL_RUNG.to_owned(), selected.model.rates_behind(&analysis.limits));
                records.extend(record.map(|record| Record {
                    kind: Kind::Predicted { by, from },
                    machine: selected.machine.clone(),
                    unit: Unit::Cycles,
                    ..record
                }));
            }
        }
    }
    records
}
