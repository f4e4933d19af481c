//! `tollgate model`: Montgomery products on described machines and on this one.

mod draw;
mod kernels;
mod measured;
mod paper;

use core::str::FromStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use tollgate_processor::machines::{FILES, File};
use tollgate_processor::{self as processor, Kernel, Limit, host as hosts, papers};
use tollgate_record::{Machine, Record, Timestamp};
use tollgate_report::grid::{Column, grid};
use tollgate_report::{WIDTH, heading, model as model_table};

use crate::error::CliError;
use crate::host::Host;
use crate::options::values::Written;
use crate::read;
use crate::run::Run;
use crate::verbs::kernel::bits;

#[derive(Args, Clone, Debug)]
pub(crate) struct Model {
    /// Sizes of moduli in bits (128 to 8192), separated by commas; 512..8192 is the range 512, 768,
    /// 1024, 1536, ...
    #[arg(long, value_name = "LIST", default_value = "512,1024,1536,2048")]
    pub(crate) bits: Sizes,

    #[command(flatten)]
    pub(crate) written: Written,

    /// Machine file, built-in machine (zen-5, neoverse-v2, itanium, ...) or host [default: host]
    #[arg(long, value_name = "FILE|NAME|host")]
    pub(crate) machine: Option<String>,

    /// Measure this machine's rates and write them as a machine file to FILE, replacing it
    #[arg(long, value_name = "FILE", conflicts_with = "machine")]
    pub(crate) calibrate: Option<PathBuf>,

    /// Kernel whose bound, limit, and rates that would lower the bound are printed; `all` prints a
    /// table of all kernels
    #[arg(long, value_name = "NAME", value_parser = kernel)]
    #[arg(conflicts_with_all = ["sensitivity", "what_if", "measured"])]
    pub(crate) kernel: Option<String>,

    /// Bounds of all kernels with one rate of the machine changed, such as `vpmadd52_zmm=1`
    #[arg(long, value_name = "FIELD=VALUE", conflicts_with_all = ["sensitivity", "measured"])]
    pub(crate) what_if: Option<Change>,

    /// Compare the bounds with the records of `tollgate kernel --json FILE`
    #[arg(long, value_name = "FILE", conflicts_with = "sensitivity")]
    pub(crate) measured: Option<PathBuf>,

    /// Also print the effect of each assumption on each figure
    #[arg(long)]
    pub(crate) sensitivity: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Sizes(pub(crate) Vec<u32>);

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut sizes = Vec::new();
        for part in text.split(',') {
            match part.split_once("..") {
                None => sizes.push(bits(part)?),
                Some((from, to)) => {
                    let (from, to) = (bits(from)?, bits(to)?);
                    if from > to {
                        return Err(
                            "a range is written from the smaller to the larger size".to_owned()
                        );
                    }
                    let doubles = (0..7).map(|times| from << times);
                    let all = doubles.flat_map(|size| [size, size + size / 2]);
                    sizes.extend(all.filter(|size| *size <= to));
                }
            }
        }
        Ok(Self(sizes))
    }
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
    if text == "all" || Kernel::of(text).is_some() {
        return Ok(text.to_owned());
    }
    let names: Vec<&str> = Kernel::ALL.iter().map(|kernel| kernel.name).collect();
    Err(format!("no such kernel; give all or one of {}", names.join(", ")))
}

pub(crate) fn run(options: &Model) -> Result<ExitCode, CliError> {
    let mut run = Run::new(options.written.json.as_deref())?;
    if let Some(file) = &options.calibrate {
        fs::write(file, run.host.model().to_toml()).map_err(CliError::at(file))?;
    }
    let sizes = &options.bits.0;
    if let Some(file) = &options.measured {
        let selected = SelectedMachine::of(options, &run.host)?;
        let records = crate::shelf::read(core::slice::from_ref(file))?;
        return run.end(&measured::table(&selected.model, &records)?);
    }
    if let Some(name) = &options.kernel {
        let selected = SelectedMachine::of(options, &run.host)?;
        run.output.records(&kernels::records(&selected, name, sizes, &run.host))?;
        return run.end(&kernels::report(&selected, name, sizes)?);
    }
    if let Some(change) = &options.what_if {
        return run.end(&kernels::what_if(
            &SelectedMachine::of(options, &run.host)?,
            change,
            sizes,
        )?);
    }
    let records = collect(options, &mut run)?;
    let mut text = heading::lines(&records) + &model_table::table(&records);
    text += &paper::tables();
    let selected = SelectedMachine::of(options, &run.host)?;
    text += &draw::of_paper();
    if options.machine.is_some() {
        text += &draw::schedule(&selected.model);
    }
    run.end(&text)
}

/// Returns the records of the papers' machines, of the papers' figures, and of the selected
/// machine.
pub(crate) fn collect(options: &Model, run: &mut Run) -> Result<Vec<Record>, CliError> {
    let Run { host, output, .. } = run;
    let now = Timestamp::now();
    let mut records = papers::records(now);
    if options.sensitivity {
        records.extend(papers::sensitivity(now));
    }
    let SelectedMachine { word, model, machine } = SelectedMachine::of(options, host)?;
    let ours = hosts::records(&word, &model, &machine, &options.bits.0, now);
    let with_commit = |record| Record { commit: host.context.commit.clone(), ..record };
    records.extend(ours.into_iter().map(with_commit));
    output.records(&records)?;
    Ok(records)
}

pub(super) struct SelectedMachine {
    /// Its name in record subjects.
    pub(super) word: String,
    pub(super) model: processor::Machine,
    pub(super) machine: Machine,
}

impl SelectedMachine {
    fn of(options: &Model, host: &Host) -> Result<Self, CliError> {
        let name = options.machine.as_deref().unwrap_or("host");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_contains_powers_of_two_and_one_and_a_half_times() {
        let sizes = |text: &str| text.parse::<Sizes>().map(|sizes| sizes.0);
        let all = [512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192];
        assert_eq!(sizes("512..8192").unwrap(), all);
        assert_eq!(sizes("1024,512..768").unwrap(), [1024, 512, 768]);
        assert!(sizes("8192..512").is_err() && sizes("1..2").is_err() && sizes("").is_err());
    }

    #[test]
    fn figures_are_right_aligned_and_lines_fit_the_width() {
        let row = |words: &str, figure: &str| vec![words.to_owned(), figure.to_owned()];
        let text = columns(&[row("who", "cycles"), row("itanium", "9")], 1..2);
        assert_eq!(text, "who      cycles\n---------------\nitanium       9\n");
        let wide = columns(&[row("x", "y"), row(&"z".repeat(200), "1")], 1..2);
        assert!(wide.lines().all(|line| line.len() <= WIDTH));
    }
}
