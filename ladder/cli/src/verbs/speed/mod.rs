//! `tollgate speed`: RSA operations of Tollgate and of the libraries, in one run.

pub(crate) mod explained;
mod multi;
pub(crate) mod options;
pub(crate) mod pkeu;
pub(crate) mod queue;
pub(crate) mod rows;

use std::process::ExitCode;

use tollgate_record::vocabulary as word;
use tollgate_record::{Record, Subject, Unit};
use tollgate_report::{context, heading, pkeu as pkeu_table, speed as speed_table};

use crate::bounds::{self, Family};
use crate::contenders::Contender;
use crate::error::CliError;
use crate::figures::Figures;
use crate::host::Host;
use crate::measure::{Notes, Round, measure};
use crate::options::{Against, Speed, Table};
use crate::progress::Progress;
use crate::run::Run;
use crate::verbs::kernel;
use crate::verbs::speed::options::{Operations, What};
use crate::verbs::speed::rows::{Row, rows};

/// Default seconds for the whole table.
const TABLE_SECONDS: f64 = 60.0;

/// Default seconds for each row of `--multi`.
const MULTI_SECONDS: f64 = 4.0;

/// The share of a row's time for the kernels that explain it.
const KERNEL_PART: f64 = 0.1;

/// Measures and prints.
///
/// # Errors
///
/// Nothing can be measured, or a result is wrong.
pub(crate) fn run(options: &Speed) -> Result<ExitCode, CliError> {
    let options = match &options.what {
        Some(What::Queue(options)) => return queue::run(options),
        Some(What::Pkeu(options)) => &options.operations(),
        None => &options.operations,
    };
    let mut run = Run::measuring(options.written.json.as_deref())?;
    let progress = Progress::new("speed");
    if let Some(threads) = options.multi {
        let seconds = options.seconds.unwrap_or(MULTI_SECONDS);
        let records = multi::collect(options, (threads, seconds), &mut run, &progress)?;
        drop(progress);
        return run.end(&(heading::lines(&records) + "\n" + &multi::table(&records)));
    }
    let records = collect(options, &[], &mut run, &progress)?;
    drop(progress);
    run.end(&report(options.table, &records))
}

/// The records of every row that the options select, and of the kernels that explain them if
/// `known` lacks these; after Ctrl-C those of the completed rows.
///
/// # Errors
///
/// Nothing can be measured, or a result is wrong.
pub(crate) fn collect(
    options: &Operations,
    known: &[Record],
    run: &mut Run,
    progress: &Progress,
) -> Result<Vec<Record>, CliError> {
    let Run { host, output, notes } = run;
    if options.lineup.against.contains(&Against::None) && options.lineup.against.len() > 1 {
        return Err(CliError::new("--against: none stands alone; drop it, or the others"));
    }
    let rows = rows(options)?;
    let count = u32::try_from(rows.len()).expect("few rows");
    let seconds = options.seconds.unwrap_or(TABLE_SECONDS / f64::from(count.max(1)));
    let figures = Figures::new(host).with([("seconds_per_row".to_owned(), seconds.to_string())]);
    let mut records = match options.table {
        Some(Table::Pkeu) => pkeu::published(&figures)?,
        None => Vec::new(),
    };
    output.records(&records)?;
    let mut kernels = known.to_vec();
    progress.plan(rows.len(), seconds * (1.0 + KERNEL_PART));
    for (number, row) in rows.iter().enumerate() {
        let label = row.label();
        progress.row(number, &label);
        let lineup = row.lineup(options.lineup.batch, &options.lineup.against)?;
        lineup.absent.into_iter().for_each(|why| notes.add(why));
        let (mut subjects, mut what) = (Vec::new(), Vec::new());
        for contender in lineup.contenders {
            subjects.push(row.subject(&contender)?);
            what.push(contender);
        }
        let Some(mut found) = explaining(row, &what, &kernels, seconds, host, notes)? else {
            break; // Ctrl-C: this row is incomplete
        };
        kernels.extend(found.iter().cloned());
        let Some(round) = measure(&label, &mut what, seconds, |part| progress.part(part))? else {
            break;
        };
        notes.warn(&label, round.warnings());
        found.extend(records_of(row, host, &figures, &kernels, (&what, &subjects), &round)?);
        output.records(&found)?;
        records.extend(found);
    }
    Ok(records)
}

fn report(table: Option<Table>, records: &[Record]) -> String {
    let mut report = heading::lines(records) + "\n";
    match table {
        Some(Table::Pkeu) => report += &pkeu_table::table(records),
        None => {
            report += &speed_table::table(records);
            let context = context::table(records);
            if !context.is_empty() {
                report += "\n";
                report += &context;
            }
        }
    }
    report
}

/// Figures of the kernels that a row depends on and that are not in `known`.
fn explaining(
    row: &Row,
    contenders: &[Contender],
    known: &[Record],
    seconds: f64,
    host: &Host,
    notes: &mut Notes,
) -> Result<Option<Vec<Record>>, CliError> {
    let Row::Rsa(job) = row else {
        return Ok(Some(Vec::new()));
    };
    let kernels: Vec<Family> = contenders.iter().filter_map(|one| one.kernel).collect();
    let bits = bounds::modulus_bits(&job.key, job.what);
    kernel::missing(&kernels, bits, known, KERNEL_PART * seconds, host, notes)
}

/// The records of a row: time, cycles and rate of each contender; for ours also bound, explanation
/// by the kernels, and ratios.
fn records_of(
    row: &Row,
    host: &Host,
    figures: &Figures<'_>,
    kernels: &[Record],
    (contenders, subjects): (&[Contender], &[Subject]),
    round: &Round,
) -> Result<Vec<Record>, CliError> {
    let mut records = Vec::new();
    for (place, (contender, subject)) in contenders.iter().zip(subjects).enumerate() {
        let kernel =
            contender.kernel.map(|kernel| (word::KERNEL.to_owned(), kernel.name().to_owned()));
        let figures = figures.with(kernel);
        if let Row::Rsa(job) = row {
            // Predicted figures precede measured ones: a table takes the last figure of a quantity.
            let explained = explained::prediction(job, contender, subject, &figures, kernels)?;
            records.extend(explained);
        }
        let nanos = round.nanos(place);
        let rate = nanos.inverted(1e9).map_err(CliError::from_error)?;
        records.push(figures.measured(subject, word::NS_PER_OPERATION, Unit::Nanos, nanos));
        if let Some(cycles) = round.cycles(place) {
            records.push(figures.measured(
                subject,
                word::CYCLES_PER_OPERATION,
                Unit::Cycles,
                cycles,
            ));
        }
        records.push(figures.measured(subject, word::OPERATIONS_PER_S, Unit::PerSecond, rate));
        let (Row::Rsa(job), Some(kernel)) = (row, contender.kernel) else {
            continue;
        };
        if let Some(bound) = bounds::of_operation(&host.model, kernel, &job.key, job.what) {
            records.push(figures.bound(subject, word::BOUND_CYCLES_PER_OPERATION, bound)?);
        }
        for (other, library) in contenders.iter().enumerate() {
            if library.kernel.is_none() {
                let subject =
                    subject.with(word::AGAINST, library.by).map_err(CliError::from_error)?;
                let times = round.times_as_fast(place, other);
                records.push(figures.measured(&subject, word::TIMES_AS_FAST, Unit::Ratio, times));
            }
        }
    }
    Ok(records)
}
