//! `tollgate provider`: installs and checks the OpenSSL provider, and prints its counters.

pub(crate) mod options;

use std::process::ExitCode;

use crate::error::CliError;
use crate::options::Provider;
use crate::verbs::provider::options::SubVerb;

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
    match &options.verb {
        SubVerb::Install(options) if options.remove => install::remove(options),
        SubVerb::Install(options) => install::run(options),
        SubVerb::Check(options) => check::run(options),
        SubVerb::Stats(options) => stats::run(options),
    }
}
