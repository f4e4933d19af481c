//! `tollgate man`: man pages, from the help of the verbs.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::error::CliError;
use crate::options::all_verbs;
use crate::output::Output;

#[derive(Args, Clone, Debug)]
pub(crate) struct Man {
    /// Existing folder to write the pages to, `tollgate.1` and one for each verb and sub-verb
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

pub(crate) fn run(options: &Man) -> Result<ExitCode, CliError> {
    clap_mangen::generate_to(all_verbs(), &options.folder)
        .map_err(CliError::at(&options.folder))?;
    let page = options.folder.join("tollgate.1");
    Output::new(None)?.text(&format!("next: man -l {}\n", page.display()))?;
    Ok(ExitCode::SUCCESS)
}
