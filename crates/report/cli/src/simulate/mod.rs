//! `tollgate simulate`: programs on processors that nobody has built.

mod designs;
mod drawing;
mod program;
mod study;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use tollgate_simulator::Timing;

use crate::options::Simulate as Options;
use crate::options::simulate::What;
use crate::stop::Stop;

/// Runs a program, or the study.
///
/// # Errors
///
/// A file cannot be read or written, or is not what it should be, or a program fails.
pub(crate) fn run(options: &Options) -> Result<ExitCode, Stop> {
    match &options.what {
        What::Run(options) => program::run(options),
        What::Study(options) => study::run(options),
    }
}

/// The timing file, or LEON-2's.
fn timing(file: Option<&Path>) -> Result<Timing, Stop> {
    let Some(file) = file else { return Ok(Timing::leon2()) };
    let text = fs::read_to_string(file)
        .map_err(|error| Stop::new(format!("{}: {error}", file.display())))?;
    Timing::from_toml(&text).map_err(|error| Stop::new(format!("{}: {error}", file.display())))
}

/// Thousands apart by commas.
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
