//! `tollgate kernel variants`: textbook algorithms for products and exponentiations, side by side.

mod products;
mod windows;

use std::process::ExitCode;

use tollgate_mont::Shape;
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Quantity, Record, Subject, Timestamp, Topic, Unit};
use tollgate_report::{heading, variants as tables};
use tollgate_variants::Unroll;

use crate::contenders::Contender;
use crate::error::CliError;
use crate::figures::Figures;
use crate::measure::measure;
use crate::progress::Progress;
use crate::run::Run;
use crate::verbs::kernel::options::Variants as Options;
use crate::verbs::kernel::symbols::Symbols;
use products::products;
use windows::windows;

/// The unroll factor of squares and exponentiations.
const UNROLL: Unroll = Unroll::Four;

/// The largest modulus for exponentiations: a series of larger ones would be too short.
const EXPONENT_BITS_MAX: u32 = 2048;

/// The largest modulus: larger ones take more time than the study needs.
const BITS_MAX: u32 = 4096;

/// The contenders of one row of the measurement.
#[derive(Clone, Copy)]
enum Row {
    /// Products and squares.
    Products(u32),
    /// Exponentiations by windows with exponents as long as the modulus.
    Windows(u32),
}

/// A contender and the data of its records.
struct Entry {
    subject: Subject,
    quantity: Quantity,
    contender: Contender,
    /// Exact figures for the same subject.
    exact: Vec<(Quantity, Unit, usize, Kind)>,
}

/// Measures and prints.
///
/// # Errors
///
/// Nothing can be measured, or a result is wrong.
pub(crate) fn run(options: &Options) -> Result<ExitCode, CliError> {
    if let Some(bits) = options.bits.iter().find(|bits| **bits > BITS_MAX) {
        return Err(CliError::new(format!("--bits {bits}: variants go up to {BITS_MAX} bits")));
    }
    let mut run = Run::measuring(options.written.json.as_deref())?;
    let progress = Progress::new("kernel");
    let records = collect(options, &mut run, &progress)?;
    drop(progress);
    run.end(&(heading::lines(&records) + "\n" + &tables::table(&records)))
}

/// Published figures, and the records of every row; after Ctrl-C those of the completed rows.
fn collect(options: &Options, run: &mut Run, progress: &Progress) -> Result<Vec<Record>, CliError> {
    let seconds = options.seconds;
    let products = options.bits.iter().copied().map(Row::Products);
    let exponents = options.bits.iter().copied().filter(|bits| *bits <= EXPONENT_BITS_MAX);
    let rows: Vec<Row> = products.chain(exponents.map(Row::Windows)).collect();
    let limbs = options.bits.iter().map(|bits| Shape::limbs(size(*bits)).k());
    let mut records = tables::published(Timestamp::now(), &limbs.collect::<Vec<_>>());
    run.output.records(&records)?;
    let symbols = Symbols::of_this_program();
    if symbols.is_none() {
        run.notes.add("bytes of code are unknown: this program has no table of symbols".to_owned());
    }
    progress.plan(rows.len(), seconds);
    for (number, row) in rows.into_iter().enumerate() {
        progress.row(number, &row.label());
        let found = row.measure(seconds, run, symbols.as_ref(), |part| progress.part(part));
        let Some(found) = found? else {
            break; // Ctrl-C: this row is incomplete
        };
        run.output.records(&found)?;
        records.extend(found);
    }
    Ok(records)
}

impl Row {
    fn label(self) -> String {
        match self {
            Self::Products(bits) => format!("products, {bits} bits"),
            Self::Windows(bits) => format!("windows, {bits} bits"),
        }
    }

    /// Measures the row and returns its records; `None` after Ctrl-C.
    fn measure(
        self,
        seconds: f64,
        run: &mut Run,
        symbols: Option<&Symbols>,
        progress: impl FnMut(f64),
    ) -> Result<Option<Vec<Record>>, CliError> {
        let entries = match self {
            Self::Products(bits) => products(bits, symbols)?,
            Self::Windows(bits) => windows(bits)?,
        };
        let mut records = Vec::new();
        let figures =
            Figures::new(&run.host).with([(word::SECONDS_PER_ROW.to_owned(), seconds.to_string())]);
        let (mut contenders, mut of_entries) = (Vec::new(), Vec::new());
        for Entry { subject, quantity, contender, exact } in entries {
            contenders.push(contender);
            of_entries.push((subject, quantity, exact));
        }
        let Some(round) = measure(&self.label(), &mut contenders, seconds, progress)? else {
            return Ok(None);
        };
        run.notes.warn(&self.label(), round.warnings());
        for (place, (subject, quantity, exact)) in of_entries.into_iter().enumerate() {
            let Some(cycles) = round.cycles(place) else {
                return Err(CliError::new(
                    "core cycles cannot be told on this machine: no time stamp counter",
                ));
            };
            records.push(figures.measured(&subject, quantity, Unit::Cycles, cycles));
            for (quantity, unit, figure, kind) in exact {
                let figure = f64::from(u32::try_from(figure).map_err(CliError::from_error)?);
                let estimate = Estimate::exact(figure).map_err(CliError::from_error)?;
                let record = figures.measured(&subject, quantity, unit, estimate);
                records.push(Record { kind, ..record });
            }
        }
        Ok(Some(records))
    }
}

/// A subject with numeric parameters.
fn subject(topic: Topic, parameters: &[(&str, u32)]) -> Result<Subject, CliError> {
    let bare = Subject::new(topic).map_err(CliError::from_error)?;
    parameters
        .iter()
        .try_fold(bare, |subject, (key, value)| subject.with(key, value))
        .map_err(CliError::from_error)
}

fn size(bits: u32) -> usize {
    usize::try_from(bits).expect("at most 8192")
}

fn count(number: usize) -> Result<u32, CliError> {
    u32::try_from(number).map_err(CliError::from_error)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn everybody_gives_the_right_result_again_and_again() {
        for bits in [128, 192, 512] {
            for mut entry in products(bits, None).unwrap().into_iter().chain(windows(bits).unwrap())
            {
                for _ in 0..2 {
                    (entry.contender.run)().unwrap();
                }
            }
        }
    }
}
