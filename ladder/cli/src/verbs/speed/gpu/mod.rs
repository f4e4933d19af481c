//! `tollgate speed --unit gpu`: batches of private operations on a GPU, beside one core of the
//! processor.

mod batches;
mod cores;
mod figures;
mod table;

use core::time::Duration;
use std::process::ExitCode;
use std::rc::Rc;

use tollgate_cuda::{Device, Gpu, Meter, Operations, Size};
use tollgate_record::{Estimate, Record};
use tollgate_report::heading;

use crate::contenders::Job;
use crate::error::CliError;
use crate::figures::Figures;
use crate::keys::{Key, KeyOperation};
use crate::measure::measure;
use crate::progress::{self, Progress};
use crate::run::Run;

use super::rows::Row;
use super::{Against, LineupOptions, Speed as Options, records_of};
use batches::Batches;

/// Default seconds for each size.
const SECONDS: f64 = 5.0;

/// The time for one core, as a share of that for the GPU.
const CORE_PART: f64 = 0.4;

/// Operations in a call that fills all lanes of a core.
#[allow(clippy::cast_possible_truncation, reason = "there are eight")]
const LANES: u32 = tollgate_mont::LANES as u32;

/// Batches at a time: the host prepares one while the GPU works on the other.
const OVERLAPPED: usize = 2;

/// A GPU, or in tests an emulation.
struct Unit {
    name: String,
    /// Each has memory and a stream of its own on the GPU.
    operations: [Operations; OVERLAPPED],
    meter: Option<Meter>,
}

/// The figures of a size of key.
struct Measured {
    size: Size,
    core: Core,
    batches: Batches,
}

/// Nanoseconds of one core for an operation.
#[derive(Clone, Copy)]
struct Core {
    openssl: Estimate,
    lanes: Estimate,
}

impl Unit {
    fn new(devices: [Box<dyn Device>; OVERLAPPED], meter: Option<Meter>) -> Self {
        let name = devices[0].name().to_owned();
        Self { name, operations: devices.map(|device| Operations::new(device, usize::MAX)), meter }
    }
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, CliError> {
    let sizes = sizes(&options.bits)?;
    let open = || Gpu::open().map_err(CliError::about("--unit gpu"));
    let mut unit = Unit::new([Box::new(open()?), Box::new(open()?)], Meter::open());
    let mut run = Run::measuring(options.written.json.as_deref())?;
    let seconds = options.seconds.unwrap_or(SECONDS);
    let (records, text) = collect(&mut unit, &sizes, seconds, &mut run)?;
    run.end(&(heading::lines(&records) + "\n" + &text))
}

fn sizes(bits: &[u32]) -> Result<Vec<Size>, CliError> {
    let known = || Size::ALL.map(|size| size.bits().to_string()).join(", ");
    let size = |bits: &u32| {
        let size = usize::try_from(*bits).ok().and_then(Size::of_bits);
        size.ok_or_else(|| error!("--bits {bits}: the GPU has kernels for {} bits", known()))
    };
    if bits.is_empty() { Ok(Size::ALL.to_vec()) } else { bits.iter().map(size).collect() }
}

/// Measures sizes of keys in turn, first on one core, then on the unit. Returns the records and the
/// tables; after Ctrl-C, those of the completed sizes.
fn collect(
    unit: &mut Unit,
    sizes: &[Size],
    seconds: f64,
    run: &mut Run,
) -> Result<(Vec<Record>, String), CliError> {
    let bar = Progress::new("speed");
    let rows = sizes.iter().map(|size| (format!("RSA-{}", size.bits()), *size)).collect();
    let mut all = Vec::new();
    let records = run.rows(seconds * (1.0 + CORE_PART), rows, |run, label, size| {
        let Some((core, mut records)) = one_core(run, label, size, CORE_PART * seconds)? else {
            return Ok(None);
        };
        let from = CORE_PART / (1.0 + CORE_PART);
        let progress = |part: f64| progress::part(from + (1.0 - from) * part);
        let time = Duration::from_secs_f64(seconds);
        let found =
            batches::measure(&mut unit.operations, unit.meter.as_ref(), size, time, progress)?;
        let Some(batches) = found else { return Ok(None) };
        let measured = Measured { size, core, batches };
        let figures = Figures::of_row(&run.host, seconds);
        records.extend(figures::records(unit, &measured, &figures)?);
        all.push(measured);
        Ok(Some(records))
    })?;
    drop(bar);
    Ok((records, table::text(unit, &all)))
}

/// Measures signatures on one core, as [`super::run`] does. `None` after Ctrl-C.
fn one_core(
    run: &mut Run,
    label: &str,
    size: Size,
    seconds: f64,
) -> Result<Option<(Core, Vec<Record>)>, CliError> {
    let key = Rc::new(Key::built_in(u32::try_from(size.bits())?)?);
    let row = Row::Rsa(Job::new(key, KeyOperation::Sign, LANES)?);
    let lineup = LineupOptions { against: vec![Against::Openssl], batch: LANES };
    let mut contenders = row.lineup(&lineup, &mut run.notes)?;
    let part = |part: f64| progress::part(CORE_PART / (1.0 + CORE_PART) * part);
    let Some(series) = measure(label, &mut contenders, seconds, &mut run.notes, part)? else {
        return Ok(None);
    };
    let figures = Figures::of_row(&run.host, seconds);
    let records = records_of(&row, &run.host, &figures, &[], &contenders, &series)?;
    let nanos = |is_library, batch| {
        let is_it = |contender: &crate::contenders::Contender| {
            contender.is_library() == is_library && contender.batch == batch
        };
        series.cpu_nanos(contenders.iter().position(is_it).expect("the lineup has it"))
    };
    let core = Core { openssl: nanos(true, None), lanes: nanos(false, Some(LANES)) };
    Ok(Some((core, records)))
}
