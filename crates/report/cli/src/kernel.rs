//! `tollgate kernel`: Montgomery products and squares of every kernel that this machine can run.

use std::process::ExitCode;

use tollgate_ladder::{heading, kernel as kernel_table, text};
use tollgate_mont::{BlockKernel, Kernel as _, LaneKernel, LimbKernel};
use tollgate_record::vocabulary as word;
use tollgate_record::{Record, Subject, Unit};

use crate::bounds::Family;
use crate::chain::{self, CALLS, Call};
use crate::contenders::Contender;
use crate::figures::Figures;
use crate::host::Host;
use crate::interrupt;
use crate::measure::{Notes, measure};
use crate::options::Kernel as Options;
use crate::output::Output;
use crate::progress::Progress;
use crate::stop::Stop;

/// Seconds for each size unless told.
const SECONDS: f64 = 2.0;

/// A kernel and what is asked of it.
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
pub(crate) fn run(options: &Options) -> Result<ExitCode, Stop> {
    let mut output = Output::new(options.json.as_deref())?;
    let seconds = options.seconds.unwrap_or(SECONDS);
    let host = Host::this();
    let figures = Figures::new(&host).with([
        ("seconds_per_row".to_owned(), seconds.to_string()),
        (
            "calls".to_owned(),
            format!("chains of {CALLS}, each call on the result of the one before"),
        ),
    ]);
    let kernels = kernels();
    let (mut records, mut notes) = (Vec::new(), Notes::default());
    host.notes().for_each(|note| notes.add(note));
    let progress = Progress::new(options.bits.len());
    for (number, bits) in options.bits.iter().enumerate() {
        let label = format!("{bits} bits");
        progress.row(number, &label);
        let kernels: Vec<&Asked> =
            kernels.iter().filter(|asked| asked.kernel.does(*bits)).collect();
        let mut contenders: Vec<Contender> =
            kernels.iter().map(|asked| contender(**asked, *bits)).collect();
        let Some(round) =
            measure(&label, &mut contenders, seconds, |part| progress.part(number, part))?
        else {
            break; // Ctrl-C: this size is not whole
        };
        notes.warn(&label, round.warnings());
        for (place, asked) in kernels.iter().enumerate() {
            let found = records_of(**asked, *bits, &host, &figures, round.cycles(place))?;
            output.records(&found)?;
            records.extend(found);
        }
    }
    drop(progress);
    // By kernel, then by size: sizes are what one reads down a column.
    records.sort_by_key(|record: &Record| {
        let name = record.subject.segments().nth(1);
        kernels.iter().position(|asked| Some(asked.name) == name)
    });
    let mut report = heading::lines(&records)
        + "
" + &kernel_table::table(&records);
    let notes = notes.texts();
    if !notes.is_empty() {
        report += "\n";
        report.extend(notes.iter().map(|note| text::wrapped(note)));
    }
    output.text(&report)?;
    Ok(interrupt::exit_code())
}

/// Every kernel's product, and its square where that is another one.
fn kernels() -> Vec<Asked> {
    let both = |kernel: Family, product: &'static str, square: &'static str| {
        let product = Asked { kernel, call: Call::Product, name: product };
        let square = Asked { kernel, call: Call::Square, name: square };
        [product].into_iter().chain((square.name != product.name).then_some(square))
    };
    let lanes = LaneKernel::all();
    let blocks = BlockKernel::all();
    let mut limbs = LimbKernel::all();
    limbs.retain(|kernel| !matches!(kernel, LimbKernel::Blocks(_))); // on limbs they are others
    let lanes = lanes.iter().flat_map(|k| both(Family::Lanes(*k), k.name(), k.square_name()));
    let limbs = limbs.iter().flat_map(|k| both(Family::Limbs(*k), k.name(), k.square_name()));
    let blocks = blocks.iter().flat_map(|k| both(Family::Blocks(*k), k.name(), k.square_name()));
    lanes.chain(blocks).chain(limbs).collect()
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
) -> Result<Vec<Record>, Stop> {
    let Some(cycles) = cycles else {
        return Err(Stop::new("core cycles cannot be told on this machine: no time stamp counter"));
    };
    let (form, k) = (asked.kernel.form(), asked.kernel.words(bits));
    let numbers = asked.kernel.numbers(bits);
    let subject: Subject = format!("kernel/{}?{}={k}&{}={bits}", asked.name, word::K, word::BITS)
        .parse()
        .map_err(Stop::from_error)?;
    let figures = figures.with([
        (word::KERNEL.to_owned(), asked.name.to_owned()),
        ("lanes".to_owned(), numbers.to_string()),
    ]);
    let per_lane = cycles.scaled(1.0 / f64::from(numbers)).map_err(Stop::from_error)?;
    let mut records = vec![
        figures.measured(&subject, word::CYCLES_PER_CALL, Unit::Cycles, cycles),
        figures.measured(&subject, word::CYCLES_PER_LANE, Unit::Cycles, per_lane),
    ];
    let count = match asked.call {
        Call::Product => form.product(k),
        Call::Square => form.square(k),
    };
    let count = count * (numbers / form.lanes());
    if let Some(bound) = host.model.bound(form, count) {
        records.push(figures.bound(&subject, word::BOUND_CYCLES_PER_CALL, bound)?);
    }
    Ok(records)
}
