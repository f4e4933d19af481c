//! Servers that take turns, each with its own load.

use tollgate_load::{Outcome, Plan, Server, Verdict, run as load};

use super::scenario::is_unsteady;
use crate::error::CliError;
use crate::interrupt;
use crate::options::Bench;

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

/// The step after a run.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Next {
    /// The next run.
    Go,
    /// The same run again, because its rate was not steady.
    Repeat,
    /// Nothing: the figures would be of no use.
    End,
}

/// Runs every server once in each round, in alternating order (A B, B A), so that a drift of the
/// machine affects all of them. After Ctrl-C, the last round is incomplete. `once` runs the server
/// of this number, and reports its progress; `next` judges a run, and knows whether it was the last
/// try.
pub(super) fn in_turn<T>(
    (rounds, repeats): (u32, u32),
    measured: &mut [Measured<T>],
    mut once: impl FnMut(usize, &mut dyn FnMut(f64)) -> Result<T, CliError>,
    next: impl Fn(&T, bool) -> Next,
    mut progress: impl FnMut(f64),
) -> Result<(), CliError> {
    let count = measured.len();
    let all = f64::from(rounds) * f64::from(u32::try_from(count)?);
    let mut done = 0.0;
    for round in 0..rounds as usize {
        for turn in 0..count {
            let at = if round.is_multiple_of(2) { turn } else { count - 1 - turn };
            let mut tries = 0;
            loop {
                let outcome = once(at, &mut |part| progress((done + part) / all));
                if interrupt::asked() {
                    return Ok(());
                }
                let outcome = outcome?;
                let next = next(&outcome, tries == repeats);
                if next == Next::Repeat {
                    tries += 1;
                    measured[at].repeated += 1;
                    continue;
                }
                measured[at].outcomes.push(outcome);
                if next == Next::End {
                    return Ok(());
                }
                break;
            }
            done += 1.0;
        }
    }
    Ok(())
}

/// Runs the plan of every server once in each round, until one is invalid.
pub(super) fn measure(
    bench: &Bench,
    plans: &[&Plan],
    targets: &mut [Server<'_>],
    measured: &mut [Measured],
    progress: impl FnMut(f64),
) -> Result<(), CliError> {
    let once = |at: usize, part: &mut dyn FnMut(f64)| {
        Ok(load(plans[at], &mut targets[at], &interrupt::asked, &mut |_, done| part(done))?)
    };
    let next = |outcome: &Outcome, is_last: bool| match outcome.verdict {
        Verdict::Invalid if is_unsteady(outcome) && !is_last => Next::Repeat,
        Verdict::Invalid => Next::End,
        _ => Next::Go,
    };
    in_turn((bench.rounds, bench.load.repeats), measured, once, next, progress)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs of three servers; `next` judges a run by its server and its number.
    fn order(repeats: u32, next: impl Fn(usize, usize) -> Next) -> (String, Vec<usize>) {
        let mut measured = [const { Measured { outcomes: Vec::new(), repeated: 0 } }; 3];
        let (mut order, mut runs) = (String::new(), 0);
        let once = |at: usize, _: &mut dyn FnMut(f64)| {
            order.push(['a', 'b', 'c'][at]);
            runs += 1;
            Ok((at, runs))
        };
        let judge = |&(at, run): &(usize, usize), is_last| match next(at, run) {
            Next::Repeat if is_last => Next::Go,
            next => next,
        };
        in_turn((2, repeats), &mut measured, once, judge, |_| {}).unwrap();
        (order, measured.iter().map(|measured| measured.outcomes.len()).collect())
    }

    #[test]
    fn servers_alternate_and_unsteady_runs_are_repeated_up_to_a_limit() {
        assert_eq!(order(3, |_, _| Next::Go), ("abccba".to_owned(), vec![2, 2, 2]));
        let second = |_, run| if run == 2 { Next::Repeat } else { Next::Go };
        assert_eq!(order(3, second), ("abbccba".to_owned(), vec![2, 2, 2]));
        let unsteady = |at, _| if at == 0 { Next::Repeat } else { Next::Go };
        assert_eq!(order(1, unsteady), ("aabccbaa".to_owned(), vec![2, 2, 2]));
        let useless = |at, _| if at == 1 { Next::End } else { Next::Go };
        assert_eq!(order(3, useless), ("ab".to_owned(), vec![1, 1, 0]));
    }
}
