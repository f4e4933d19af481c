//! Kernels of this project on a machine: bound, limit, and rates that would lower the bound.

use tollgate_processor::{Analysis, Bound, Call, Improvement, Kernel, Machine, Rate};
use tollgate_record::vocabulary as word;
use tollgate_record::{Kind, Record, Topic};
use tollgate_report::text::wrapped;

use super::{Change, SelectedMachine, columns, figure};
use crate::bounds::call;
use crate::error::CliError;
use crate::figures::{Figures, subject};
use crate::host::Host;

/// Returns the calls of the kernel with this name at these sizes. The name `all` means every
/// kernel.
fn calls(name: &str, sizes: &[u32]) -> impl Iterator<Item = (Kernel, u32, Call)> {
    let named = move |kernel: &Kernel| name == "all" || kernel.name == name;
    let at_sizes = move |kernel| {
        sizes.iter().filter_map(move |&bits| Some((kernel, bits, call(kernel, bits)?)))
    };
    Kernel::ALL.into_iter().filter(named).flat_map(at_sizes)
}

/// Returns the table of bounds by size, with limits. For a single kernel, the rates that would
/// lower the bound follow.
pub(super) fn report(
    selected: &SelectedMachine,
    name: &str,
    sizes: &[u32],
) -> Result<String, CliError> {
    let model = &selected.model;
    let heads = ["kernel", "bits", "cycles", "limit", "algorithm", "next limit"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    let mut last = None;
    for (kernel, bits, call) in calls(name, sizes) {
        let Some(analysis) = model.kernel(kernel, call) else { continue };
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
    let Some((kernel, bits, call, analysis)) = last else {
        let what = "no multiplier has a known rate, or the kernel supports none of the sizes; omit \
                    --kernel for the machine's own product";
        bail!("{name} on {}: {what}", model.name);
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

/// Returns the largest of the limits that do not determine the bound.
fn next_limit(analysis: &Analysis) -> String {
    let others = analysis.limits.iter().filter(|alone| alone.limit != analysis.bound.limit);
    let next = others.max_by(|x, y| x.cycles.get().total_cmp(&y.cycles.get()));
    next.map(|next| format!("{} {}", next.limit, figure(next.cycles.get()))).unwrap_or_default()
}

/// Returns the unknown limits, if one of them could be larger than the bound.
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

/// Returns the rates behind the bound, with their marks.
fn from(model: &Machine, analysis: &Analysis) -> String {
    let mut lines = model.rates_behind(&analysis.limits);
    lines.sort();
    lines.dedup();
    lines.iter().map(|line| wrapped(line)).collect()
}

/// Returns the bounds as records: `model/zen-5/amm52_mb8_ifma?bits=1024`.
pub(super) fn records(
    selected: &SelectedMachine,
    name: &str,
    sizes: &[u32],
    host: &Host,
) -> Vec<Record> {
    let figures = Figures::new(host);
    let record = |(kernel, bits, call): (Kernel, u32, Call)| {
        let analysis = selected.model.kernel(kernel, call)?;
        let (machine, routine) = (selected.word.clone(), kernel.name.to_owned());
        let subject = subject(Topic::Model { machine, routine }, [(word::BITS, bits)]).ok()?;
        let cycles = analysis.bound.cycles * f64::from(call.numbers);
        let bound = Bound { cycles, ..analysis.bound };
        let record = figures.bound(&subject, word::BOUND_CYCLES_PER_CALL, bound).ok()?;
        let from = selected.model.rates_behind(&analysis.limits);
        let kind = Kind::Predicted { by: word::MODEL_RUNG.to_owned(), from };
        Some(Record { kind, machine: selected.machine.clone(), ..record })
    };
    calls(name, sizes).filter_map(record).collect()
}

/// Returns the table of all kernels before and after the change.
pub(super) fn what_if(
    selected: &SelectedMachine,
    change: &Change,
    sizes: &[u32],
) -> Result<String, CliError> {
    let model = &selected.model;
    let (limit, name) = (change.limit, change.limit.key());
    let wrong = |error| error!("--what-if {name}={}: {error}", change.value);
    let then = model.changed(limit, change.value).map_err(wrong)?;
    let heads = ["kernel", "bits", "now", "then", "change", "limit now", "limit then"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    for (kernel, bits, call) in calls("all", sizes) {
        let (now, then) = (model.kernel(kernel, call), then.kernel(kernel, call));
        let cycles = |analysis: &Option<Analysis>| {
            analysis.as_ref().map(|analysis| analysis.bound.cycles.get())
        };
        let limit = |analysis: &Option<Analysis>| {
            analysis.as_ref().map_or("-", |analysis| analysis.bound.limit.word()).to_owned()
        };
        let (before, after) = (cycles(&now), cycles(&then));
        if after.is_none() {
            continue;
        }
        let share = before.zip(after).map(|(now, then)| 100.0 * (then / now - 1.0));
        let change = match share {
            Some(share) if share.abs() < 0.05 => "stays".to_owned(),
            Some(share) => format!("{share:+.1} %"),
            None => "-".to_owned(),
        };
        let shown = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), figure);
        rows.push(vec![
            kernel.name.to_owned(),
            bits.to_string(),
            shown(before),
            shown(after),
            change,
            limit(&now),
            limit(&then),
        ]);
    }
    if rows.len() == 1 {
        bail!("{}: no kernel has a bound on this machine", model.name);
    }
    let was = model.rates.get(&limit).map_or_else(|| Rate::unknown().to_string(), Rate::to_string);
    let about = format!("{}: {name} = {} in place of {was}", model.name, change.value);
    let notes = "lower bounds in core cycles for one number of a call";
    Ok(wrapped(&about) + &columns(&rows, 1..5) + &wrapped(notes))
}
