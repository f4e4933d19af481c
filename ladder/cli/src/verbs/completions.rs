//! `tollgate completions`: completion scripts for shells.

use std::process::ExitCode;

use clap::Args;
use clap_complete::{Shell, generate};

use crate::error::CliError;
use crate::options::all_verbs;
use crate::output::Output;

#[derive(Args, Clone, Debug)]
pub(crate) struct Completions {
    /// Shell to print the script for
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(crate) fn run(options: &Completions) -> Result<ExitCode, CliError> {
    let mut script = Vec::new();
    generate(options.shell, &mut all_verbs(), "tollgate", &mut script);
    Output::new(None)?.text(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
