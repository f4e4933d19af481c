//! Kernels of this project on a machine: bound, limit, and what would move it.

use tollgate_processor::{Kernel, Lever, Machine, Weighed};
use tollgate_record::vocabulary as word;
use tollgate_record::{Kind, Record, Unit};
use tollgate_report::text::wrapped;

use super::chosen::Chosen;
use super::columns::{columns, figure};
use crate::bounds::call;
use crate::error::CliError;
use crate::figures::Figures;
use crate::host::Host;

/// The kernels of this name; `all` names every one.
fn named(name: &str) -> impl Iterator<Item = Kernel> {
    Kernel::ALL.into_iter().filter(move |kernel| name == "all" || kernel.name == name)
}

/// Bound against size, and what stands behind it.
///
/// # Errors
///
/// Nothing is known of what multiplies, or no size is one that the kernel takes.
pub(super) fn report(chosen: &Chosen, name: &str, sizes: &[u32]) -> Result<String, CliError> {
    let model = &chosen.model;
    let heads = ["kernel", "bits", "cycles", "limit", "algorithm", "next to it"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    let mut last = None;
    for kernel in named(name) {
        for &bits in sizes {
            let Some(call) = call(kernel, bits) else {
                continue;
            };
            let Some(weighed) = model.kernel(kernel, call) else {
                continue;
            };
            rows.push(vec![
                kernel.name.to_owned(),
                bits.to_string(),
                figure(weighed.bound.cycles.get()),
                weighed.bound.limit.word().to_owned(),
                kernel.algorithm(call).to_owned(),
                beside(&weighed),
            ]);
            last = Some((kernel, bits, call, weighed));
        }
    }
    let Some((kernel, bits, call, weighed)) = last else {
        let what = "nothing that it multiplies with has a known rate, or it takes none of the \
                    sizes; without --kernel there is a product of its own";
        return Err(CliError::new(format!("{name} on {}: {what}", model.name)));
    };
    let mut text = columns(&rows, 1..3);
    text += &wrapped(&format!(
        "{}: core cycles of one number of a call, the fewest that the limits allow: a bound, no \
         prediction; next to it: what the next of its limits asks for",
        model.name
    ));
    text += &left_out(&weighed);
    if name != "all" {
        let levers = model.levers(|machine| machine.kernel(kernel, call));
        text += &moves(kernel, bits, &weighed, &levers);
        text += &from(model, &weighed);
    }
    Ok(text)
}

/// The largest of the limits that do not bind.
fn beside(weighed: &Weighed) -> String {
    let others = weighed.limits.iter().filter(|alone| alone.limit != weighed.bound.limit);
    let next = others.max_by(|x, y| x.cycles.get().total_cmp(&y.cycles.get()));
    next.map(|next| format!("{} {}", next.limit, figure(next.cycles.get()))).unwrap_or_default()
}

/// What nobody knows, and whether the name of the bound depends on it.
fn left_out(weighed: &Weighed) -> String {
    let bound = weighed.bound.cycles;
    let words = weighed.left_out.iter().map(|left| {
        let name = left.limit.counted();
        match left.at_most {
            None => format!("{name} (unknown)"),
            Some(most) if most <= bound => format!("{name} (unknown, but it cannot bind)"),
            Some(most) => format!("{name} (unknown; up to {} cycles)", figure(most.get())),
        }
    });
    let words: Vec<String> = words.collect();
    if words.is_empty() {
        return String::new();
    }
    wrapped(&format!("not looked at, for the last row: {}", words.join(", ")))
}

/// What would move the bound.
fn moves(kernel: Kernel, bits: u32, weighed: &Weighed, levers: &[Lever]) -> String {
    let now = &weighed.bound;
    let mut text = wrapped(&format!("{} of {bits} bits: {now}. What moves it:", kernel.name));
    if levers.is_empty() {
        text += &wrapped("* no rate alone: two limits ask for the same");
    }
    for lever in levers {
        let name = lever.limit.counted();
        let what = match (lever.limit.is_in_cycles(), lever.now.value()) {
            (true, _) => format!("half of {name}"),
            (false, Some(1.0)) => format!("a second unit of {name}"),
            (false, _) => format!("twice as many {name} per cycle"),
        };
        let saved = 100.0 * (1.0 - lever.bound.cycles.get() / now.cycles.get());
        text += &wrapped(&format!(
            "* {what} would give {} cycles, {saved:.0} % fewer, then limited by {}",
            figure(lever.bound.cycles.get()),
            lever.bound.limit,
        ));
    }
    text
}

/// The numbers that the bound is made of, with their marks.
fn from(model: &Machine, weighed: &Weighed) -> String {
    let mut lines = model.rates_behind(&weighed.limits);
    lines.sort();
    lines.dedup();
    lines.iter().map(|line| wrapped(line)).collect()
}

/// The bounds as records: `model/zen-5/amm52_mb8_ifma?bits=1024`.
pub(super) fn records(chosen: &Chosen, name: &str, sizes: &[u32], host: &Host) -> Vec<Record> {
    let figures = Figures::new(host);
    let mut records = Vec::new();
    for kernel in named(name) {
        for &bits in sizes {
            let Some(call) = call(kernel, bits) else {
                continue;
            };
            let subject = format!("model/{}/{}?{}={bits}", chosen.word, kernel.name, word::BITS);
            let weighed = chosen.model.kernel(kernel, call);
            if let (Some(weighed), Ok(subject)) = (weighed, subject.parse()) {
                let mut bound = weighed.bound;
                bound.cycles = bound.cycles * f64::from(call.numbers);
                let record = figures.bound(&subject, word::BOUND_CYCLES_PER_CALL, bound);
                let (by, from) =
                    (word::MODEL_RUNG.to_owned(), chosen.model.rates_behind(&weighed.limits));
                records.extend(record.map(|record| Record {
                    kind: Kind::Predicted { by, from },
                    machine: chosen.machine.clone(),
                    unit: Unit::Cycles,
                    ..record
                }));
            }
        }
    }
    records
}
