//! `tollgate key`: RSA keys made, shown and checked.

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

/// Does what the options say.
///
/// # Errors
///
/// A file cannot be read or written, or a key is refused or bad.
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
