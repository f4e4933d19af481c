//! `tollgate agent`: a process that loads a server for `tollgate bench URL --agents`.

use std::process::ExitCode;

use clap::Args;
use tollgate_agents::{FleetName, serve_fleet};
use tollgate_bench::this_machine;

use crate::error::CliError;
use crate::options::nats::NatsOptions;
use crate::{interrupt, output};

#[derive(Args, Clone, Debug)]
#[command(after_help = "It serves controllers until it is stopped.")]
pub(crate) struct Agent {
    /// Name of the agents that a controller chooses with --agents nats:FLEET/COUNT
    #[arg(long, value_name = "FLEET", requires = "nats")]
    fleet: FleetName,

    #[command(flatten)]
    nats: NatsOptions,
}

pub(crate) fn run(options: &Agent) -> Result<ExitCode, CliError> {
    let Some(nats) = options.nats.connection() else { bail!("--nats: give the address of NATS") };
    let tell = |line: &str| output::say(&format!("tollgate: {line}"));
    let machine = this_machine();
    let fleet = &options.fleet;
    let ended = interrupt::ends_at_once(|| serve_fleet(&nats, fleet, &version(), &machine, &tell));
    ended.map(|()| ExitCode::SUCCESS).map_err(CliError::about("agent"))
}

/// Returns the version that a controller and its agents must share.
pub(crate) fn version() -> String {
    let commit = option_env!("TOLLGATE_COMMIT").map(|commit| format!(", commit {commit}"));
    env!("CARGO_PKG_VERSION").to_owned() + &commit.unwrap_or_default()
}
