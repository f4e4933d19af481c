//! Compares servers by the ratios within rounds.

use tollgate_bench::median_estimate;
use tollgate_record::Estimate;

use crate::error::Error;
use crate::outcome::Outcome;

/// The outcomes of several servers, by server and round.
#[derive(Clone, Debug)]
pub struct Comparison {
    pub(crate) outcomes: Vec<Vec<Outcome>>,
}

impl Comparison {
    /// Creates a comparison of outcomes that the caller gives, by server and round.
    ///
    /// # Errors
    ///
    /// [`Error::Plan`] if there are no rounds, or servers differ in rounds or plan.
    pub fn new(outcomes: Vec<Vec<Outcome>>) -> Result<Self, Error> {
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
