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

pub(crate) fn run(options: &Key) -> Result<ExitCode, CliError> {
    match &options.what {
        What::Gen(options) if options.time => time::generate(options),
        What::Gen(options) => generate::run(options),
        What::Show(options) => show::run(options),
        What::Check(options) if options.time => time::load(options),
        What::Check(options) => check::run(options),
    }
}
