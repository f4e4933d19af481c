//! `tollgate agent`: a process that loads a server for `tollgate bench URL --agents`.

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use clap::Args;
use tollgate_agents::{FleetName, serve, serve_fleet};
use tollgate_bench::this_machine;

use crate::error::CliError;
use crate::options::nats::NatsOptions;
use crate::{interrupt, output};

#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Without --nats, a controller starts the agent, and speaks to it on standard \
                        input and output. With --nats, it serves controllers until it is stopped."
)]
pub(crate) struct Agent {
    /// Name of the agents that a controller chooses with --agents nats:FLEET/COUNT
    #[arg(long, value_name = "FLEET", requires = "nats")]
    fleet: Option<FleetName>,

    #[command(flatten)]
    nats: NatsOptions,
}

pub(crate) fn run(options: &Agent) -> Result<ExitCode, CliError> {
    let ended = match options.nats.connection() {
        Some(nats) => {
            let Some(fleet) = &options.fleet else { bail!("--nats: give --fleet too") };
            let tell = |line: &str| output::say(&format!("tollgate: {line}"));
            let machine = this_machine();
            interrupt::ends_at_once(|| serve_fleet(&nats, fleet, &version(), &machine, &tell))
        }
        None if io::stdin().is_terminal() => bail!(
            "an agent is started by its controller: run 'tollgate bench URL --agents LIST', or \
             give --nats"
        ),
        None => serve(io::stdin(), io::stdout(), version(), this_machine()),
    };
    ended.map(|()| ExitCode::SUCCESS).map_err(CliError::about("agent"))
}

/// Returns the version that a controller and its agents must share.
pub(crate) fn version() -> String {
    let commit = option_env!("TOLLGATE_COMMIT").map(|commit| format!(", commit {commit}"));
    env!("CARGO_PKG_VERSION").to_owned() + &commit.unwrap_or_default()
}
