//! `tollgate kernel`: Montgomery products and squares of every kernel that this machine supports.

pub(crate) mod chain;
pub(crate) mod model;
pub(crate) mod plan;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use tollgate_mont::{BlockKernel, LaneKernel, LimbKernel};
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Record, Subject, Topic, Unit};
use tollgate_report::kernel as kernel_table;

use crate::bounds::{self, Family};
use crate::contenders::Contender;
use crate::error::CliError;
use crate::figures::{self, Figures};
use crate::host::Host;
use crate::measure::{cycles, measure};
use crate::options::values::{Written, seconds};
use crate::progress;
use crate::run::Run;

use chain::{CALLS, Call};
use model::Model;

#[derive(Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Kernel {
    #[command(flatten)]
    pub(crate) table: Table,

    #[command(subcommand)]
    pub(crate) verb: Option<SubVerb>,
}

/// Other tables of the kernels.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum SubVerb {
    /// Measure how batches of 1 to 16 requests are best split into calls, and compare with the
    /// built-in plan
    Plan(PlanOptions),
    /// Compute the bounds of the kernels on this processor or on a described one
    Model(Model),
}

/// The table of all kernels.
#[derive(Args, Clone, Debug)]
pub(crate) struct Table {
    /// Sizes of moduli in bits, separated by commas, each 128 to 8192
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "512,1024,1536,2048")]
    #[arg(value_parser = bits)]
    pub(crate) bits: Vec<u32>,

    #[command(flatten)]
    pub(crate) written: Written,

    /// Seconds for each size
    #[arg(short = 'z', long, value_name = "S", default_value = "2", value_parser = seconds)]
    pub(crate) seconds: f64,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct PlanOptions {
    /// Sizes of keys in bits, separated by commas: 512, 1024, 2048, 3072, 4096, 8192
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1024,2048,3072,4096")]
    #[arg(value_parser = bits)]
    pub(crate) bits: Vec<u32>,

    #[command(flatten)]
    pub(crate) written: Written,

    /// Seconds for each size and operation
    #[arg(short = 'z', long, value_name = "S", default_value = "3", value_parser = seconds)]
    pub(crate) seconds: f64,
}

pub(crate) fn bits(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(bits @ 128..=8192) => Ok(bits),
        _ => Err("give sizes of 128 to 8192 bits".to_owned()),
    }
}

#[derive(Clone, Copy)]
struct Asked {
    kernel: Family,
    call: Call,
    name: &'static str,
}

pub(crate) fn run(options: &Kernel) -> Result<ExitCode, CliError> {
    let options = match &options.verb {
        Some(SubVerb::Plan(options)) => return plan::run(options),
        Some(SubVerb::Model(options)) => return model::run(options),
        None => &options.table,
    };
    let sorted = |run: &mut Run| {
        let mut records = collect(options, run)?;
        // Sort by kernel, then by size, so that the sizes of a kernel are next to each other.
        let kernels = kernels();
        records.sort_by_key(|record: &Record| {
            let name = record.subject.topic().kernel();
            kernels.iter().position(|asked| Some(asked.name) == name)
        });
        Ok(records)
    };
    Run::of_verb(options.written.json.as_deref(), "kernel", sorted, kernel_table::table)
}

/// Returns the records of every kernel, by size and then by kernel. After Ctrl-C, returns the
/// records of the completed sizes.
pub(crate) fn collect(options: &Table, run: &mut Run) -> Result<Vec<Record>, CliError> {
    let (seconds, kernels) = (options.seconds, kernels());
    let sizes = options.bits.iter().map(|bits| (label(*bits), *bits)).collect();
    run.rows(seconds, sizes, |run, _, bits| at_size(&kernels, bits, seconds, run, progress::part))
}

/// Measures these kernels at one size, except for those in `known`, and returns the records; `None`
/// after Ctrl-C.
pub(crate) fn missing(
    kernels: &[Family],
    bits: u32,
    known: &[Record],
    seconds: f64,
    run: &mut Run,
) -> Result<Option<Vec<Record>>, CliError> {
    let mut asked = Vec::new();
    for call in kernels.iter().copied().flat_map(calls_of) {
        let subject = subject(call.kernel, call.name, bits)?;
        if cycles_per_call(known, &subject).is_none() {
            asked.push(call);
        }
    }
    // Without cycles these figures could not explain the operations.
    if asked.is_empty() || run.host.context.machine.core_clock_hz.is_none() {
        return Ok(Some(Vec::new()));
    }
    at_size(&asked, bits, seconds, run, |_| {})
}

pub(crate) fn cycles_per_call<'a>(records: &'a [Record], subject: &Subject) -> Option<&'a Record> {
    records.iter().find(|record| {
        record.subject == *subject
            && record.quantity == word::CYCLES_PER_CALL
            && record.kind == Kind::Measured
    })
}

/// `kernel/amm64_mulx?K=16&bits=1024`.
pub(crate) fn subject(kernel: Family, name: &str, bits: u32) -> Result<Subject, CliError> {
    let parameters = [(word::K, kernel.words(bits)), (word::BITS, bits)];
    figures::subject(Topic::Kernel(name.to_owned()), parameters)
}

fn label(bits: u32) -> String {
    format!("{bits} bits")
}

/// Returns the records of these kernels at one size; `None` after Ctrl-C.
fn at_size(
    kernels: &[Asked],
    bits: u32,
    seconds: f64,
    run: &mut Run,
    progress: impl FnMut(f64),
) -> Result<Option<Vec<Record>>, CliError> {
    let chains = format!("chains of {CALLS}, each call on the result of the one before");
    let figures = Figures::of_row(&run.host, seconds).with([("calls", chains)]);
    let kernels: Vec<Asked> =
        kernels.iter().copied().filter(|asked| asked.kernel.does(bits)).collect();
    let mut contenders: Vec<Contender> =
        kernels.iter().map(|asked| contender(*asked, bits)).collect();
    let measured = measure(&label(bits), &mut contenders, seconds, &mut run.notes, progress)?;
    let Some(series) = measured else { return Ok(None) };
    let mut records = Vec::new();
    for (place, asked) in kernels.into_iter().enumerate() {
        records.extend(records_of(asked, bits, &run.host, &figures, cycles(&series, place)?)?);
    }
    Ok(Some(records))
}

fn kernels() -> Vec<Asked> {
    let lanes = LaneKernel::all().into_iter().map(Family::Lanes);
    let blocks = BlockKernel::all().into_iter().map(Family::Blocks);
    let limbs = LimbKernel::all().into_iter();
    // Blocks on limbs use the same code as the limb kernels.
    let limbs = limbs.filter(|kernel| !matches!(kernel, LimbKernel::Blocks(_))).map(Family::Limbs);
    lanes.chain(blocks).chain(limbs).flat_map(calls_of).collect()
}

/// Returns a kernel's product, and its square if that is a separate function.
fn calls_of(kernel: Family) -> Vec<Asked> {
    let product = Asked { kernel, call: Call::Product, name: kernel.name() };
    let square = Asked { kernel, call: Call::Square, name: kernel.square_name() };
    if square.name == product.name { vec![product] } else { vec![product, square] }
}

fn contender(asked: Asked, bits: u32) -> Contender {
    let run = match asked.kernel {
        Family::Blocks(kernel) => chain::blocks(kernel, asked.call, bits),
        Family::Lanes(kernel) => chain::lanes(kernel, asked.call, bits),
        Family::Limbs(kernel) => chain::limbs(kernel, asked.call, bits),
    };
    Contender { by: asked.name, batch: Some(CALLS), kernel: Some(asked.kernel), run }
}

/// Returns cycles per call and per lane, and the bound, of one kernel at one size.
fn records_of(
    asked: Asked,
    bits: u32,
    host: &Host,
    figures: &Figures<'_>,
    cycles: Estimate,
) -> Result<Vec<Record>, CliError> {
    let subject = subject(asked.kernel, asked.name, bits)?;
    let numbers = asked.kernel.numbers(bits);
    let figures = figures.with([(word::KERNEL, asked.name)]).with([(word::LANES, numbers)]);
    let mut records = vec![
        figures.measured(&subject, word::CYCLES_PER_CALL, Unit::Cycles, cycles),
        figures.measured(
            &subject,
            word::CYCLES_PER_LANE,
            Unit::Cycles,
            cycles.scaled(1.0 / f64::from(numbers))?,
        ),
    ];
    if let Some(bound) = bounds::of_call(host.model(), asked.name, bits) {
        records.push(figures.bound(&subject, word::BOUND_CYCLES_PER_CALL, bound)?);
    }
    Ok(records)
}
