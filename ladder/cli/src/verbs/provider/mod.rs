//! `tollgate provider`: installs and checks the OpenSSL provider, and prints its counters.

pub(crate) mod options;

use std::process::ExitCode;

use crate::error::CliError;
use crate::options::Provider;
use crate::verbs::provider::options::What;

mod check;
mod configuration;
mod install;
mod metrics;
mod openssl;
mod processes;
mod proof;
mod replace;
mod stats;

pub(crate) fn run(options: &Provider) -> Result<ExitCode, CliError> {
    match &options.what {
        What::Install(options) if options.remove => install::remove(options),
        What::Install(options) => install::run(options),
        What::Check(options) => check::run(options),
        What::Stats(options) => stats::run(options),
    }
}
