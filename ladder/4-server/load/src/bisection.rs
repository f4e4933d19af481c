//! Which rate to try next, on the way to the highest one that meets an objective.

/// What was found at a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// The objective is met.
    Met,
    /// It is not.
    Missed,
    /// Repeats contradict each other: the answer lies about here, and noise hides where.
    Undecided,
    /// The client had no room left: what the server does at this rate was not seen.
    ClientLimited,
}

/// First a few shares of a known capacity, upwards, as long as they are met: a curve needs points
/// below its bend. Then halves, in proportion, of what is left.
#[derive(Clone, Debug)]
pub(crate) struct Bisection {
    ramp: Vec<f64>,
    met: Option<f64>,
    /// The lowest rate that was missed, or at which the client had no room.
    above: Option<f64>,
    /// The lowest and the highest undecided rate.
    undecided: Option<(f64, f64)>,
    client_limited: bool,
    steps: u32,
}

/// Shares of the capacity that are tried first.
const RAMP: [f64; 5] = [0.1, 0.3, 0.5, 0.7, 0.85];

/// Two rates that are closer than this are one.
const CLOSE: f64 = 1.04;

/// The most rates that are tried.
const STEPS_MAX: u32 = 24;

/// No rate below this is tried, in transactions per second.
const RATE_MIN: f64 = 0.5;

impl Bisection {
    /// Of a server that has this capacity in a closed loop, about.
    pub(crate) fn new(capacity_per_s: f64) -> Self {
        let ramp = RAMP.iter().rev().map(|share| share * capacity_per_s).collect();
        Self { ramp, met: None, above: None, undecided: None, client_limited: false, steps: 0 }
    }

    /// The next rate; none when the answer is as narrow as it becomes.
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

    pub(crate) fn tell(&mut self, rate: f64, judged: Judged) {
        let lower = |known: Option<f64>| Some(known.map_or(rate, |known| known.min(rate)));
        match judged {
            Judged::Met => {
                self.met = Some(self.met.map_or(rate, |met| met.max(rate)));
                // what lies below it is decided now
                self.undecided = self.undecided.filter(|&(_, high)| high > rate);
            }
            Judged::Missed | Judged::ClientLimited => {
                self.above = lower(self.above);
                self.undecided = self.undecided.filter(|&(low, _)| low < rate);
                self.client_limited = judged == Judged::ClientLimited;
            }
            Judged::Undecided => {
                let (low, high) = self.undecided.unwrap_or((rate, rate));
                self.undecided = Some((low.min(rate), high.max(rate)));
            }
        }
    }

    /// The highest rate that was met, the lowest that was not, and whether that is the client's
    /// doing.
    pub(crate) const fn answer(&self) -> (Option<f64>, Option<f64>, bool) {
        (self.met, self.above, self.client_limited)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::seeded::Seeded;

    /// Tries rates until the end; the answer, and how many rates were tried.
    fn found(capacity: f64, mut judge: impl FnMut(f64) -> Judged) -> (Bisection, u32) {
        let mut bisection = Bisection::new(capacity);
        let mut tried = 0;
        while let Some(rate) = bisection.next_rate() {
            tried += 1;
            let judged = judge(rate);
            bisection.tell(rate, judged);
        }
        (bisection, tried)
    }

    const fn judged(is_met: bool) -> Judged {
        if is_met { Judged::Met } else { Judged::Missed }
    }

    #[test]
    fn the_edge_is_between_two_close_rates_wherever_it_lies() {
        for edge in [3.0, 40.0, 320.0, 777.0, 990.0, 1500.0] {
            let (bisection, tried) = found(1000.0, |rate| judged(rate <= edge));
            let (met, missed, client) = bisection.answer();
            let (met, missed) = (met.unwrap(), missed.unwrap());
            assert!(met <= edge && edge < missed && missed <= met * CLOSE, "{met} {missed}");
            assert!(tried <= 16 && !client, "{tried} rates for {edge}");
        }
    }

    #[test]
    fn nothing_that_is_met_is_an_answer_too() {
        let (bisection, _) = found(1000.0, |_| Judged::Missed);
        assert_eq!(bisection.answer().0, None);
        assert!(bisection.answer().1.unwrap() < 1.0);
    }

    #[test]
    fn noise_widens_the_answer_and_the_edge_stays_in_it() {
        let mut random = Seeded::new(5, 0);
        for _ in 0..200 {
            let noisy = |rate: f64| match rate {
                _ if rate < 600.0 => Judged::Met,
                _ if rate > 700.0 => Judged::Missed,
                _ => match random.chance(0.5) {
                    true => Judged::Undecided,
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
    fn what_is_missed_below_an_undecided_rate_decides_that_too() {
        let mut first = true;
        let judge = |rate: f64| match rate {
            // once undecided, and then missed below that
            _ if (550.0..650.0).contains(&rate) && core::mem::take(&mut first) => Judged::Undecided,
            _ => judged(rate < 540.0),
        };
        let (met, missed, _) = found(1000.0, judge).0.answer();
        let (met, missed) = (met.unwrap(), missed.unwrap());
        assert!(met < 540.0 && missed >= 540.0 && missed <= met * CLOSE, "{met} {missed}");
    }

    #[test]
    fn a_client_without_room_ends_the_search_upwards_and_is_told() {
        let limited = |rate| if rate < 800.0 { Judged::Met } else { Judged::ClientLimited };
        let (met, above, client) = found(1000.0, limited).0.answer();
        assert!(met.unwrap() > 760.0 && above.unwrap() < 840.0 && client);
    }
}
