//! `tollgate simulate`: runs programs on simulated processors, whose instructions need not exist in
//! hardware.

pub(crate) mod options;

mod designs;
mod drawing;
mod exponentiations;
mod products;
mod program;
mod records;
mod rv64;
mod study;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use tollgate_record::{Machine, Record};
use tollgate_simulator::Timing;

use crate::error::CliError;
use crate::options::Simulate as Options;
use crate::progress::Progress;
use crate::run::Run;
use crate::verbs::simulate::options::SubVerb;

/// Runs a program, or the study.
pub(crate) fn run(options: &Options) -> Result<ExitCode, CliError> {
    match &options.verb {
        SubVerb::Run(options) => program::run(options),
        SubVerb::Study(options) => study::run(options),
    }
}

/// The records of the study's headline, for the report.
pub(crate) fn collect(run: &mut Run, progress: &Progress) -> Result<Vec<Record>, CliError> {
    study::headline(&Core::leon2(), run, progress)
}

/// A simulated core.
struct Core {
    /// Its name in subjects.
    word: String,
    timing: Timing,
}

impl Core {
    /// The default core.
    fn leon2() -> Self {
        Self { word: "leon-2".to_owned(), timing: Timing::leon2() }
    }

    /// The core of a timing file, or LEON-2.
    fn of(file: Option<&Path>) -> Result<Self, CliError> {
        let Some(file) = file else { return Ok(Self::leon2()) };
        let text = fs::read_to_string(file).map_err(CliError::at(file))?;
        let wrong = CliError::about(file.display());
        let timing = Timing::from_toml(&text).map_err(wrong)?;
        Ok(Self { word: Machine::unknown(&timing.name).slug(), timing })
    }

    /// Returns whether its timing is the built-in one.
    fn is_leon2(&self) -> bool {
        self.timing == Timing::leon2()
    }
}

/// A number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
