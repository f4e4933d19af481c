//! The arrival times of an open loop: one sequence that all threads share.

use core::time::Duration;

use crate::arrivals::Pattern;
use crate::seeded::Seeded;

/// An arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// Time since the start of the run.
    pub(crate) at: Duration,
    /// Number from 0, over all threads.
    pub(crate) number: u64,
}

/// All arrivals of a run, in order: a function of pattern and seed only.
///
/// Every thread generates the whole sequence, and takes each arrival whose number modulo the number
/// of threads is its own. The threads therefore share nothing, and the load is the same with any
/// number of threads. A step takes some tens of nanoseconds, more with gamma-distributed gaps.
#[derive(Clone, Debug)]
pub(crate) struct Sequence {
    pattern: Pattern,
    random: Seeded,
    number: u64,
    /// Time of the last arrival, in seconds. With gamma-distributed gaps it is the time of the next
    /// arrival.
    at_s: f64,
}

impl Pattern {
    /// Returns the times of the arrivals of a run with this seed, since its start. Without end.
    pub fn times(self, seed: u64) -> impl Iterator<Item = Duration> {
        Sequence::new(self, seed).map(|arrival| arrival.at)
    }
}

/// Random stream of the gaps.
const GAPS: u64 = 1;

impl Sequence {
    pub(crate) fn new(pattern: Pattern, seed: u64) -> Self {
        let mut random = Seeded::new(seed, GAPS);
        let mut at_s = 0.0;
        if let Pattern::Gamma { per_s, dispersion } = pattern {
            // Starts in the past: a sequence that begins with an arrival would begin with a burst.
            at_s = -10.0 * dispersion / per_s;
            while at_s < 0.0 {
                at_s += random.gamma(1.0 / per_s, 1.0 / dispersion);
            }
        }
        Self { pattern, random, number: 0, at_s }
    }

    /// Returns the part of one thread.
    pub(crate) fn part(self, thread: u32, threads: u32) -> ThreadArrivals {
        self.skip(thread as usize).step_by(threads as usize)
    }
}

pub(crate) type ThreadArrivals = core::iter::StepBy<core::iter::Skip<Sequence>>;

impl Iterator for Sequence {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        let number = self.number;
        self.number += 1;
        #[allow(clippy::cast_precision_loss, reason = "numbers of a run are far below 2^52")]
        let at_s = match self.pattern {
            Pattern::Constant { per_s } => number as f64 / per_s,
            Pattern::Poisson { per_s } => {
                self.at_s += self.random.exponential(1.0 / per_s);
                self.at_s
            }
            Pattern::Gamma { per_s, dispersion } => {
                let at_s = self.at_s;
                self.at_s += self.random.gamma(1.0 / per_s, 1.0 / dispersion);
                at_s
            }
        };
        let at = Duration::try_from_secs_f64(at_s).ok()?; // a time after any run
        Some(Arrival { at, number })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PER_S: f64 = 1000.0;

    fn patterns() -> Vec<Pattern> {
        vec![
            Pattern::Constant { per_s: PER_S },
            Pattern::Poisson { per_s: PER_S },
            Pattern::Gamma { per_s: PER_S, dispersion: 0.2 },
            Pattern::Gamma { per_s: PER_S, dispersion: 20.0 },
        ]
    }

    /// Gaps of the first `count` arrivals, as multiples of the mean gap.
    fn gaps(pattern: Pattern, seed: u64, count: usize) -> Vec<f64> {
        let times: Vec<f64> = Sequence::new(pattern, seed)
            .take(count + 1)
            .map(|arrival| arrival.at.as_secs_f64() * PER_S)
            .collect();
        times.windows(2).map(|two| two[1] - two[0]).collect()
    }

    fn moments(values: &[f64]) -> (f64, f64) {
        #[allow(clippy::cast_precision_loss, reason = "counts of a test")]
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n)
    }

    /// Returns the variance of the arrivals per window divided by their mean.
    fn dispersion(pattern: Pattern, window: Duration, windows: usize) -> f64 {
        let mut counts = vec![0.0; windows];
        for arrival in Sequence::new(pattern, 3) {
            let number = arrival.at.as_nanos() / window.as_nanos();
            match counts.get_mut(usize::try_from(number).unwrap()) {
                Some(count) => *count += 1.0,
                None => break,
            }
        }
        let (mean, variance) = moments(&counts);
        variance / mean
    }

    #[test]
    fn the_seed_determines_the_arrivals() {
        for pattern in patterns() {
            let of = |seed| Sequence::new(pattern, seed).take(500).collect::<Vec<_>>();
            assert_eq!(of(7), of(7));
            let random = !matches!(pattern, Pattern::Constant { .. });
            assert_eq!(of(7) != of(8), random, "{pattern:?}");
            assert!(of(7).windows(2).all(|two| two[0].at <= two[1].at), "{pattern:?}");
        }
    }

    #[test]
    fn constant_gaps_do_not_vary() {
        let (mean, variance) = moments(&gaps(Pattern::Constant { per_s: PER_S }, 1, 10_000));
        assert!((mean - 1.0).abs() < 1e-6 && variance < 1e-6, "{mean} {variance}");
    }

    #[test]
    fn poisson_gaps_are_exponential_and_counts_have_dispersion_one() {
        let poisson = Pattern::Poisson { per_s: PER_S };
        let gaps = gaps(poisson, 1, 100_000);
        let (mean, variance) = moments(&gaps);
        // the standard error of the mean is 0.003, and the standard error of the variance is 0.009
        assert!((mean - 1.0).abs() < 0.015 && (variance - 1.0).abs() < 0.045, "{mean} {variance}");
        let beyond = gaps.iter().filter(|&&gap| gap > 3.0).count();
        // gaps above 3 have a share of e^-3: their number is 4979, with a standard deviation of 69
        assert!(beyond.abs_diff(4979) < 350, "{beyond}");
        let dispersion = dispersion(poisson, Duration::from_millis(50), 4000);
        // the standard error is 0.022
        assert!((dispersion - 1.0).abs() < 0.11, "{dispersion}");
    }

    #[test]
    fn gamma_distributed_gaps_and_their_counts_have_the_dispersion() {
        for asked in [0.05, 0.5, 1.0, 3.0, 30.0] {
            let gamma = Pattern::Gamma { per_s: PER_S, dispersion: asked };
            let (mean, variance) = moments(&gaps(gamma, 1, 400_000));
            // five standard errors; the fourth moment divided by the squared variance is 3 + 6 D
            let error = |of_one: f64| 5.0 * (of_one / 400_000.0).sqrt();
            assert!((mean - 1.0).abs() < error(asked), "{mean}");
            assert!((variance / asked - 1.0).abs() < error(2.0 + 6.0 * asked), "{variance}");
            // in a window of m mean gaps, theory gives D + (1 - D^2) / 6m; the counts have a
            // relative error of 2.2 %
            let found = dispersion(gamma, Duration::from_secs(1), 4000);
            let expected = asked + (1.0 - asked * asked) / 6000.0;
            assert!((found / expected - 1.0).abs() < 0.11, "{found} of {expected}");
        }
    }

    #[test]
    fn bursts_are_not_all_at_the_beginning() {
        let of_first_second = |seed| {
            let gamma = Pattern::Gamma { per_s: 100.0, dispersion: 16.0 };
            let come = |arrival: &Arrival| arrival.at < Duration::from_secs(1);
            Sequence::new(gamma, seed).take_while(come).count()
        };
        let all: usize = (0..1000).map(of_first_second).sum();
        // One second has a standard deviation of 40, and 1000 seconds have 1265. If each sequence
        // began with an arrival, the sum would be 107,500.
        assert!(all.abs_diff(100_000) < 5000, "{all}");
    }
}
