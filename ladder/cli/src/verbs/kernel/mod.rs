//! `tollgate kernel`: Montgomery products and squares of every kernel that this machine supports.

pub(crate) mod chain;
pub(crate) mod options;
pub(crate) mod plan;
pub(crate) mod symbols;
pub(crate) mod variants;

use std::process::ExitCode;

use tollgate_mont::{BlockKernel, LaneKernel, LimbKernel};
use tollgate_record::vocabulary as word;
use tollgate_record::{Kind, Record, Subject, Topic, Unit};
use tollgate_report::{heading, kernel as kernel_table};

use crate::bounds::{self, Family};
use crate::contenders::Contender;
use crate::error::CliError;
use crate::figures::Figures;
use crate::host::Host;
use crate::measure::{Notes, measure};
use crate::progress::Progress;
use crate::run::Run;
use crate::verbs::kernel::chain::{CALLS, Call};
use crate::verbs::kernel::options::{Kernel, Table, What};

/// A kernel and the call to measure.
#[derive(Clone, Copy)]
struct Asked {
    kernel: Family,
    call: Call,
    name: &'static str,
}

/// Measures and prints.
///
/// # Errors
///
/// Nothing can be measured, or a result is wrong.
pub(crate) fn run(options: &Kernel) -> Result<ExitCode, CliError> {
    let options = match &options.what {
        Some(What::Plan(options)) => return plan::run(options),
        Some(What::Variants(options)) => return variants::run(options),
        None => &options.table,
    };
    let mut run = Run::measuring(options.written.json.as_deref())?;
    let progress = Progress::new("kernel");
    let mut records = collect(options, &mut run, &progress)?;
    drop(progress);
    // Sort by kernel, then by size, so that the sizes of a kernel are next to each other.
    let kernels = kernels();
    records.sort_by_key(|record: &Record| {
        let name = record.subject.topic().kernel();
        kernels.iter().position(|asked| Some(asked.name) == name)
    });
    let heading = heading::lines(&records) + "\n";
    run.end(&(heading + &kernel_table::table(&records)))
}

/// The records of every kernel, by size and then by kernel; after Ctrl-C those of the completed
/// sizes.
///
/// # Errors
///
/// Nothing can be measured, or a result is wrong.
pub(crate) fn collect(
    options: &Table,
    run: &mut Run,
    progress: &Progress,
) -> Result<Vec<Record>, CliError> {
    let Run { host, output, notes } = run;
    let seconds = options.seconds;
    let kernels = kernels();
    let mut records = Vec::new();
    progress.plan(options.bits.len(), seconds);
    for (number, bits) in options.bits.iter().enumerate() {
        progress.row(number, &label(*bits));
        let found = at_size(&kernels, *bits, seconds, host, notes, |part| progress.part(part))?;
        let Some(found) = found else {
            break; // Ctrl-C: this size is incomplete
        };
        output.records(&found)?;
        records.extend(found);
    }
    Ok(records)
}

/// Measures these kernels at one size, except for those in `known`, and returns the records; `None`
/// after Ctrl-C.
///
/// # Errors
///
/// A result is wrong.
pub(crate) fn missing(
    kernels: &[Family],
    bits: u32,
    known: &[Record],
    seconds: f64,
    host: &Host,
    notes: &mut Notes,
) -> Result<Option<Vec<Record>>, CliError> {
    let mut asked = Vec::new();
    for call in kernels.iter().copied().flat_map(calls_of) {
        let subject = subject(call.kernel, call.name, bits)?;
        if cycles_per_call(known, &subject).is_none() {
            asked.push(call);
        }
    }
    // Without cycles these figures could not explain anything.
    if asked.is_empty() || host.machine.core_clock_hz.is_none() {
        return Ok(Some(Vec::new()));
    }
    at_size(&asked, bits, seconds, host, notes, |_| {})
}

/// The measured cycles of a call.
pub(crate) fn cycles_per_call<'a>(records: &'a [Record], subject: &Subject) -> Option<&'a Record> {
    records.iter().find(|record| {
        record.subject == *subject
            && record.quantity == word::CYCLES_PER_CALL
            && record.kind == Kind::Measured
    })
}

/// `kernel/amm64_mulx?K=16&bits=1024`.
///
/// # Errors
///
/// None; the names are valid.
pub(crate) fn subject(kernel: Family, name: &str, bits: u32) -> Result<Subject, CliError> {
    let k = kernel.words(bits);
    let subject = Subject::new(Topic::Kernel(name.to_owned()));
    let subject = subject.and_then(|subject| subject.with(word::K, k)?.with(word::BITS, bits));
    subject.map_err(CliError::from_error)
}

fn label(bits: u32) -> String {
    format!("{bits} bits")
}

/// The records of these kernels at one size; `None` after Ctrl-C.
fn at_size(
    kernels: &[Asked],
    bits: u32,
    seconds: f64,
    host: &Host,
    notes: &mut Notes,
    progress: impl FnMut(f64),
) -> Result<Option<Vec<Record>>, CliError> {
    let figures = Figures::new(host).with([
        ("seconds_per_row".to_owned(), seconds.to_string()),
        (
            "calls".to_owned(),
            format!("chains of {CALLS}, each call on the result of the one before"),
        ),
    ]);
    let kernels: Vec<&Asked> = kernels.iter().filter(|asked| asked.kernel.does(bits)).collect();
    let mut contenders: Vec<Contender> =
        kernels.iter().map(|asked| contender(**asked, bits)).collect();
    let Some(round) = measure(&label(bits), &mut contenders, seconds, progress)? else {
        return Ok(None);
    };
    notes.warn(&label(bits), round.warnings());
    let of_kernel = |(place, asked): (usize, &&Asked)| {
        records_of(**asked, bits, host, &figures, round.cycles(place))
    };
    let found: Result<Vec<_>, CliError> = kernels.iter().enumerate().map(of_kernel).collect();
    Ok(Some(found?.concat()))
}

/// Every kernel of this machine.
fn kernels() -> Vec<Asked> {
    let lanes = LaneKernel::all().into_iter().map(Family::Lanes);
    let blocks = BlockKernel::all().into_iter().map(Family::Blocks);
    let limbs = LimbKernel::all().into_iter();
    // On limbs, lane blocks use the same code as the other kernels.
    let limbs = limbs.filter(|kernel| !matches!(kernel, LimbKernel::Blocks(_))).map(Family::Limbs);
    lanes.chain(blocks).chain(limbs).flat_map(calls_of).collect()
}

/// A kernel's product, and its square if that is a separate function.
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

/// Cycles per call and per lane, and the bound, of one kernel at one size.
fn records_of(
    asked: Asked,
    bits: u32,
    host: &Host,
    figures: &Figures<'_>,
    cycles: Option<tollgate_record::Estimate>,
) -> Result<Vec<Record>, CliError> {
    let Some(cycles) = cycles else {
        return Err(CliError::new(
            "core cycles cannot be told on this machine: no time stamp counter",
        ));
    };
    let subject = subject(asked.kernel, asked.name, bits)?;
    let numbers = asked.kernel.numbers(bits);
    let figures = figures.with([
        (word::KERNEL.to_owned(), asked.name.to_owned()),
        ("lanes".to_owned(), numbers.to_string()),
    ]);
    let per_lane = cycles.scaled(1.0 / f64::from(numbers)).map_err(CliError::from_error)?;
    let mut records = vec![
        figures.measured(&subject, word::CYCLES_PER_CALL, Unit::Cycles, cycles),
        figures.measured(&subject, word::CYCLES_PER_LANE, Unit::Cycles, per_lane),
    ];
    if let Some(bound) = bounds::of_call(&host.model, asked.name, bits) {
        records.push(figures.bound(&subject, word::BOUND_CYCLES_PER_CALL, bound)?);
    }
    Ok(records)
}
