//! `tollgate agent`: a process that loads a server for `tollgate bench URL --agents`.

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use clap::Args;
use tollgate_bench::this_machine;

use crate::error::CliError;

#[derive(Args, Clone, Debug)]
pub(crate) struct Agent {}

pub(crate) fn run(_: &Agent) -> Result<ExitCode, CliError> {
    if io::stdin().is_terminal() {
        bail!("an agent is started by its controller: run 'tollgate bench URL --agents LIST'");
    }
    let ended = tollgate_agents::serve(io::stdin(), io::stdout(), version(), this_machine());
    ended.map(|()| ExitCode::SUCCESS).map_err(CliError::about("agent"))
}

/// Returns the version that a controller and its agents must share.
pub(crate) fn version() -> String {
    let commit = option_env!("TOLLGATE_COMMIT").map(|commit| format!(", commit {commit}"));
    env!("CARGO_PKG_VERSION").to_owned() + &commit.unwrap_or_default()
}
