//! `tollgate speed`: RSA operations of Tollgate and of the libraries, in one run.

pub(crate) mod explained;
mod multi;
pub(crate) mod options;
pub(crate) mod pkeu;
pub(crate) mod queue;
pub(crate) mod rows;

use std::process::ExitCode;

use tollgate_bench::Series;
use tollgate_record::vocabulary as word;
use tollgate_record::{Record, Unit};
use tollgate_report::{context, pkeu as pkeu_table, speed as speed_table};

use crate::bounds::{self, Family};
use crate::contenders::Contender;
use crate::error::CliError;
use crate::figures::Figures;
use crate::host::Host;
use crate::measure::measure;
use crate::options::{Against, Speed, Table};
use crate::progress::Progress;
use crate::run::Run;
use crate::verbs::kernel;
use crate::verbs::speed::options::{Operations, SubVerb};
use crate::verbs::speed::rows::{Row, rows};

/// Default seconds for the whole table.
const TABLE_SECONDS: f64 = 60.0;

/// Default seconds for each row of `--multi`.
const MULTI_SECONDS: f64 = 4.0;

/// The share of a row's time for measuring the kernels that explain it.
const KERNEL_PART: f64 = 0.1;

pub(crate) fn run(options: &Speed) -> Result<ExitCode, CliError> {
    let options = match &options.verb {
        Some(SubVerb::Queue(options)) => return queue::run(options),
        Some(SubVerb::Pkeu(options)) => &options.operations(),
        None => &options.operations,
    };
    let json = options.written.json.as_deref();
    if let Some(threads) = options.multi {
        let seconds = options.seconds.unwrap_or(MULTI_SECONDS);
        let collect =
            |run: &mut Run, bar: &Progress| multi::collect(options, (threads, seconds), run, bar);
        return Run::of_verb(json, "speed", collect, multi::table);
    }
    let table = |records: &[Record]| table(options.table, records);
    Run::of_verb(json, "speed", |run, progress| collect(options, &[], run, progress), table)
}

/// The records of every row that the options select, and of the kernels that explain these rows.
/// Kernels in `known` are not measured again. After Ctrl-C, returns the records of the completed
/// rows.
pub(crate) fn collect(
    options: &Operations,
    known: &[Record],
    run: &mut Run,
    progress: &Progress,
) -> Result<Vec<Record>, CliError> {
    if options.lineup.against.contains(&Against::None) && options.lineup.against.len() > 1 {
        bail!("--against: none stands alone; drop it, or the others");
    }
    let rows: Vec<_> = rows(options)?.into_iter().map(|row| (row.label(), row)).collect();
    let count = u32::try_from(rows.len()).expect("few rows");
    let seconds = options.seconds.unwrap_or(TABLE_SECONDS / f64::from(count.max(1)));
    let mut records = match options.table {
        Some(Table::Pkeu) => pkeu::published(&Figures::new(&run.host))?,
        None => Vec::new(),
    };
    run.output.records(&records)?;
    let mut kernels = known.to_vec();
    let found = run.rows(progress, seconds * (1.0 + KERNEL_PART), rows, |run, label, row| {
        let mut contenders = row.lineup(&options.lineup, &mut run.notes)?;
        let explained = explaining(&row, &contenders, &kernels, seconds, run)?;
        let Some(mut found) = explained else { return Ok(None) };
        kernels.extend(found.iter().cloned());
        let part = |part| progress.part(part);
        let measured = measure(label, &mut contenders, seconds, &mut run.notes, part)?;
        let Some(series) = measured else { return Ok(None) };
        let figures = Figures::of_row(&run.host, seconds);
        found.extend(records_of(&row, &run.host, &figures, &kernels, &contenders, &series)?);
        Ok(Some(found))
    })?;
    records.extend(found);
    Ok(records)
}

fn table(table: Option<Table>, records: &[Record]) -> String {
    if table == Some(Table::Pkeu) {
        return pkeu_table::table(records);
    }
    let context = context::table(records);
    let gap = if context.is_empty() { "" } else { "\n" };
    speed_table::table(records) + gap + &context
}

/// Figures of the kernels that a row depends on and that are not in `known`.
fn explaining(
    row: &Row,
    contenders: &[Contender],
    known: &[Record],
    seconds: f64,
    run: &mut Run,
) -> Result<Option<Vec<Record>>, CliError> {
    let Row::Rsa(job) = row else { return Ok(Some(Vec::new())) };
    let kernels: Vec<Family> = contenders.iter().filter_map(|one| one.kernel).collect();
    let bits = bounds::modulus_bits(&job.key, job.what);
    kernel::missing(&kernels, bits, known, KERNEL_PART * seconds, run)
}

/// The records of a row: time, cycles and rate of each contender; for our contenders also the
/// bound, the explanation by the kernels, and ratios.
fn records_of(
    row: &Row,
    host: &Host,
    figures: &Figures<'_>,
    kernels: &[Record],
    contenders: &[Contender],
    series: &Series,
) -> Result<Vec<Record>, CliError> {
    let mut records = Vec::new();
    for (place, contender) in contenders.iter().enumerate() {
        let subject = &row.subject(contender)?;
        let figures = figures.with(contender.kernel.map(|kernel| (word::KERNEL, kernel.name())));
        if let Row::Rsa(job) = row {
            // Predicted figures precede measured ones: a table takes the last figure of a quantity.
            records.extend(explained::prediction(job, contender, subject, &figures, kernels)?);
        }
        let nanos = series.cpu_nanos(place);
        let measured = [
            (word::NS_PER_OPERATION, Unit::Nanos, Some(nanos)),
            (word::CYCLES_PER_OPERATION, Unit::Cycles, series.cycles(place)),
            (word::OPERATIONS_PER_S, Unit::PerSecond, Some(nanos.inverted(1e9)?)),
        ];
        for (quantity, unit, figure) in measured {
            records.extend(figure.map(|figure| figures.measured(subject, quantity, unit, figure)));
        }
        let (Row::Rsa(job), Some(kernel)) = (row, contender.kernel) else { continue };
        if let Some(bound) = bounds::of_operation(&host.model, kernel, &job.key, job.what) {
            records.push(figures.bound(subject, word::BOUND_CYCLES_PER_OPERATION, bound)?);
        }
        for (other, library) in contenders.iter().enumerate() {
            if library.kernel.is_none() {
                let subject = subject.with(word::AGAINST, library.by)?;
                let times = series.ratio(other, place);
                records.push(figures.measured(&subject, word::TIMES_AS_FAST, Unit::Ratio, times));
            }
        }
    }
    Ok(records)
}
