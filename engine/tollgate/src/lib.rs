#![doc = include_str!("../README.md")]

#[macro_use]
pub mod error;

pub mod command_line;
pub mod interrupt;
pub mod key;
pub mod output;
pub mod progress;
mod provider;
pub mod read;
mod signer;
mod stdout;
mod write;

use std::ffi::OsString;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::process::ExitCode;

use clap::{Command, CommandFactory as _, Parser, Subcommand};
use tempfile::TempDir;

use crate::error::CliError;

/// The options of the program.
#[derive(Debug, Parser)]
#[command(name = "tollgate", version, about = ABOUT, after_help = AFTER)]
#[command(disable_help_subcommand = true)]
pub struct Options {
    #[command(subcommand)]
    verb: Verb,
}

/// The first line of `tollgate --help`.
pub const ABOUT: &str = "Measure and explain what a TLS connection costs, and make it cost less";

const AFTER: &str = "\
Start with 'tollgate ladder', or 'tollgate bench https://HOST/' for a server of your own. For these
and the other verbs that measure, this starts 'tollgate-ladder'; its --help lists them.

Exit codes: 0 done; 1 measured, but the figures are not valid; 2 error, one line on standard error;
3 a --fail-if condition holds; 130 stopped by Ctrl-C; 141 standard output was closed.

TOLLGATE_CPU_DISABLE=ifma,adx disables CPU features for Tollgate's kernels; for OpenSSL's, set
OPENSSL_ia32cap.";

#[derive(Debug, Subcommand)]
enum Verb {
    /// Make or check an RSA key, or make the stub of a key on a signer
    Key(key::Key),
    /// Install and check the OpenSSL provider, and show what servers do with it
    Provider(provider::Provider),
    /// Sign and decrypt for the front ends of a site, which do not have its keys
    Signer(signer::Signer),
    /// A verb of `tollgate-ladder`: the verb and its arguments.
    #[command(external_subcommand)]
    Measuring(Vec<OsString>),
}

/// Returns the declaration of the program, for man pages and completions.
#[must_use]
pub fn command() -> Command {
    Options::command()
}

/// Runs the verb of the command line.
///
/// # Errors
///
/// The reason in one line, and what to do next.
pub fn run() -> Result<ExitCode, CliError> {
    // Without this check, a misspelled TOLLGATE_CPU_DISABLE would leave a feature enabled without a
    // message.
    tollgate_cpu::features::veto()?;
    let (options, _): (Options, _) = command_line::read(command())?;
    let verb = match options.verb {
        Verb::Measuring(arguments) => return Err(command_line::run_ladder(&arguments)),
        verb => verb,
    };
    interrupt::listen()?;
    match verb {
        Verb::Key(options) => key::run(&options),
        Verb::Provider(options) => provider::run(&options),
        Verb::Signer(options) => signer::run(&options),
        Verb::Measuring(_) => unreachable!("handled above"),
    }
}

/// Creates a temporary folder that only this user can read; it is removed on drop.
///
/// # Errors
///
/// If the folder of temporary files cannot be written.
pub fn temporary_folder() -> Result<TempDir, CliError> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("tollgate-").permissions(Permissions::from_mode(0o700));
    let folder = std::env::temp_dir();
    builder.tempdir().map_err(|error| error!("{}: {error}; set TMPDIR", folder.display()))
}
