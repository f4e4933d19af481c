//! `tollgate man`: man pages and completion scripts, from the help of the verbs.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use clap_complete::{Shell, generate_to};

use crate::error::CliError;
use crate::options::all_verbs;
use crate::output::Output;

#[derive(Args, Clone, Debug)]
pub(crate) struct Man {
    /// Existing folder to write to: `tollgate.1`, a page for each verb and sub-verb, and the
    /// scripts `tollgate.bash`, `tollgate.fish` and `_tollgate` (zsh)
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

pub(crate) fn run(options: &Man) -> Result<ExitCode, CliError> {
    let folder = &options.folder;
    clap_mangen::generate_to(all_verbs(), folder).map_err(CliError::at(folder))?;
    for shell in [Shell::Bash, Shell::Fish, Shell::Zsh] {
        generate_to(shell, &mut all_verbs(), "tollgate", folder).map_err(CliError::at(folder))?;
    }
    let page = folder.join("tollgate.1");
    Output::new(None)?.text(&format!("next: man -l {}\n", page.display()))?;
    Ok(ExitCode::SUCCESS)
}
