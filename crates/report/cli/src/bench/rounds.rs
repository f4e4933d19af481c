//! Rounds of runs, the servers in turn, and what is done about a machine that drifts.

use tollgate_load::{Error, Finding, Outcome, Plan, Server, Verdict, compare};

use crate::interrupt;
use crate::options::Bench as Options;
use crate::stop::Stop;

/// What came of the rounds.
pub(super) struct Rounds {
    /// By server, then by round.
    pub(super) outcomes: Vec<Vec<Outcome>>,
    /// Rounds that were not steady and were done again.
    pub(super) repeated: u32,
    /// Why the rounds ended early, if a round could not be begun.
    pub(super) broken: Option<String>,
}

impl Rounds {
    /// None, and why.
    pub(super) fn broken(why: &Stop) -> Self {
        Self { outcomes: Vec::new(), repeated: 0, broken: Some(why.to_string()) }
    }
}

/// Does the rounds: first to last server, then last to first, and so on. After an invalid round
/// there are no more: no figure could come of them. `None` after Ctrl-C.
///
/// # Errors
///
/// The first round cannot be begun.
pub(super) fn run(
    options: &Options,
    plan: &Plan,
    servers: &mut [Server<'_>],
    mut progress: impl FnMut(f64),
) -> Result<Option<Rounds>, Stop> {
    let outcomes = servers.iter().map(|_| Vec::new()).collect();
    let mut rounds = Rounds { outcomes, repeated: 0, broken: None };
    let share = 1.0 / f64::from(options.rounds);
    for round in 0..options.rounds {
        let begun = f64::from(round) * share;
        let mut tell = |part: f64| progress(begun + share * part);
        let found = match settled(options, plan, servers, round, &mut rounds.repeated, &mut tell) {
            Ok(found) => found,
            Err(Error::Stopped) => return Ok(None),
            Err(error) if round == 0 => return Err(Stop::from_error(error)),
            Err(error) => {
                rounds.broken = Some(format!("round {}: {error}", round + 1));
                break;
            }
        };
        let invalid = found.iter().any(|outcome| outcome.verdict() == Verdict::Invalid);
        for (of_server, outcome) in rounds.outcomes.iter_mut().zip(found) {
            of_server.push(outcome);
        }
        if invalid {
            break;
        }
    }
    Ok(Some(rounds))
}

/// A round, done again while it is invalid only because the rate was not steady, as often as the
/// options allow: on a shared machine that is the neighbours' doing. How often is said.
fn settled(
    options: &Options,
    plan: &Plan,
    servers: &mut [Server<'_>],
    round: u32,
    repeated: &mut u32,
    progress: &mut dyn FnMut(f64),
) -> Result<Vec<Outcome>, Error> {
    for _ in 0..options.repeats {
        let found = one(plan, servers, round, progress)?;
        if !found.iter().any(is_unsteady) || found.iter().any(is_beyond_repeating) {
            return Ok(found);
        }
        *repeated += 1;
    }
    one(plan, servers, round, progress)
}

/// Invalid, and nothing but the shape of the rate speaks against it.
fn is_unsteady(outcome: &Outcome) -> bool {
    outcome.verdict() == Verdict::Invalid && !is_beyond_repeating(outcome)
}

fn is_beyond_repeating(outcome: &Outcome) -> bool {
    outcome
        .reasons()
        .iter()
        .any(|reason| !matches!(reason, Finding::Drift { .. } | Finding::Stalled))
}

/// A round by server; every second one is done in the other order.
fn one(
    plan: &Plan,
    servers: &mut [Server<'_>],
    round: u32,
    progress: &mut dyn FnMut(f64),
) -> Result<Vec<Outcome>, Error> {
    let backwards = round % 2 == 1;
    if backwards {
        servers.reverse();
    }
    let compared = compare(plan, servers, 1, &interrupt::asked, &mut |_, part| progress(part));
    if backwards {
        servers.reverse();
    }
    let compared = compared?;
    let mut found: Vec<Outcome> =
        (0..servers.len()).map(|server| compared.outcomes(server)[0].clone()).collect();
    if backwards {
        found.reverse();
    }
    Ok(found)
}
