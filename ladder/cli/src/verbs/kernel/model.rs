//! `tollgate kernel model`: the bounds of the kernels on this processor or on a described one.

use core::str::FromStr;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use tollgate_processor::machines::{FILES, File};
use tollgate_processor::{
    self as processor, Analysis, Bound, Call, Kernel, Limit, Rate, host as hosts,
};
use tollgate_record::vocabulary as word;
use tollgate_record::{Kind, Machine, Record, Timestamp, Topic};
use tollgate_report::WIDTH;
use tollgate_report::grid::{Column, grid};
use tollgate_report::text::wrapped;

use super::bits;
use crate::bounds::call;
use crate::error::CliError;
use crate::figures::{Figures, subject};
use crate::host::Host;
use crate::options::values::{OutputFile, Written};
use crate::read;
use crate::run::Run;

/// Sizes of the moduli of the ladder's lowest rung, in bits.
const SIZES: [u32; 4] = [512, 1024, 1536, 2048];

#[derive(Args, Clone, Debug)]
pub(crate) struct Model {
    /// Sizes of moduli in bits, separated by commas, each 128 to 8192
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "512,1024,1536,2048")]
    #[arg(value_parser = bits)]
    pub(crate) bits: Vec<u32>,

    /// Measure this machine's rates and write them as a machine file to FILE, replacing it
    #[arg(long, value_name = "FILE", conflicts_with = "machine")]
    pub(crate) calibrate: Option<OutputFile>,

    #[command(flatten)]
    pub(crate) written: Written,

    /// Machine file, built-in machine (zen-5, neoverse-v2, ...) or host
    #[arg(long, value_name = "FILE|NAME|host", default_value = "host")]
    pub(crate) machine: String,

    /// Kernel whose bound, limit and rates are printed
    #[arg(long, value_name = "NAME|all", value_parser = kernel, default_value = "all")]
    pub(crate) kernel: String,

    /// Bounds of all kernels with one rate of the machine changed, such as `vpmadd52_zmm=1`
    #[arg(long, value_name = "FIELD=VALUE", conflicts_with = "kernel")]
    pub(crate) what_if: Option<Change>,
}

#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) limit: Limit,
    pub(crate) value: f64,
}

impl FromStr for Change {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names: Vec<&str> = Limit::ALL.iter().map(|limit| limit.key()).collect();
        let (field, value) =
            text.split_once('=').ok_or("give FIELD=VALUE, such as vpmadd52_zmm=1")?;
        let limit = Limit::from_key(field.trim())
            .ok_or_else(|| format!("no such field; give one of {}", names.join(", ")))?;
        let value = value.trim().parse().map_err(|_| "the value must be a number".to_owned())?;
        Ok(Self { limit, value })
    }
}

fn kernel(text: &str) -> Result<String, String> {
    if text == "all" || Kernel::new(text).is_some() {
        return Ok(text.to_owned());
    }
    let names: Vec<&str> = Kernel::ALL.iter().map(|kernel| kernel.name).collect();
    Err(format!("no such kernel; give all or one of {}", names.join(", ")))
}

pub(crate) fn run(options: &Model) -> Result<ExitCode, CliError> {
    let mut run = Run::new(options.written.json.as_deref())?;
    if let Some(file) = options.calibrate.as_deref() {
        fs::write(file, run.host.model().to_toml()).map_err(CliError::at(file))?;
    }
    let (selected, sizes) = (SelectedMachine::new(&options.machine, &run.host)?, &options.bits);
    if let Some(change) = &options.what_if {
        return run.end(&what_if(&selected, change, sizes)?);
    }
    run.output.records(&records(&selected, &options.kernel, sizes, &run.host))?;
    let SelectedMachine { word, model, machine } = &selected;
    if model.routines.is_empty() {
        return run.end(&report(&selected, &options.kernel, sizes)?);
    }
    // a processor with another instruction set has a routine of its own, and perhaps no kernel
    let products = hosts::records(word, model, machine, sizes, Timestamp::now());
    run.output.records(&products)?;
    let text: String = products.iter().map(own_product).collect();
    run.end(&(text + &report(&selected, &options.kernel, sizes).unwrap_or_default()))
}

/// Returns the bound of a product by the machine's own routine, with its limit.
fn own_product(record: &Record) -> String {
    let of = |key| record.conditions.get(key).map_or("", String::as_str);
    let bits = record.subject.parameter(word::BITS).unwrap_or_default();
    let cycles = figure(record.estimate.point());
    wrapped(&format!(
        "{}: a product of {bits} bits takes {cycles} cycles, limited by {}: {}",
        record.machine.cpu,
        of(word::LIMIT),
        of(word::ASSUMPTION),
    ))
}

/// Returns the bounds of a product on this machine, for the ladder's lowest rung.
pub(crate) fn collect(run: &mut Run) -> Result<Vec<Record>, CliError> {
    let Run { host, output, .. } = run;
    let SelectedMachine { word, model, machine } = SelectedMachine::new("host", host)?;
    let mut records = hosts::records(&word, &model, &machine, &SIZES, Timestamp::now());
    for record in &mut records {
        record.commit.clone_from(&host.context.commit);
    }
    output.records(&records)?;
    Ok(records)
}

struct SelectedMachine {
    /// Its name in record subjects.
    word: String,
    model: processor::Machine,
    machine: Machine,
}

impl SelectedMachine {
    fn new(name: &str, host: &Host) -> Result<Self, CliError> {
        if name == "host" {
            let (model, machine) = (host.model().clone(), host.context.machine.clone());
            return Ok(Self { word: name.to_owned(), model, machine });
        }
        if let Some(file) = File::named(name) {
            return Ok(Self::described(name.to_owned(), file.machine()));
        }
        if !Path::new(name).exists() && !name.contains(['/', '.']) {
            let names = FILES.map(|file| file.name).join(", ");
            bail!("{name}: no such file or built-in machine; give host or one of {names}");
        }
        let text = read::text(Path::new(name))?;
        let model = processor::Machine::from_toml(&text).map_err(CliError::about(name))?;
        Ok(Self::described(Machine::unknown(&model.name).slug(), model))
    }

    fn described(word: String, model: processor::Machine) -> Self {
        let machine = Machine::unknown(&model.name);
        Self { word, model, machine }
    }
}

/// Formats rows, the first of which is the heading. Each column is as wide as its widest cell; the
/// columns `figures` are right-aligned, the others left-aligned. Lines that are longer than the
/// common width are cut.
fn columns(rows: &[Vec<String>], figures: core::ops::Range<usize>) -> String {
    let Some((headings, body)) = rows.split_first() else { return String::new() };
    let column = |(place, heading): (usize, &String)| {
        let cells = rows.iter().filter_map(|row| row.get(place));
        let width = cells.map(|cell| cell.chars().count()).max().unwrap_or(0).min(WIDTH);
        let is_figures = figures.contains(&place);
        let column = if is_figures { Column::figures } else { Column::words };
        column("", width).headed(heading.clone())
    };
    let columns: Vec<Column> = headings.iter().enumerate().map(column).collect();
    let cut = |line: &str| line.chars().take(WIDTH).collect::<String>().trim_end().to_owned();
    grid(&columns, body.to_vec()).lines().map(|line| cut(line) + "\n").collect()
}

/// Returns a figure with three digits; thousands with a k.
fn figure(value: f64) -> String {
    match value {
        v if v >= 1e4 => format!("{:.1}k", v / 1e3),
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// Returns the calls of the kernel with this name at these sizes. The name `all` means every
/// kernel.
fn calls(name: &str, sizes: &[u32]) -> impl Iterator<Item = (Kernel, u32, Call)> {
    let named = move |kernel: &Kernel| name == "all" || kernel.name == name;
    let at_sizes = move |kernel| {
        sizes.iter().filter_map(move |&bits| Some((kernel, bits, call(kernel, bits)?)))
    };
    Kernel::ALL.into_iter().filter(named).flat_map(at_sizes)
}

/// Returns the table of bounds by size, with limits. For a single kernel, the rates behind the last
/// row follow.
fn report(selected: &SelectedMachine, name: &str, sizes: &[u32]) -> Result<String, CliError> {
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
        last = Some(analysis);
    }
    let Some(analysis) = last else {
        let what = "no multiplier has a known rate, or the kernel supports none of the sizes";
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
        text += "rates:\n";
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

/// Returns the rates behind the bound, with their marks.
fn from(model: &processor::Machine, analysis: &Analysis) -> String {
    let mut lines = model.rates_behind(&analysis.limits);
    lines.sort();
    lines.dedup();
    lines.iter().map(|line| wrapped(line)).collect()
}

/// Returns the bounds as records: `model/zen-5/amm52_mb8_ifma?bits=1024`.
fn records(selected: &SelectedMachine, name: &str, sizes: &[u32], host: &Host) -> Vec<Record> {
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
fn what_if(selected: &SelectedMachine, change: &Change, sizes: &[u32]) -> Result<String, CliError> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_right_aligned_and_lines_fit_the_width() {
        let row = |words: &str, figure: &str| vec![words.to_owned(), figure.to_owned()];
        let text = columns(&[row("who", "cycles"), row("itanium", "9")], 1..2);
        assert_eq!(text, "who      cycles\n---------------\nitanium       9\n");
        let wide = columns(&[row("x", "y"), row(&"z".repeat(200), "1")], 1..2);
        assert!(wide.lines().all(|line| line.len() <= WIDTH));
    }
}
