//! Compares servers: rounds in alternating order, ratios within rounds.

use tollgate_bench::median_estimate;
use tollgate_record::Estimate;

use crate::error::Error;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::run::run;
use crate::schedule::Stage;
use crate::server::Server;
use crate::verdict::Verdict;

/// The outcomes of several servers, by server and round.
#[derive(Clone, Debug)]
pub struct Comparison {
    outcomes: Vec<Vec<Outcome>>,
}

/// Runs the plan against all servers `rounds` times in alternating order (A B, B A, A B, ...), so
/// that a drift of the machine affects all of them. With several servers `rounds` must be even, so
/// that the errors of a drift cancel.
///
/// Calls `progress` with the stage and the completed share of all rounds, in [0, 1].
///
/// # Errors
/// The errors of [`run`], and [`Error::Plan`] if there are no servers or rounds, or if several
/// servers have an odd number of rounds. An invalid run does not end the comparison; it is part of
/// the result.
pub fn compare(
    plan: &Plan,
    servers: &mut [Server<'_>],
    rounds: usize,
    stop: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(Stage, f64),
) -> Result<Comparison, Error> {
    if servers.is_empty() || rounds == 0 {
        return Err(Error::Plan("a comparison needs at least one server and one round"));
    }
    if servers.len() > 1 && rounds % 2 == 1 {
        return Err(Error::Plan(
            "the number of rounds must be even, so that every server is first equally often",
        ));
    }
    #[allow(clippy::cast_precision_loss, reason = "rounds and servers are few")]
    let (runs, mut done) = ((servers.len() * rounds) as f64, 0.0);
    let mut outcomes: Vec<Vec<Outcome>> = servers.iter().map(|_| Vec::new()).collect();
    for round in 0..rounds {
        for turn in 0..servers.len() {
            let i = if round % 2 == 0 { turn } else { servers.len() - 1 - turn };
            let mut part =
                |stage: Stage, share: f64| progress(stage, ((done + share) / runs).min(1.0));
            outcomes[i].push(run(plan, &mut servers[i], stop, &mut part)?);
            done += 1.0;
        }
    }
    Ok(Comparison { outcomes })
}

impl Comparison {
    /// Creates a comparison of outcomes that the caller gives, by server and round.
    ///
    /// # Errors
    ///
    /// [`Error::Plan`] if there are no rounds, or servers differ in rounds or plan.
    pub fn of(outcomes: Vec<Vec<Outcome>>) -> Result<Self, Error> {
        let rounds = outcomes.first().map_or(0, Vec::len);
        if rounds == 0 || outcomes.iter().any(|of| of.len() != rounds) {
            return Err(Error::Plan("all servers of a comparison have the same number of rounds"));
        }
        let plan = &outcomes[0][0].plan;
        if outcomes.iter().flatten().any(|outcome| &outcome.plan != plan) {
            return Err(Error::Plan("all servers of a comparison run the same plan"));
        }
        Ok(Self { outcomes })
    }

    /// Returns the outcomes of a server, by round.
    ///
    /// # Panics
    ///
    /// If there is no such server. All methods that take a server panic then.
    #[must_use]
    pub fn outcomes(&self, server: usize) -> &[Outcome] {
        &self.outcomes[server]
    }

    /// Returns the worst verdict of all runs.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let verdicts = self.outcomes.iter().flatten().map(|outcome| outcome.verdict);
        verdicts.max().unwrap_or(Verdict::Invalid)
    }

    /// Returns the ratio of the sessions per second of two servers: the median over the rounds with
    /// its 95 % bootstrap interval; `None` if a run of either server is invalid. With fewer than
    /// six rounds the confidence is below 95 %: the range of n ratios contains the median with
    /// probability 1 - 2^(1 - n). Records state the confidence.
    #[must_use]
    pub fn sessions_ratio(&self, above: usize, below: usize) -> Option<Estimate> {
        self.ratio(above, below, Outcome::sessions_per_s)
    }

    /// Returns the ratio of the CPU time per session of two servers; `None` if a run of either
    /// server is invalid, or if the CPU time was not measured.
    #[must_use]
    pub fn server_cpu_ratio(&self, above: usize, below: usize) -> Option<Estimate> {
        self.ratio(above, below, Outcome::server_cpu_ns_per_session)
    }

    fn ratio(
        &self,
        above: usize,
        below: usize,
        figure: impl Fn(&Outcome) -> Option<f64>,
    ) -> Option<Estimate> {
        let rounds = self.outcomes[above].iter().zip(&self.outcomes[below]);
        let ratios = rounds.map(|(above, below)| Some(figure(above)? / figure(below)?));
        median_estimate(&ratios.collect::<Option<Vec<f64>>>()?)
    }
}
