//! `tollgate workload`: shows named workloads and makes new ones from access logs.

pub(crate) mod options;

mod from_log;
mod show;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use tollgate_workload::{FILES, File, Workload};

use crate::error::CliError;
use crate::options::Workload as Options;
use crate::verbs::workload::options::Verb;

pub(crate) use show::disclosure;

pub(crate) fn run(options: &Options) -> Result<ExitCode, CliError> {
    match &options.verb {
        Verb::FromLog(options) => from_log::run(options),
        Verb::Show(options) => show::run(options),
    }
}

/// Finds the workload of this name or file.
pub(crate) fn find(name: &str) -> Result<Workload, CliError> {
    if let Some(file) = File::named(name) {
        return Ok(file.workload());
    }
    let is_file = Path::new(name).extension().is_some_and(|ending| ending == "toml");
    if !is_file {
        let known = FILES.map(|file| file.name).join(", ");
        bail!("{name}: no such workload; give {known}, or a file that ends in .toml");
    }
    let text = fs::read_to_string(name).map_err(CliError::at(Path::new(name)))?;
    Workload::from_toml(&text).map_err(CliError::about(name))
}
