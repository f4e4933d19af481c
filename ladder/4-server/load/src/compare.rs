//! Several servers in one sitting: rounds in turn, ratios within rounds.

use tollgate_bench::median_estimate;
use tollgate_record::Estimate;

use crate::error::Error;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::run::{Server, run};
use crate::schedule::Stage;
use crate::verdict::Verdict;

/// The outcomes of servers that were loaded in turn: by server, then by round.
#[derive(Clone, Debug)]
pub struct Comparison {
    outcomes: Vec<Vec<Outcome>>,
}

/// Runs the plan against all servers, `rounds` times: first to last, then last to first, and so on
/// (A B, B A, A B, ...), so that a drift of the machine meets all of them. For that the rounds of
/// several servers are even: the ratios of a drifting machine then lie as often above as below.
///
/// `progress` is told the stage and the share of all rounds that is done, in [0, 1].
///
/// # Errors
///
/// [`Error::Plan`] without servers or rounds; otherwise as [`run`]. A run that is invalid does not
/// end the comparison: it stands in it.
pub fn compare(
    plan: &Plan,
    servers: &mut [Server<'_>],
    rounds: usize,
    stop: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(Stage, f64),
) -> Result<Comparison, Error> {
    if servers.is_empty() || rounds == 0 {
        return Err(Error::Plan("a comparison has a server and a round, at least"));
    }
    if servers.len() > 1 && rounds % 2 == 1 {
        return Err(Error::Plan("rounds are even, so that no server is first more often"));
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
    /// A comparison of outcomes that were measured elsewhere, by server and then by round.
    ///
    /// # Errors
    ///
    /// [`Error::Plan`] if the servers have no rounds, not equally many, or ran different plans.
    pub fn of(outcomes: Vec<Vec<Outcome>>) -> Result<Self, Error> {
        let rounds = outcomes.first().map_or(0, Vec::len);
        if rounds == 0 || outcomes.iter().any(|of| of.len() != rounds) {
            return Err(Error::Plan("all servers of a comparison have the same number of rounds"));
        }
        let plan = outcomes[0][0].plan();
        if outcomes.iter().flatten().any(|outcome| outcome.plan() != plan) {
            return Err(Error::Plan("all servers of a comparison run the same plan"));
        }
        Ok(Self { outcomes })
    }

    /// The outcomes of a server, by round.
    ///
    /// # Panics
    ///
    /// If there is no such server. So do all methods that take one.
    #[must_use]
    pub fn outcomes(&self, server: usize) -> &[Outcome] {
        &self.outcomes[server]
    }

    /// The worst verdict of all runs.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let verdicts = self.outcomes.iter().flatten().map(Outcome::verdict);
        verdicts.max().unwrap_or(Verdict::Invalid)
    }

    /// Sessions per second of a server over those of another: the median of the rounds' ratios with
    /// its 95 % bootstrap interval; `None` if a run of one of them is invalid. Of fewer than six
    /// rounds no interval reaches 95 %: all of n ratios hold the median with 1 - 2^(1 - n) alone.
    /// Records say so.
    #[must_use]
    pub fn sessions_ratio(&self, above: usize, below: usize) -> Option<Estimate> {
        self.ratio(above, below, Outcome::sessions_per_s)
    }

    /// CPU time per session of a server over that of another; `None` also if nobody read it.
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
