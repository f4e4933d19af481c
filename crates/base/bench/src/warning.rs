//! What speaks against a measurement, and what to do about it.

use core::fmt;

use crate::Series;
use crate::estimate::quantile;
use crate::sample::as_f64;

/// Something about the machine that makes figures doubtful. Its text says what to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Warning {
    /// Many samples of a contender lie far above its others: it was interrupted.
    Outliers {
        /// The contender's name.
        contender: String,
        /// Samples more than three quartile distances above the upper quartile.
        outliers: usize,
        /// All samples.
        samples: usize,
    },
    /// The core clock moved during the measurement.
    ClockDrift {
        /// The 5 % quantile of the clock over all samples, in cycles per second.
        low_hz: f64,
        /// The 95 % quantile.
        high_hz: f64,
    },
    /// The thread was kept off the processor for part of the time.
    Waiting {
        /// The contender's name.
        contender: String,
        /// Thread CPU time over wall time of the median sample, below 1.
        cpu_share: f64,
    },
    /// There are too few samples for an interval to mean much.
    FewRounds {
        /// Rounds made.
        rounds: usize,
    },
    /// Other programs keep the machine busy.
    Busy {
        /// Runnable threads over the last minute, on average.
        load_average: f64,
    },
}

/// The share of outliers that is still ordinary.
const OUTLIERS_MAX: f64 = 0.05;
/// The spread of the core clock, relative, that is still ordinary.
const CLOCK_SPREAD_MAX: f64 = 0.05;
/// The share of the wall time that the thread must have had.
const CPU_SHARE_MIN: f64 = 0.95;
/// Rounds from which the bootstrap interval holds what it promises.
const ROUNDS_MIN: usize = 10;

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Outliers { contender, outliers, samples } => write!(
                f,
                "{contender}: {outliers} of {samples} samples lie far above the others: something \
                 interrupts this machine; stop other programs, or measure longer"
            ),
            Self::ClockDrift { low_hz, high_hz } => write!(
                f,
                "the core clock moved between {:.2} and {:.2} GHz: trust cycles and ratios more than \
                 times; fix the clock (governor, boost), or measure longer",
                low_hz / 1e9,
                high_hz / 1e9
            ),
            Self::Waiting { contender, cpu_share } => write!(
                f,
                "{contender}: the thread ran for {:.0} % of the time only: something else wants this \
                 core; stop it, or measure on an idle machine",
                100.0 * cpu_share
            ),
            Self::FewRounds { rounds } => write!(
                f,
                "{rounds} rounds are too few for the interval to hold 95 %: measure longer"
            ),
            Self::Busy { load_average } => write!(
                f,
                "load average {load_average:.2} at the start: something else runs here; wait until it \
                 is done, and measure again"
            ),
        }
    }
}

/// All warnings about the samples of a series.
pub(crate) fn of_series(series: &Series) -> Vec<Warning> {
    let contenders = 0..series.names().len();
    let rounds = series.rounds();
    let few = (rounds < ROUNDS_MIN).then_some(Warning::FewRounds { rounds });
    few.into_iter()
        .chain(clock_drift(series))
        .chain(contenders.clone().filter_map(|contender| outliers(series, contender)))
        .chain(contenders.filter_map(|contender| waiting(series, contender)))
        .collect()
}

fn outliers(series: &Series, contender: usize) -> Option<Warning> {
    let mut costs = series.column(contender, |sample| sample.nanos);
    costs.sort_by(f64::total_cmp);
    let (lower, upper) = (quantile(&costs, 0.25), quantile(&costs, 0.75));
    // Samples that agree to a thousandth have a quartile distance of about nothing.
    let limit = upper + (3.0 * (upper - lower)).max(0.01 * upper);
    let outliers = costs.iter().filter(|cost| **cost > limit).count();
    (as_f64(outliers as u64) > OUTLIERS_MAX * as_f64(costs.len() as u64)).then(|| {
        Warning::Outliers {
            contender: series.names()[contender].clone(),
            outliers,
            samples: costs.len(),
        }
    })
}

fn clock_drift(series: &Series) -> Option<Warning> {
    let mut hz: Vec<f64> = (0..series.names().len())
        .flat_map(|contender| series.samples(contender))
        // By CPU time: a thread that waits would look like a slow clock.
        .filter_map(|sample| Some(sample.cycles? / sample.cpu_nanos * 1e9))
        .filter(|hz| hz.is_finite())
        .collect();
    if hz.is_empty() {
        return None;
    }
    hz.sort_by(f64::total_cmp);
    let (low_hz, high_hz) = (quantile(&hz, 0.05), quantile(&hz, 0.95));
    (high_hz - low_hz > CLOCK_SPREAD_MAX * low_hz)
        .then_some(Warning::ClockDrift { low_hz, high_hz })
}

fn waiting(series: &Series, contender: usize) -> Option<Warning> {
    let mut shares = series.column(contender, |sample| sample.cpu_nanos / sample.nanos);
    shares.sort_by(f64::total_cmp);
    let cpu_share = quantile(&shares, 0.5);
    (cpu_share < CPU_SHARE_MIN)
        .then(|| Warning::Waiting { contender: series.names()[contender].clone(), cpu_share })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sample;

    /// Twenty rounds of a quiet machine at 4 GHz.
    fn quiet() -> Vec<Sample> {
        let one = |round: u32| {
            let nanos = 100.0 + f64::from(round % 5) / 10.0;
            Sample { nanos, cpu_nanos: nanos, cycles: Some(4.0 * nanos), clock_drift: Some(0.0) }
        };
        (0..20).map(one).collect()
    }

    fn warnings(samples: Vec<Sample>) -> Vec<Warning> {
        let warnings = Series::new(vec!["x".into()], vec![samples]).warnings();
        for warning in &warnings {
            assert_eq!(warning.to_string().lines().count(), 1);
        }
        warnings
    }

    #[test]
    fn a_quiet_machine_gives_none() {
        assert_eq!(warnings(quiet()), []);
    }

    #[test]
    fn each_trouble_is_named() {
        let mut samples = quiet();
        for sample in &mut samples[..2] {
            sample.nanos *= 3.0;
        }
        let outliers = Warning::Outliers { contender: "x".into(), outliers: 2, samples: 20 };
        assert_eq!(warnings(samples), [outliers]);

        let mut samples = quiet();
        for sample in &mut samples[10..] {
            sample.cycles = Some(3.0 * sample.nanos);
        }
        let [Warning::ClockDrift { low_hz, high_hz }] = warnings(samples)[..] else { panic!() };
        assert!((low_hz - 3e9).abs() < 1.0 && (high_hz - 4e9).abs() < 1.0);

        let mut samples = quiet();
        for sample in &mut samples {
            sample.nanos *= 2.0;
        }
        let waiting = Warning::Waiting { contender: "x".into(), cpu_share: 0.5 };
        assert_eq!(warnings(samples), [waiting]);

        assert_eq!(warnings(quiet()[..3].to_vec()), [Warning::FewRounds { rounds: 3 }]);
    }
}
