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
    /// Repeated runs contradict each other: noise hides the exact limit.
    Undecided,
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
    /// The lowest and the highest undecided rates.
    undecided: Option<(f64, f64)>,
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
        Self { ramp, met: None, above: None, undecided: None, client_limited: false, steps: 0 }
    }

    /// Returns the next rate; `None` when the search has ended.
    pub(crate) fn next_rate(&mut self) -> Option<f64> {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            return None;
        }
        if self.above.is_none() && self.undecided.is_none() {
            return Some(match self.ramp.pop() {
                Some(rate) => rate,
                None => self.met? * 1.25,
            });
        }
        let middle = |low: f64, high: f64| (high > low * CLOSE).then(|| (low * high).sqrt());
        let unclear = self.undecided.map(|(low, _)| low).or(self.above)?;
        let below = match self.met {
            Some(met) => middle(met, unclear),
            None => Some(unclear / 2.0).filter(|&rate| rate >= RATE_MIN),
        };
        let over = match (self.undecided, self.above) {
            (Some((_, high)), Some(above)) => middle(high, above),
            (Some((_, high)), None) => Some(high * 1.25),
            (None, _) => None,
        };
        below.or(over)
    }

    pub(crate) fn record(&mut self, rate: f64, judged: StepResult) {
        let lower = |known: Option<f64>| Some(known.map_or(rate, |known| known.min(rate)));
        match judged {
            StepResult::Met => {
                self.met = Some(self.met.map_or(rate, |met| met.max(rate)));
                // all rates below this one are decided
                self.undecided = self.undecided.filter(|&(_, high)| high > rate);
            }
            StepResult::Missed | StepResult::ClientLimited => {
                self.above = lower(self.above);
                self.undecided = self.undecided.filter(|&(low, _)| low < rate);
                self.client_limited = judged == StepResult::ClientLimited;
            }
            StepResult::Undecided => {
                let (low, high) = self.undecided.unwrap_or((rate, rate));
                self.undecided = Some((low.min(rate), high.max(rate)));
            }
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
    use crate::seeded::Seeded;

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
    fn noise_widens_the_answer_around_the_limit() {
        let mut random = Seeded::new(5, 0);
        for _ in 0..200 {
            let noisy = |rate: f64| match rate {
                _ if rate < 600.0 => StepResult::Met,
                _ if rate > 700.0 => StepResult::Missed,
                _ => match random.chance(0.5) {
                    true => StepResult::Undecided,
                    false => judged(rate < 650.0),
                },
            };
            let (met, missed, _) = found(1000.0, noisy).0.answer();
            let (met, missed) = (met.unwrap(), missed.unwrap());
            assert!(met < 650.0 && missed >= 650.0, "{met} {missed}");
            assert!(met > 570.0 && missed < 750.0, "{met} {missed}");
        }
    }

    #[test]
    fn a_miss_below_an_undecided_rate_decides_it() {
        let mut first = true;
        let judge = |rate: f64| match rate {
            // the first rate near 600 is undecided; later rates from 540 are missed
            _ if (550.0..650.0).contains(&rate) && core::mem::take(&mut first) => {
                StepResult::Undecided
            }
            _ => judged(rate < 540.0),
        };
        let (met, missed, _) = found(1000.0, judge).0.answer();
        let (met, missed) = (met.unwrap(), missed.unwrap());
        assert!(met < 540.0 && missed >= 540.0 && missed <= met * CLOSE, "{met} {missed}");
    }

    #[test]
    fn a_limited_client_ends_the_search_upwards() {
        let limited = |rate| if rate < 800.0 { StepResult::Met } else { StepResult::ClientLimited };
        let (met, above, client) = found(1000.0, limited).0.answer();
        assert!(met.unwrap() > 760.0 && above.unwrap() < 840.0 && client);
    }
}
