//! `tollgate compare`: compares records of two or more runs, and of several machines.

pub(crate) mod platforms;

mod answer;
mod change;
mod drift;
mod pair;
mod side;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use tollgate_record::Record;

use crate::error::{CONDITION_HOLDS, CliError};
use crate::options::values::{Written, share};
use crate::output::Output;

pub(crate) use side::same_machine;

use answer::Answer;
use pair::{ComparedPair, Pairs};
use side::Side;

#[derive(Args, Clone, Debug)]
pub(crate) struct Compare {
    /// Assumed drift of the machine's speed between two runs, as a share, for figures without a
    /// yardstick (third-party code of the same version) in both files
    #[arg(long, value_name = "SHARE", default_value = "0.05", value_parser = share)]
    drift: f64,

    /// Conditions that end the run with exit code 3, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    fail_if: Vec<Failing>,

    /// Files of records, or folders with a file for each run; every later one is compared with the
    /// first
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    #[command(flatten)]
    written: Written,

    /// Texts, separated by commas, as in server/,tls13; only figures whose subject or quantity
    /// contains one of them are compared
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    only: Vec<String>,
}

/// Conditions of `--fail-if`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Failing {
    /// A figure is proven to be slower than on the first side.
    Slower,
    /// A figure is on one side only, or was measured under other conditions.
    Incomparable,
}

/// Compares and prints; the exit code is 3 if a condition of `--fail-if` holds.
pub(crate) fn run(options: &Compare) -> Result<ExitCode, CliError> {
    let wanted = |record: &Record| is_wanted(record, &options.only);
    let sides = options.files.iter().map(|path| Side::read(path, wanted));
    let sides = sides.collect::<Result<Vec<Side>, CliError>>()?;
    let Some((first, others)) = sides.split_first() else {
        bail!("give files of records, as --json makes them");
    };
    let mut output = Output::new(options.written.json.as_deref())?;
    let mut blocks = Vec::new();
    let mut failed = false;
    for other in others {
        let pairs = Pairs::of(first, other, options.drift);
        output.records(&pair::records(first, other, &pairs))?;
        failed |= options.fail_if.iter().any(|failing| match failing {
            Failing::Slower => pairs.count(|answer| *answer == Answer::Slower) > 0,
            Failing::Incomparable => pairs.incomparable() > 0,
        });
        // Records of two machines appear only in the table of platforms. The figures that only one
        // of them has are then of interest only as a condition.
        let is_condition = options.fail_if.contains(&Failing::Incomparable);
        let any = |wanted: fn(&ComparedPair<'_>) -> bool| pairs.pairs.iter().any(wanted);
        let is_of_machines = any(|pair| matches!(pair, ComparedPair::OtherMachine));
        let is_changed = any(|pair| matches!(pair, ComparedPair::Changed { .. }));
        let is_apart = any(|pair| matches!(pair, ComparedPair::Incomparable { .. }));
        if is_changed || is_apart && (is_condition || !is_of_machines) {
            blocks.push(table::text(first, other, &pairs, options.drift));
        }
    }
    let published = ["hp01", "eti10"].map(tollgate_published::records_of).concat();
    let measured = sides.iter().flat_map(Side::last);
    blocks.extend(platforms::text(measured, &published));
    if blocks.is_empty() {
        bail!(
            "nothing to compare: give records of two runs or of two machines, or of \
                   RSA-1024 with RSA key exchange, which are compared with published results"
        );
    }
    output.text(&blocks.join("\n"))?;
    Ok(if failed { ExitCode::from(CONDITION_HOLDS) } else { ExitCode::SUCCESS })
}

/// Returns whether subject or quantity contains one of the texts; true if there are no texts.
fn is_wanted(record: &Record, only: &[String]) -> bool {
    let name = format!("{} {}", record.subject, record.quantity);
    only.is_empty() || only.iter().any(|text| name.contains(text.as_str()))
}

#[cfg(test)]
pub(crate) mod tests {
    use tollgate_record::{Estimate, Kind, Machine, Timestamp, Unit};

    use super::side::Figure;
    use super::*;

    pub(super) fn figure(subject: &str, quantity: &str, unit: Unit) -> Figure {
        Figure { subject: subject.parse().unwrap(), quantity: quantity.parse().unwrap(), unit }
    }

    /// Returns a rate with an interval of 1 % to each side and nine samples.
    pub(crate) fn record(subject: &str, point: f64) -> Record {
        let estimate = match point {
            0.0 => Estimate::exact(0.0).unwrap(),
            _ => Estimate::new(point, (0.99 * point, 1.01 * point), 9).unwrap(),
        };
        let figure = ("sessions_per_s".parse().unwrap(), Unit::PerSecond, estimate);
        let machine = Machine::unknown("Some Processor 9000");
        let record = Record::new(subject.parse().unwrap(), figure, Kind::Measured, machine);
        Record { taken_at: Timestamp::UNIX_EPOCH, ..record }
    }

    pub(super) fn at(record: Record, minute: i64) -> Record {
        Record { taken_at: Timestamp::from_second(60 * minute).unwrap(), ..record }
    }
}
