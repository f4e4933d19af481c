//! `tollgate fleet signers`: how many signers many front ends need, and how long an answer takes.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use tollgate_fleet::forecast::Basis;
use tollgate_fleet::simulation::{Simulator, Steady};
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Key, Operation, Record, Subject, Timestamp, Topic, Unit};
use tollgate_report::grid::{Column, grid};
use tollgate_report::heading;
use tollgate_report::text::wrapped;

use super::positive;
use crate::cells::rate;
use crate::error::CliError;
use crate::options::values::{Written, within};
use crate::run::Run;
use crate::shelf;
use crate::verbs::bench::times::short;

/// Requests of a core, as shares of its capacity with full batches.
const LOADS: [f64; 6] = [0.1, 0.3, 0.5, 0.7, 0.8, 0.9];
/// The operations in a batch of the engine.
const LANES: u32 = 8;

const COLUMNS: [Column; 7] = [
    Column::figures("load", 5),
    Column::figures("cores", 6),
    Column::figures("signers", 7),
    Column::figures("batch", 5),
    Column::figures("busy", 5),
    Column::figures("p50", 7),
    Column::figures("p99", 7),
];

#[derive(Args, Clone, Debug)]
pub(crate) struct Signers {
    /// Cores of a signer [default: those of this machine]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub(crate) cores_per_machine: Option<u32>,

    /// Files of records with operations of engine tollgate (`tollgate speed --json`)
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Number of front ends
    #[arg(long, value_name = "N", default_value = "10000")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub(crate) front_ends: u32,

    /// Round trip between front end and signer in microseconds
    #[arg(long, value_name = "X", default_value = "100")]
    #[arg(value_parser = within(0.0..=1e9, "give a number from 0 to 10^9"))]
    pub(crate) network_us: f64,

    /// Full handshakes of a front end per second
    #[arg(long, value_name = "X", default_value = "1", value_parser = positive)]
    pub(crate) handshakes_per_s: f64,

    /// CPU time of the signer for a request, beside the operation, in microseconds
    #[arg(long, value_name = "X", default_value = "20")]
    #[arg(value_parser = within(0.0..=1e6, "give a number from 0 to 1000000"))]
    pub(crate) work_us: f64,

    #[command(flatten)]
    pub(crate) written: Written,
}

/// The measured times of a key's signatures.
struct Measured<'a> {
    key: Key,
    alone: &'a Record,
    in_batch: &'a Record,
}

pub(super) fn run(options: &Signers) -> Result<ExitCode, CliError> {
    let known = shelf::read(&options.files)?;
    let measured = measured(&known);
    if measured.is_empty() {
        bail!(
            "no signature of engine tollgate, alone and in batches of {LANES}: give the records of \
             tollgate speed --json, or of tollgate ladder"
        );
    }
    let mut run = Run::new(options.written.json.as_deref())?;
    let cores = options.cores_per_machine.or(run.host.context.machine.logical_cores).unwrap_or(1);
    let per_s = options.handshakes_per_s * f64::from(options.front_ends);
    let shown: Vec<Record> =
        measured.iter().flat_map(|of| [of.alone, of.in_batch]).cloned().collect();
    let mut text = heading::lines(&shown);
    for of in &measured {
        let core = core(of, options.work_us)?;
        let mut rows = Vec::new();
        for load in LOADS {
            let point = Point::new(options, &core, load, (per_s, cores))?;
            run.output.records(&point.records(of, &run, load)?)?;
            rows.push(point.cells(load));
        }
        let title = format!(
            "{}, {} front ends: {} operations per second; a core makes {}, {} in batches of \
             {LANES}",
            of.key.to_string().to_ascii_uppercase(),
            options.front_ends,
            rate(per_s),
            rate(1e9 / of.alone.estimate.point()),
            rate(1e9 / of.in_batch.estimate.point()),
        );
        text += &format!("\n{}{}", wrapped(&title), grid(&COLUMNS, rows));
    }
    text += &wrapped(&format!(
        "load: requests, divided by those of full batches; signers: of {cores} cores; batch: mean \
         number of operations; busy: share of the time; p50, p99: simulated response times of \
         random requests, with {} µs of network; {} µs of other work for each request",
        options.network_us, options.work_us,
    ));
    run.end(&text)
}

/// Returns the times of each key that has both, in the order of the records.
fn measured(known: &[Record]) -> Vec<Measured<'_>> {
    let of = |subject: &Subject, batch: Option<&str>| {
        let is = |record: &&Record| {
            record.quantity == word::NS_PER_OPERATION
                && record.subject.topic() == subject.topic()
                && record.subject.parameter(word::BY) == Some("tollgate")
                && record.subject.parameter(word::BATCH) == batch
                && record.subject.parameter(word::AGAINST).is_none()
        };
        known.iter().rev().find(is)
    };
    let mut found: Vec<Measured<'_>> = Vec::new();
    for record in known {
        let Topic::Operation { key, operation: Operation::Sign } = record.subject.topic() else {
            continue;
        };
        let both = (of(&record.subject, None), of(&record.subject, Some("8")));
        if let (Some(alone), Some(in_batch)) = both
            && found.iter().all(|known| known.key != *key)
        {
            found.push(Measured { key: key.clone(), alone, in_batch });
        }
    }
    found
}

/// Returns a core of a signer. The engine runs operations one by one as long as this is faster than
/// a batch.
fn core(of: &Measured<'_>, work_us: f64) -> Result<Simulator, CliError> {
    let alone = of.alone.estimate.point();
    let full = f64::from(LANES) * of.in_batch.estimate.point();
    let batch_ns: Vec<f64> =
        (1..=LANES).map(|count| (alone * f64::from(count)).min(full)).collect();
    Ok(Simulator::batching(1e3 * work_us, &batch_ns)?)
}

/// Signers at a load.
struct Point {
    cores: f64,
    signers: f64,
    steady: Steady,
    p50_ns: f64,
    p99_ns: f64,
}

impl Point {
    fn new(
        options: &Signers,
        core: &Simulator,
        load: f64,
        (per_s, cores_of_signer): (f64, u32),
    ) -> Result<Self, CliError> {
        let network_ns = 1e3 * options.network_us;
        let of_core = load * core.capacity_per_s();
        let cores = (per_s / of_core).ceil();
        let steady = core.steady(of_core)?;
        Ok(Self {
            cores,
            signers: (cores / f64::from(cores_of_signer)).ceil(),
            p50_ns: steady.quantile_ns(0.5) + network_ns,
            p99_ns: steady.quantile_ns(0.99) + network_ns,
            steady,
        })
    }

    fn cells(&self, load: f64) -> Vec<String> {
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        let time = |ns: f64| short(whole(ns));
        vec![
            percent(load),
            format!("{:.0}", self.cores),
            format!("{:.0}", self.signers),
            format!("{:.1}", self.steady.operations_per_batch),
            percent(self.steady.busy),
            time(self.p50_ns),
            time(self.p99_ns),
        ]
    }

    fn records(&self, of: &Measured<'_>, run: &Run, load: f64) -> Result<Vec<Record>, CliError> {
        let commit = run.host.context.commit.clone();
        let basis = Basis::of(of.alone, commit, Timestamp::now())?.and(of.in_batch)?;
        let basis = basis.with(word::LOAD, load)?;
        let figures = [
            (word::WHOLE_CORES, Unit::Count, self.cores),
            (word::OPERATIONS_PER_BATCH, Unit::Ratio, self.steady.operations_per_batch),
            (word::RESPONSE_NS_P50, Unit::Nanos, self.p50_ns),
            (word::RESPONSE_NS_P99, Unit::Nanos, self.p99_ns),
        ];
        let record =
            |(quantity, unit, value)| Ok(basis.record(quantity, unit, Estimate::exact(value)?));
        figures.into_iter().map(record).collect()
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time of a run")]
fn whole(ns: f64) -> u64 {
    ns.round() as u64
}
