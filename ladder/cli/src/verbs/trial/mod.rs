//! `tollgate trial`: packs measurements for publication, and verifies what others published.

mod arithmetic;
mod bundle;
mod disclosure;
mod manifest;
mod pack;
mod verify;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::error::CliError;

#[derive(Args, Clone, Debug)]
pub(crate) struct Trial {
    #[command(subcommand)]
    pub(crate) verb: SubVerb,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum SubVerb {
    /// Make a signed folder of the records and raw samples of a run, with a disclosure
    Pack(Pack),
    /// Check signature, files and arithmetic of such a folder
    Verify(Verify),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Pack {
    /// Folder that `tollgate bench --out` wrote
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,

    /// Further files, such as configurations of servers; verification compares only their hashes
    #[arg(long, value_name = "FILE")]
    pub(crate) add: Vec<PathBuf>,

    /// Disclosure: sponsor, tester, hardware, software and tuning
    #[arg(long, value_name = "FILE")]
    pub(crate) disclosure: PathBuf,

    /// RSA private key to sign with, PEM or DER
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,

    /// Folder to make
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) out: PathBuf,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Verify {
    /// Folder that `tollgate trial pack` made
    #[arg(value_name = "BUNDLE")]
    pub(crate) bundle: PathBuf,

    /// Public key of the author; without it, the key in the folder is used and its fingerprint
    /// printed
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
}

pub(crate) fn run(options: &Trial) -> Result<ExitCode, CliError> {
    match &options.verb {
        SubVerb::Pack(options) => pack::run(options),
        SubVerb::Verify(options) => verify::run(options),
    }
}
