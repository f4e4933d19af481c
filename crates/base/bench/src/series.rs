//! What a measurement gave: samples by contender and round, and what follows from them.

use tollgate_record::Estimate;

use crate::estimate::median_estimate;
use crate::{Sample, Warning, warning};

/// The samples of an interleaved measurement: one per contender and round, each per operation.
///
/// Contenders are named by their place in the slice that was measured.
#[derive(Clone, Debug)]
pub struct Series {
    names: Vec<String>,
    /// By contender, then by round; all of one length, at least 1; amounts finite.
    samples: Vec<Vec<Sample>>,
}

impl Series {
    /// A series of samples per operation; every contender has one for each round.
    pub(crate) fn new(names: Vec<String>, samples: Vec<Vec<Sample>>) -> Self {
        debug_assert!(samples.iter().all(|one| one.len() == samples[0].len() && !one.is_empty()));
        Self { names, samples }
    }

    /// Rounds made, at least 1: the samples of each contender.
    #[must_use]
    pub fn rounds(&self) -> usize {
        self.samples[0].len()
    }

    /// The contenders' names, in their order.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The samples of one contender, per operation, in the order of rounds.
    ///
    /// # Panics
    ///
    /// There is no such contender; so do all functions that take a contender.
    #[must_use]
    pub fn samples(&self, contender: usize) -> &[Sample] {
        &self.samples[contender]
    }

    /// Core cycles per operation: the median with its 95 % bootstrap interval. `None` where cycles
    /// cannot be told.
    #[must_use]
    pub fn cycles(&self, contender: usize) -> Option<Estimate> {
        let cycles: Option<Vec<f64>> =
            self.samples[contender].iter().map(|sample| sample.cycles).collect();
        cycles.map(|cycles| estimate(&cycles))
    }

    /// Nanoseconds on the wall per operation: the median with its 95 % bootstrap interval.
    #[must_use]
    pub fn nanos(&self, contender: usize) -> Estimate {
        estimate(&self.column(contender, |sample| sample.nanos))
    }

    /// Nanoseconds of this thread's CPU time per operation: the median with its 95 % bootstrap
    /// interval.
    #[must_use]
    pub fn cpu_nanos(&self, contender: usize) -> Estimate {
        estimate(&self.column(contender, |sample| sample.cpu_nanos))
    }

    /// How many times the cost of `b` an operation of `a` costs: the median over rounds of the
    /// round's own ratio, in core cycles (wall time where cycles cannot be told), with its 95 %
    /// bootstrap interval. Above 1, `a` is the slower one; `ratio(b, a)` reads as `a`'s speed-up.
    #[must_use]
    pub fn ratio(&self, a: usize, b: usize) -> Estimate {
        let cost = |sample: &Sample| sample.cycles.unwrap_or(sample.nanos);
        let (a, b) = (self.column(a, cost), self.column(b, cost));
        let ratios: Vec<f64> =
            a.iter().zip(&b).map(|(a, b)| a / b.max(f64::MIN_POSITIVE)).collect();
        estimate(&ratios)
    }

    /// What speaks against trusting these samples, and what to do about it.
    #[must_use]
    pub fn warnings(&self) -> Vec<Warning> {
        warning::of_series(self)
    }

    /// One number of every sample of a contender.
    pub(crate) fn column(&self, contender: usize, number: impl Fn(&Sample) -> f64) -> Vec<f64> {
        self.samples[contender].iter().map(number).collect()
    }
}

fn estimate(samples: &[f64]) -> Estimate {
    median_estimate(samples).expect("a series has samples, and clocks give finite numbers")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(nanos: f64, cycles: Option<f64>) -> Sample {
        Sample { nanos, cpu_nanos: nanos, cycles, clock_drift: cycles.map(|_| 0.0) }
    }

    #[test]
    fn ratios_are_paired_by_round() {
        // The machine slows down fivefold on the way; the ratio of each round is 2 all the same.
        let a = (1..=21).map(|round| sample(1.0, Some(2.0 * f64::from(round)))).collect();
        let b = (1..=21).map(|round| sample(1.0, Some(f64::from(round)))).collect();
        let series = Series::new(vec!["a".into(), "b".into()], vec![a, b]);
        assert_eq!(series.ratio(0, 1).interval(), (2.0, 2.0));
        assert_eq!(series.ratio(1, 0).point(), 0.5);
        let (low, high) = series.cycles(0).expect("given").interval();
        assert!(high > low, "the figure itself is in doubt");
    }

    #[test]
    fn without_cycles_the_wall_decides() {
        let one = |nanos| vec![sample(nanos, None); 3];
        let series = Series::new(vec!["a".into(), "b".into()], vec![one(30.0), one(10.0)]);
        assert_eq!(series.cycles(0), None);
        assert_eq!(series.ratio(0, 1).point(), 3.0);
    }
}
