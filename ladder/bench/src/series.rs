//! The result of a measurement: samples by contender and round, and their statistics.

use core::fmt;

use tollgate_calibrate::sibling::SHARED_FROM;
use tollgate_record::Estimate;

use crate::estimate::{median, median_estimate};
use crate::sample::Sample;

/// The samples of all contenders, round by round.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    names: Vec<String>,
    /// Samples by contender, then by round.
    samples: Vec<Vec<Sample>>,
}

/// A reason to doubt the figures, and a remedy.
#[derive(Clone, Debug, PartialEq)]
pub enum Warning {
    /// The core clock changed within samples.
    Drift {
        /// Median of the relative changes.
        share: f64,
    },
    /// The core's sibling thread was busy: see [`tollgate_calibrate::sibling`].
    Shared {
        /// The share of the samples.
        share: f64,
        /// `true` if the figures exclude the rounds of these samples.
        left_out: bool,
    },
    /// Too few rounds for a meaningful interval.
    FewRounds {
        /// The number of rounds.
        rounds: usize,
    },
    /// The thread was off the core for part of the time.
    Interrupted {
        /// The contender.
        name: String,
        /// The share of the wall time during which the thread was off the core.
        share: f64,
    },
    /// Many samples are far from the median.
    Outliers {
        /// The contender.
        name: String,
        /// The share of the samples.
        share: f64,
    },
}

/// Maximum relative change of the clock within a sample without a warning.
const DRIFT: f64 = 0.03;

/// With fewer rounds, clearly less than 95 % of bootstrap intervals contain the true value.
const FEW_ROUNDS: usize = 10;

/// Share of time off the core, or of outliers. At this share or more there is a warning.
const DOUBTFUL: f64 = 0.1;

impl Series {
    pub(crate) fn new(names: impl Iterator<Item = String>) -> Self {
        let names: Vec<_> = names.collect();
        Self { samples: vec![Vec::new(); names.len()], names }
    }

    /// Adds a round: one sample per contender, in their order.
    pub(crate) fn push(&mut self, round: impl Iterator<Item = Sample>) {
        for (samples, sample) in self.samples.iter_mut().zip(round) {
            samples.push(sample);
        }
    }

    /// Returns for each round whether the core was unshared for all these contenders. The lowest
    /// reading of the series is the reference.
    fn whole(&self, contenders: &[usize]) -> Vec<bool> {
        let readings = self.samples.iter().flatten().filter_map(|s| s.gauge);
        let lowest = readings.min_by(f64::total_cmp);
        let whole = |s: &Sample| match (s.gauge, lowest) {
            (Some(gauge), Some(lowest)) => gauge < SHARED_FROM * lowest,
            _ => true,
        };
        (0..self.rounds())
            .map(|round| contenders.iter().all(|&c| whole(&self.samples[c][round])))
            .collect()
    }

    /// Returns the share of all samples in which the core was shared.
    fn shared(&self) -> f64 {
        let count = |shared: bool| if shared { 1.0 } else { 0.0 };
        let of = |c: usize| self.whole(&[c]).into_iter().map(|whole| count(!whole));
        let shared: Vec<f64> = (0..self.names.len()).flat_map(of).collect();
        shared.iter().sum::<f64>() / shared.iter().map(|_| 1.0).sum::<f64>().max(1.0)
    }

    /// Returns the rounds used for figures of these contenders. These are the rounds in which the
    /// core was unshared, if there are enough of them; otherwise all rounds.
    fn used(&self, contenders: &[usize]) -> impl Iterator<Item = usize> + use<> {
        let whole = self.whole(contenders);
        let all = whole.iter().filter(|&&whole| whole).count() < FEW_ROUNDS;
        whole
            .into_iter()
            .enumerate()
            .filter_map(move |(round, whole)| (all || whole).then_some(round))
    }

    /// Returns the number of rounds.
    pub fn rounds(&self) -> usize {
        self.samples[0].len()
    }

    /// Returns the samples of a contender, by round.
    ///
    /// # Panics
    ///
    /// If there is no such contender.
    pub fn samples(&self, contender: usize) -> &[Sample] {
        &self.samples[contender]
    }

    /// Returns the core cycles per operation; `None` if cycles cannot be measured.
    pub fn cycles(&self, contender: usize) -> Option<Estimate> {
        let samples = &self.samples[contender];
        let cycles: Option<Vec<f64>> =
            self.used(&[contender]).map(|round| samples[round].cycles).collect();
        median_estimate(&cycles?)
    }

    /// Returns the wall time per operation in nanoseconds.
    ///
    /// # Panics
    ///
    /// If there is no such contender.
    pub fn nanos(&self, contender: usize) -> Estimate {
        self.estimate(contender, |s| s.nanos)
    }

    /// Returns the CPU time of the thread per operation in nanoseconds.
    ///
    /// # Panics
    ///
    /// If there is no such contender.
    pub fn cpu_nanos(&self, contender: usize) -> Estimate {
        self.estimate(contender, |s| s.cpu_nanos)
    }

    fn estimate(&self, contender: usize, of: impl Fn(&Sample) -> f64) -> Estimate {
        let samples = &self.samples[contender];
        let values: Vec<f64> = self.used(&[contender]).map(|round| of(&samples[round])).collect();
        median_estimate(&values).expect("a series has a round, and times are finite")
    }

    /// Returns the time of an operation of `above` relative to `below`: the median of the rounds'
    /// ratios. Not in cycles: a core may have a lower clock while it runs one of them.
    ///
    /// # Panics
    ///
    /// If there is no such contender.
    pub fn ratio(&self, above: usize, below: usize) -> Estimate {
        let nanos = |contender: usize, round: usize| self.samples[contender][round].nanos;
        let rounds = self.used(&[above, below]);
        let ratios: Vec<f64> =
            rounds.map(|round| nanos(above, round) / nanos(below, round)).collect();
        median_estimate(&ratios).expect("a series has a round, and an operation takes time")
    }

    /// Reasons to doubt the figures.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let rounds = self.rounds();
        if rounds < FEW_ROUNDS {
            warnings.push(Warning::FewRounds { rounds });
        }
        let drifts: Vec<f64> = self.samples.iter().flatten().map(|s| s.drift).collect();
        let share = median(&drifts);
        if share > DRIFT {
            warnings.push(Warning::Drift { share });
        }
        let share = self.shared();
        if share > DOUBTFUL {
            let left_out = (0..self.names.len()).all(|c| self.used(&[c]).count() < rounds);
            warnings.push(Warning::Shared { share, left_out });
        }
        for (contender, name) in self.names.iter().enumerate() {
            let all = &self.samples[contender];
            let samples: Vec<Sample> = self.used(&[contender]).map(|round| all[round]).collect();
            let off: Vec<f64> = samples.iter().map(|s| 1.0 - s.cpu_nanos / s.nanos).collect();
            let share = median(&off);
            if share > DOUBTFUL {
                warnings.push(Warning::Interrupted { name: name.clone(), share });
            }
            let share = outliers(samples.iter().map(|s| s.cycles.unwrap_or(s.nanos)).collect());
            if share > DOUBTFUL {
                warnings.push(Warning::Outliers { name: name.clone(), share });
            }
        }
        warnings
    }
}

/// Returns the share of values that differ from the median by more than a tenth of it.
fn outliers(values: Vec<f64>) -> f64 {
    let middle = median(&values);
    let count = |far: bool| if far { 1.0 } else { 0.0 };
    let far: f64 = values.iter().map(|v| count((v - middle).abs() > 0.1 * middle)).sum();
    let all: f64 = values.iter().map(|_| 1.0).sum();
    far / all.max(1.0)
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Drift { share } => write!(
                f,
                "the core clock changed by {:.0} % within samples: let the machine settle, set the \
                 governor to performance, and run again",
                100.0 * share
            ),
            Self::Shared { share, left_out: true } => write!(
                f,
                "another program used the core's sibling thread in {:.0} % of the samples: these \
                 are left out; other figures of that time (servers, load) include its effect",
                100.0 * share
            ),
            Self::Shared { share, left_out: false } => write!(
                f,
                "another program used the core's sibling thread in {:.0} % of the samples, and \
                 the others are too few to leave these out: measure longer (--seconds), or at \
                 another time",
                100.0 * share
            ),
            Self::FewRounds { rounds } => write!(
                f,
                "only {rounds} rounds, too few for the intervals: measure longer (--seconds)"
            ),
            Self::Interrupted { name, share } => write!(
                f,
                "{name} was off the core for {:.0} % of its time: stop other programs, or pin \
                 this program (taskset -c 1), and run again",
                100.0 * share
            ),
            Self::Outliers { name, share } => write!(
                f,
                "{:.0} % of the samples of {name} lie more than 10 % from the median: stop other \
                 programs, or measure longer (--seconds); ratios are more reliable than single \
                 figures",
                100.0 * share
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(nanos: f64) -> Sample {
        Sample { cycles: None, nanos, cpu_nanos: nanos, drift: 0.0, gauge: None }
    }

    fn series(samples: Vec<Vec<Sample>>) -> Series {
        let names = ["a", "b"].into_iter().map(str::to_owned);
        let mut series = Series::new(names.take(samples.len()));
        for round in 0..samples[0].len() {
            series.push(samples.iter().map(|s| s[round]));
        }
        series
    }

    #[test]
    fn ratios_are_taken_within_rounds() {
        // Both contenders become three times slower in the second half; the ratio does not change.
        let times = |one: f64| (0..20).map(move |i| sample(if i < 10 { one } else { 3.0 * one }));
        let series = series(vec![times(10.0).collect(), times(25.0).collect()]);
        let ratio = series.ratio(1, 0);
        assert_eq!((ratio.point(), ratio.interval()), (2.5, (2.5, 2.5)));
        assert_eq!(series.cycles(0), None);
        assert_eq!(series.rounds(), 20);
    }

    #[test]
    fn rounds_of_a_shared_core_are_excluded_if_enough_remain() {
        // The sibling thread is busy in the last rounds: the gauge and the time of `a` nearly
        // double.
        let rounds = |whole: usize, nanos: f64, slower: f64| {
            let one = move |i: usize| match i < whole {
                true => Sample {
                    gauge: Some(if i.is_multiple_of(2) { 100.0 } else { 120.0 }),
                    ..sample(nanos)
                },
                false => Sample { gauge: Some(170.0), ..sample(slower) },
            };
            (0..30).map(one).collect::<Vec<_>>()
        };
        let some = series(vec![rounds(12, 10.0, 19.0), rounds(12, 20.0, 20.0)]);
        assert_eq!((some.nanos(0).point(), some.nanos(0).samples()), (10.0, 12));
        assert_eq!((some.ratio(1, 0).point(), some.ratio(1, 0).samples()), (2.0, 12));
        assert_eq!(some.warnings(), [Warning::Shared { share: 0.6, left_out: true }]);

        let few = series(vec![rounds(3, 10.0, 19.0)]);
        assert_eq!((few.nanos(0).point(), few.nanos(0).samples()), (19.0, 30));
        assert_eq!(few.warnings()[0], Warning::Shared { share: 0.9, left_out: false });

        // a ratio uses a round only if the core was unshared for both contenders
        let behind: Vec<_> = rounds(18, 20.0, 40.0).into_iter().rev().collect();
        assert_eq!(series(vec![rounds(20, 10.0, 19.0), behind]).ratio(1, 0).samples(), 30);
    }

    #[test]
    fn doubtful_series_have_warnings_with_a_remedy() {
        let steady: Vec<_> = (0..10).map(|_| sample(10.0)).collect();
        assert_eq!(series(vec![steady.clone()]).warnings(), []);

        let mut far = steady.clone();
        far[..3].iter_mut().for_each(|s| (s.nanos, s.cpu_nanos) = (15.0, 15.0));
        let warnings = series(vec![far]).warnings();
        assert_eq!(warnings, [Warning::Outliers { name: "a".into(), share: 0.3 }]);
        assert!(warnings[0].to_string().starts_with("30 % of the samples of a lie"));

        let off = steady.iter().map(|s| Sample { cpu_nanos: 5.0, ..*s }).collect();
        let warnings = series(vec![off]).warnings();
        assert_eq!(warnings, [Warning::Interrupted { name: "a".into(), share: 0.5 }]);

        let moved = steady.iter().map(|s| Sample { drift: 0.2, ..*s }).collect();
        assert_eq!(series(vec![moved]).warnings(), [Warning::Drift { share: 0.2 }]);

        let few = series(vec![steady[..9].to_vec()]).warnings();
        assert_eq!(few, [Warning::FewRounds { rounds: 9 }]);
    }
}
