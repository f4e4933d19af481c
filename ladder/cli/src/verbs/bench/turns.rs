//! Servers that take turns, each with its own load.

use tollgate_load::{Outcome, Plan, Server, run as load};

use super::scenario::is_unsteady;
use crate::error::CliError;
use crate::interrupt;
use crate::options::Bench;
use crate::progress;

/// The runs of one server.
pub(in crate::verbs) struct Measured<T = Outcome> {
    pub(in crate::verbs) outcomes: Vec<T>,
    /// Runs that were repeated because their rate was not steady.
    pub(in crate::verbs) repeated: u32,
}

impl<T> Default for Measured<T> {
    fn default() -> Self {
        Self { outcomes: Vec::new(), repeated: 0 }
    }
}

/// Runs every server once in each round; successive rounds begin with different servers. After
/// Ctrl-C, the last round is incomplete. `once` runs the server of this number, and reports its
/// progress; `is_steady` says whether a run need not be repeated.
pub(super) fn in_turn<T>(
    (rounds, repeats): (u32, u32),
    measured: &mut [Measured<T>],
    mut once: impl FnMut(usize, &mut dyn FnMut(f64)) -> Result<T, CliError>,
    is_steady: impl Fn(&T) -> bool,
) -> Result<(), CliError> {
    let count = measured.len();
    let all = f64::from(rounds) * f64::from(u32::try_from(count)?);
    let mut done = 0.0;
    for round in 0..rounds as usize {
        for turn in 0..count {
            let at = (round + turn) % count;
            let mut run = || once(at, &mut |part| progress::part((done + part) / all));
            let mut outcome = run();
            for _ in 0..repeats {
                if outcome.as_ref().map_or(true, &is_steady) || interrupt::asked() {
                    break;
                }
                outcome = run();
                measured[at].repeated += 1;
            }
            if interrupt::asked() {
                return Ok(());
            }
            measured[at].outcomes.push(outcome?);
            done += 1.0;
        }
    }
    Ok(())
}

/// Runs the plan of every server once in each round.
pub(in crate::verbs) fn measure(
    bench: &Bench,
    plans: &[&Plan],
    targets: &mut [Server<'_>],
    rounds: &mut [Measured],
) -> Result<(), CliError> {
    let once = |at: usize, part: &mut dyn FnMut(f64)| {
        Ok(load(plans[at], &mut targets[at], &interrupt::asked, &mut |_, done| part(done))?)
    };
    let is_steady = |outcome: &Outcome| !is_unsteady(outcome);
    in_turn((bench.rounds, bench.load.repeats), rounds, once, is_steady)
}
