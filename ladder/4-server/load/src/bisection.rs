//! Chooses the rates of a search for the highest rate that meets an objective.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result at a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepResult {
    /// The objective is met.
    Met,
    /// The objective is missed.
    Missed,
    /// The client reached its own limit, so the server was not measured at this rate.
    #[serde(rename = "client")]
    ClientLimited,
}

/// Chooses the rates of a search. The first rates are increasing shares of a known capacity, as
/// long as these rates meet the objective, because a curve needs points below its bend. Then the
/// search bisects the rest of the range on a logarithmic scale.
#[derive(Clone, Debug)]
pub(crate) struct Bisection {
    ramp: Vec<f64>,
    met: Option<f64>,
    /// The lowest rate that missed the objective, or at which the client reached its limit.
    above: Option<f64>,
    client_limited: bool,
    steps: u32,
}

/// Shares of the capacity to try first.
const RAMP: [f64; 5] = [0.1, 0.3, 0.5, 0.7, 0.85];

/// The search ends when two rates differ by less than this factor.
const CLOSE: f64 = 1.04;

/// Maximum number of rates.
const STEPS_MAX: u32 = 24;

/// Minimum rate, in transactions per second.
const RATE_MIN: f64 = 0.5;

impl Bisection {
    /// Creates a search for a server with about this capacity in a closed loop.
    pub(crate) fn new(capacity_per_s: f64) -> Self {
        let ramp = RAMP.iter().rev().map(|share| share * capacity_per_s).collect();
        Self { ramp, met: None, above: None, client_limited: false, steps: 0 }
    }

    /// Returns the next rate; `None` when the search has ended.
    pub(crate) fn next_rate(&mut self) -> Option<f64> {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            return None;
        }
        match (self.met, self.above) {
            (met, None) => self.ramp.pop().or_else(|| met.map(|met| met * 1.25)),
            (Some(met), Some(above)) => (above > met * CLOSE).then(|| (met * above).sqrt()),
            (None, Some(above)) => Some(above / 2.0).filter(|&rate| rate >= RATE_MIN),
        }
    }

    pub(crate) fn record(&mut self, rate: f64, judged: StepResult) {
        if judged == StepResult::Met {
            self.met = Some(self.met.map_or(rate, |met| met.max(rate)));
        } else {
            self.above = Some(self.above.map_or(rate, |above| above.min(rate)));
            self.client_limited = judged == StepResult::ClientLimited;
        }
    }

    /// Returns three values: the highest rate that met the objective, the lowest rate that did not
    /// meet the objective, and whether the client reached its limit at the second of these rates.
    pub(crate) const fn answer(&self) -> (Option<f64>, Option<f64>, bool) {
        (self.met, self.above, self.client_limited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a search. Returns its state, and the number of rates tried.
    fn found(capacity: f64, mut judge: impl FnMut(f64) -> StepResult) -> (Bisection, u32) {
        let mut bisection = Bisection::new(capacity);
        let mut tried = 0;
        while let Some(rate) = bisection.next_rate() {
            tried += 1;
            let judged = judge(rate);
            bisection.record(rate, judged);
        }
        (bisection, tried)
    }

    const fn judged(is_met: bool) -> StepResult {
        if is_met { StepResult::Met } else { StepResult::Missed }
    }

    #[test]
    fn the_limit_is_found_between_two_close_rates() {
        for edge in [3.0, 40.0, 320.0, 777.0, 990.0, 1500.0] {
            let (bisection, tried) = found(1000.0, |rate| judged(rate <= edge));
            let (met, missed, client) = bisection.answer();
            let (met, missed) = (met.unwrap(), missed.unwrap());
            assert!(met <= edge && edge < missed && missed <= met * CLOSE, "{met} {missed}");
            assert!(tried <= 16 && !client, "{tried} rates for {edge}");
        }
    }

    #[test]
    fn a_search_may_find_no_rate() {
        let (bisection, _) = found(1000.0, |_| StepResult::Missed);
        assert_eq!(bisection.answer().0, None);
        assert!(bisection.answer().1.unwrap() < 1.0);
    }

    #[test]
    fn a_limited_client_ends_the_search_upwards() {
        let limited = |rate| if rate < 800.0 { StepResult::Met } else { StepResult::ClientLimited };
        let (met, above, client) = found(1000.0, limited).0.answer();
        assert!(met.unwrap() > 760.0 && above.unwrap() < 840.0 && client);
    }
}
