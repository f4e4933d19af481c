//! `tollgate speed`: RSA operations, ours beside the libraries', in one run.

use std::process::ExitCode;

use tollgate_ladder::{context, heading, pkeu as pkeu_table, speed as speed_table, text};
use tollgate_record::vocabulary as word;
use tollgate_record::{Record, Subject, Unit};

use crate::bounds;
use crate::contenders::Contender;
use crate::figures::Figures;
use crate::host::Host;
use crate::interrupt;
use crate::measure::{Notes, Round, measure};
use crate::options::{Against, Speed, Table};
use crate::output::Output;
use crate::pkeu;
use crate::progress::Progress;
use crate::rows::{Row, rows};
use crate::stop::Stop;

/// Seconds for the whole table unless told.
const TABLE_SECONDS: f64 = 60.0;

/// Measures and prints.
///
/// # Errors
///
/// Nothing can be measured, or a result is wrong.
pub(crate) fn run(options: &Speed) -> Result<ExitCode, Stop> {
    if options.against.contains(&Against::None) && options.against.len() > 1 {
        return Err(Stop::new("--against: none stands alone; drop it, or the others"));
    }
    let rows = rows(options)?;
    let mut output = Output::new(options.json.as_deref())?;
    let count = u32::try_from(rows.len()).expect("few rows");
    let seconds = options.seconds.unwrap_or(TABLE_SECONDS / f64::from(count.max(1)));
    let host = Host::this();
    let figures = Figures::new(&host).with([("seconds_per_row".to_owned(), seconds.to_string())]);

    let mut records = match options.table {
        Some(Table::Pkeu) => pkeu::published(&figures)?,
        None => Vec::new(),
    };
    output.records(&records)?;
    let mut notes = Notes::default();
    host.notes().for_each(|note| notes.add(note));
    let progress = Progress::new(rows.len());
    for (number, row) in rows.iter().enumerate() {
        progress.row(number, &row.path());
        let lineup = row.lineup(options.batch, &options.against)?;
        lineup.absent.into_iter().for_each(|why| notes.add(why));
        let (mut subjects, mut what) = (Vec::new(), Vec::new());
        for contender in lineup.contenders {
            subjects.push(row.subject(&contender)?);
            what.push(contender);
        }
        let Some(round) =
            measure(&row.path(), &mut what, seconds, |part| progress.part(number, part))?
        else {
            break; // Ctrl-C: this row is not whole
        };
        notes.warn(&row.path(), round.warnings());
        let found = records_of(row, &host, &figures, (&what, &subjects), &round)?;
        output.records(&found)?;
        records.extend(found);
    }
    drop(progress);
    output.text(&report(options.table, &records, &notes))?;
    Ok(interrupt::exit_code())
}

fn report(table: Option<Table>, records: &[Record], notes: &Notes) -> String {
    let mut report = heading::lines(records);
    report += "\n";
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
    let notes = notes.texts();
    if !notes.is_empty() {
        report += "
";
        report.extend(notes.iter().map(|note| text::wrapped(note)));
    }
    report
}

/// The records of a row: time, cycles and rate of each contender; bound and ratios of ours.
fn records_of(
    row: &Row,
    host: &Host,
    figures: &Figures<'_>,
    (contenders, subjects): (&[Contender], &[Subject]),
    round: &Round,
) -> Result<Vec<Record>, Stop> {
    let mut records = Vec::new();
    for (place, (contender, subject)) in contenders.iter().zip(subjects).enumerate() {
        let kernel =
            contender.kernel.map(|kernel| (word::KERNEL.to_owned(), kernel.name().to_owned()));
        let figures = figures.with(kernel);
        let nanos = round.nanos(place);
        let rate = nanos.inverted(1e9).map_err(Stop::from_error)?;
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
                let subject = subject.with(word::AGAINST, library.by).map_err(Stop::from_error)?;
                let times = round.times_as_fast(place, other);
                records.push(figures.measured(&subject, word::TIMES_AS_FAST, Unit::Ratio, times));
            }
        }
    }
    Ok(records)
}
