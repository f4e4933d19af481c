//! `tollgate provider`: installs and checks the OpenSSL provider, and prints its counters.

mod check;
mod configuration;
mod install;
mod metrics;
mod openssl;
mod processes;
mod proof;
mod stats;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::error::CliError;

#[derive(Args, Clone, Debug)]
pub(crate) struct Provider {
    #[command(subcommand)]
    pub(crate) verb: SubVerb,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum SubVerb {
    /// Copy the module to OpenSSL's folder and write a configuration that uses it
    Install(Install),
    /// Check that OpenSSL signs with it, and list the running programs that use it
    Check(Check),
    /// Print the counters of all processes, or whether one process uses it
    Stats(Stats),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Install {
    /// Remove module and configuration
    #[arg(long, conflicts_with = "module")]
    pub(crate) remove: bool,

    /// Module to install [default: beside this program, else the one in OpenSSL's folder]
    #[arg(long, value_name = "FILE")]
    pub(crate) module: Option<PathBuf>,

    /// Configuration to write [default: tollgate.cnf beside OpenSSL's openssl.cnf]
    #[arg(long, value_name = "FILE")]
    pub(crate) openssl_conf: Option<PathBuf>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Check {
    /// Configuration to check [default: `OPENSSL_CONF`, else the file that install writes]
    #[arg(long, value_name = "FILE")]
    pub(crate) openssl_conf: Option<PathBuf>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Stats {
    /// Print only this process; exit code 0 if it has the module, 1 if not [default: the sum of all
    /// running processes]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pid: Option<u32>,

    /// Folder of the metrics [default: that of the configuration, else /run/tollgate]
    #[arg(long, value_name = "DIR")]
    pub(crate) metrics: Option<PathBuf>,
}

pub(crate) fn run(options: &Provider) -> Result<ExitCode, CliError> {
    match &options.verb {
        SubVerb::Install(options) if options.remove => install::remove(options),
        SubVerb::Install(options) => install::run(options),
        SubVerb::Check(options) => check::run(options),
        SubVerb::Stats(options) => stats::run(options),
    }
}
