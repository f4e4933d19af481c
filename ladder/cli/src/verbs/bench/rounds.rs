//! Rounds of runs: the servers take turns, and rounds with a drifting rate are repeated.

use tollgate_load::{Comparison, Error, Finding, Outcome, Plan, Server, Verdict, compare};

use crate::error::CliError;
use crate::interrupt;
use crate::options::Bench as Options;

/// The outcomes of the rounds.
pub(super) struct Rounds {
    /// By server, then by round.
    pub(super) outcomes: Vec<Vec<Outcome>>,
    /// Rounds that were repeated because their rate was not steady.
    pub(super) repeated: u32,
    /// The reason if the rounds ended early because a round could not start.
    pub(super) broken: Option<String>,
}

impl Rounds {
    /// A result without rounds, with the reason why there are none.
    pub(super) fn broken(why: &CliError) -> Self {
        Self { outcomes: Vec::new(), repeated: 0, broken: Some(why.to_string()) }
    }
}

/// Runs the rounds in blocks in which every server has each position once. An invalid round ends
/// the rounds, because the rest could not give a figure. Returns `None` after Ctrl-C.
pub(super) fn run(
    options: &Options,
    plan: &Plan,
    servers: &mut [Server<'_>],
    mut progress: impl FnMut(f64),
) -> Result<Option<Rounds>, CliError> {
    let turns = u32::try_from(servers.len().max(1)).unwrap_or(u32::MAX);
    let outcomes = servers.iter().map(|_| Vec::new()).collect();
    let mut rounds = Rounds { outcomes, repeated: 0, broken: None };
    let share = f64::from(turns) / f64::from(options.rounds);
    for block in 0..options.rounds / turns {
        let begun = f64::from(block) * share;
        let mut tell = |part: f64| progress(begun + share * part);
        let found = match settled(options, plan, servers, &mut rounds.repeated, &mut tell) {
            Ok(found) => found,
            Err(Error::Stopped) => return Ok(None),
            Err(error) if block == 0 => return Err(error.into()),
            Err(error) => {
                rounds.broken = Some(format!("round {}: {error}", block * turns + 1));
                break;
            }
        };
        let verdict = found.verdict();
        for (server, known) in rounds.outcomes.iter_mut().enumerate() {
            known.extend_from_slice(found.outcomes(server));
        }
        if verdict == Verdict::Invalid {
            break;
        }
    }
    Ok(Some(rounds))
}

/// Runs a block. Repeats it while it is invalid only because its rate was not steady (for example,
/// because of other load on a shared machine). The options limit the number of repetitions. The
/// result contains that number.
fn settled(
    options: &Options,
    plan: &Plan,
    servers: &mut [Server<'_>],
    repeated: &mut u32,
    progress: &mut dyn FnMut(f64),
) -> Result<Comparison, Error> {
    let turns = servers.len();
    let mut block =
        || compare(plan, servers, turns, &interrupt::asked, &mut |_, part| progress(part));
    for _ in 0..options.repeats {
        let found = block()?;
        let outcomes = (0..turns).flat_map(|server| found.outcomes(server));
        if !outcomes.clone().any(is_unsteady) || outcomes.clone().any(is_beyond_repeating) {
            return Ok(found);
        }
        *repeated += u32::try_from(turns).unwrap_or(u32::MAX);
    }
    block()
}

/// Returns whether a run is invalid only because of the shape of its rate or its arrivals.
pub(super) fn is_unsteady(outcome: &Outcome) -> bool {
    outcome.verdict == Verdict::Invalid && !is_beyond_repeating(outcome)
}

fn is_beyond_repeating(outcome: &Outcome) -> bool {
    outcome.reasons.iter().any(|reason| {
        !matches!(reason, Finding::Drift { .. } | Finding::OfferedOffPlan { .. } | Finding::Stalled)
    })
}
