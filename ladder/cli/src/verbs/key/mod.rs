//! `tollgate key`: generates, shows and checks RSA keys.

pub(crate) mod options;

use std::process::ExitCode;

use crate::error::CliError;
use crate::options::Key;
use crate::verbs::key::options::What;

mod check;
mod file;
mod generate;
mod show;
mod time;

/// Runs the subcommand.
///
/// # Errors
///
/// A file cannot be read or written, or a key is refused or invalid.
pub(crate) fn run(options: &Key) -> Result<ExitCode, CliError> {
    match &options.what {
        What::Gen(options) => match options.time {
            Some(seconds) => time::generate(options, seconds),
            None => generate::run(options),
        },
        What::Show(options) => show::run(options),
        What::Check(options) => match options.time {
            Some(seconds) => time::load(options, seconds),
            None => check::run(options),
        },
    }
}
