//! `tollgate key`: generates, shows and checks RSA keys.

pub(crate) mod options;

use std::process::ExitCode;

use crate::error::CliError;
use crate::options::Key;
use crate::verbs::key::options::SubVerb;

mod check;
mod file;
mod generate;
mod show;
mod time;

pub(crate) fn run(options: &Key) -> Result<ExitCode, CliError> {
    match &options.verb {
        SubVerb::Gen(options) if options.time => time::generate(options),
        SubVerb::Gen(options) => generate::run(options),
        SubVerb::Show(options) => show::run(options),
        SubVerb::Check(options) if options.time => time::load(options),
        SubVerb::Check(options) => check::run(options),
    }
}
