//! The ratio of a figure on two sides, and the basis of its interval.

use tollgate_bench::{median_estimate, median_ratio_estimate};
use tollgate_record::{Estimate, Record, Unit};

/// Minimum number of values whose extremes contain the median with 95 % confidence: 1 - 2^(1 - 6).
const VALUES_95: u64 = 6;

/// The figure of the second side divided by the figure of the first side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Change {
    pub(super) ratio: Estimate,
    pub(super) basis: Basis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Basis {
    /// Not sampled: bytes and counts are exact.
    Exact,
    /// The ratios of this many pairs of alternating runs.
    Pairs(u64),
    /// At least this many runs on each side, not alternating: each side is resampled separately.
    Runs(u64),
    /// The intervals of one run on each side, with at least this many samples.
    Intervals(u64),
}

impl Basis {
    /// Returns whether there are enough values for a 95 % interval.
    pub(super) const fn is_enough(self) -> bool {
        match self {
            Self::Exact => true,
            Self::Pairs(values) | Self::Runs(values) | Self::Intervals(values) => {
                values >= VALUES_95
            }
        }
    }

    /// Returns whether the interval includes the machine's drift between runs.
    pub(super) const fn knows_the_machine(self) -> bool {
        matches!(self, Self::Exact | Self::Pairs(_))
    }
}

/// Returns the change from the runs of the first side to those of the second. Returns `None` if a
/// figure is 0 or less, because there is no ratio.
pub(super) fn change(before: &[Record], after: &[Record]) -> Option<Change> {
    let (first, second) = (before.last()?, after.last()?);
    if [first, second].iter().all(|record| is_exact(record)) {
        let ratio = quotient(second.estimate.point(), first.estimate.point())?;
        return Some(Change { ratio: Estimate::exact(ratio).ok()?, basis: Basis::Exact });
    }
    if let ([first], [second]) = (before, after) {
        let ratio = of_intervals(&first.estimate, &second.estimate)?;
        return Some(Change { ratio, basis: Basis::Intervals(ratio.samples()) });
    }
    if let Some(pairs) = in_turn(before, after) {
        let ratio = |(before, after): &(f64, f64)| quotient(*after, *before);
        let ratios = pairs.iter().map(ratio).collect::<Option<Vec<f64>>>()?;
        let ratio = median_estimate(&ratios)?;
        return Some(Change { ratio, basis: Basis::Pairs(ratio.samples()) });
    }
    let points = |runs: &[Record]| -> Vec<f64> {
        runs.iter().map(|record| record.estimate.point()).collect()
    };
    let ratio = median_ratio_estimate(&points(after), &points(before))?;
    Some(Change { ratio, basis: Basis::Runs(ratio.samples()) })
}

fn is_exact(record: &Record) -> bool {
    let (low, high) = record.estimate.interval();
    matches!(record.unit, Unit::Bytes | Unit::Count) && low == high
}

fn quotient(after: f64, before: f64) -> Option<f64> {
    let ratio = after / before;
    (after > 0.0 && before > 0.0 && ratio.is_finite()).then_some(ratio)
}

/// Returns the ratio of two figures that were estimated separately. The two intervals give the
/// variances of the logarithms (method of Zou and Donner, Statistics in Medicine 27, 2008). The
/// method is exact if both logarithms are normal, and it keeps the skew of each side.
fn of_intervals(before: &Estimate, after: &Estimate) -> Option<Estimate> {
    let logarithms = |estimate: &Estimate| {
        let (low, high) = estimate.interval();
        (low > 0.0).then(|| (estimate.point().ln() - low.ln(), high.ln() - estimate.point().ln()))
    };
    let (before_down, before_up) = logarithms(before)?;
    let (after_down, after_up) = logarithms(after)?;
    let ratio = quotient(after.point(), before.point())?;
    let low = ratio * (-after_down.hypot(before_up)).exp();
    let high = ratio * after_up.hypot(before_down).exp();
    Estimate::new(ratio, (low, high), before.samples().min(after.samples())).ok()
}

/// Returns the figures of two sides in pairs of successive runs (A B, B A, A B). `None` unless each
/// pair has one run of each side.
fn in_turn(before: &[Record], after: &[Record]) -> Option<Vec<(f64, f64)>> {
    let mut runs: Vec<(bool, &Record)> = before.iter().map(|record| (false, record)).collect();
    runs.extend(after.iter().map(|record| (true, record)));
    runs.sort_by_key(|(_, record)| record.taken_at);
    let pair = |pair: &[(bool, &Record)]| match pair {
        [(false, before), (true, after)] | [(true, after), (false, before)] => {
            Some((before.estimate.point(), after.estimate.point()))
        }
        _ => None,
    };
    runs.chunks(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::compare::tests::{at, record};

    fn estimate(point: f64, interval: (f64, f64)) -> Estimate {
        Estimate::new(point, interval, 9).unwrap()
    }

    #[test]
    fn one_run_each_has_the_interval_of_both() {
        let ratio = of_intervals(&estimate(100.0, (90.0, 120.0)), &estimate(200.0, (200.0, 200.0)));
        let (low, high) = ratio.unwrap().interval();
        assert!((low - 200.0 / 120.0).abs() < 1e-9 && (high - 200.0 / 90.0).abs() < 1e-9);
        let ratio = of_intervals(&estimate(1.0, (0.9, 1.1)), &estimate(1.0, (0.9, 1.1))).unwrap();
        let (low, high) = ratio.interval();
        // wider than the interval of one side, narrower than the worst case of both intervals
        assert!(0.9 / 1.1 < low && low < 0.9 && 1.1 < high && high < 1.1 / 0.9);
        assert!(of_intervals(&estimate(1.0, (0.0, 2.0)), &estimate(1.0, (1.0, 1.0))).is_none());
    }

    #[test]
    fn intervals_of_ratios_hold_the_truth_as_often_as_they_say() {
        // Two figures with normal logarithms, known only by point and interval.
        let mut random = fastrand::Rng::with_seed(11);
        let mut normal = || (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        let mut of = |truth: f64, deviation: f64| {
            let point = truth * (deviation * normal()).exp();
            let width = (1.96 * deviation).exp();
            estimate(point, (point / width, point * width))
        };
        let holds = (0..1000).filter(|_| {
            let ratio = of_intervals(&of(5.0, 0.03), &of(10.0, 0.05)).unwrap();
            let (low, high) = ratio.interval();
            low <= 2.0 && 2.0 <= high
        });
        let held = holds.count();
        assert!((930..=970).contains(&held), "{held} of 1000");
    }

    #[test]
    fn runs_in_turn_are_paired_and_a_drifting_machine_is_not_in_the_ratio() {
        // The machine slows down steadily; the second side is always 10 % faster.
        let rate = |minute: i32| 1000.0 * 0.9_f64.powi(minute);
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for pair in 0..8 {
            before.push(at(record("server/x?by=tollgate", rate(pair)), 2 * i64::from(pair)));
            let faster = record("server/x?by=tollgate", 1.1 * rate(pair));
            after.push(at(faster, 2 * i64::from(pair) + 1));
        }
        let paired = change(&before, &after).unwrap();
        assert_eq!(paired.basis, Basis::Pairs(8));
        assert!((paired.ratio.point() - 1.1).abs() < 1e-9, "{:?}", paired.ratio);
        assert!(paired.ratio.interval().0 > 1.09);
        // All runs of one side precede all runs of the other side. The runs do not alternate, so
        // the interval must include the drift.
        let late: Vec<Record> =
            after.iter().enumerate().map(|(i, r)| at(r.clone(), 100 + i as i64)).collect();
        let apart = change(&before, &late).unwrap();
        assert_eq!(apart.basis, Basis::Runs(8));
        assert!(apart.ratio.interval().0 < 1.0, "{:?}", apart.ratio);
    }

    #[test]
    fn few_runs_prove_nothing_and_bytes_prove_themselves() {
        let runs = |times: [i64; 3], rate: f64| times.map(|t| at(record("server/x", rate), t));
        let found = change(&runs([0, 2, 4], 1.0), &runs([1, 3, 5], 2.0)).unwrap();
        assert_eq!((found.basis, found.basis.is_enough()), (Basis::Pairs(3), false));
        let bytes = |bytes| Record {
            unit: Unit::Bytes,
            estimate: Estimate::exact(bytes).unwrap(),
            ..record("kernel/x", bytes)
        };
        let found = change(&[bytes(100.0)], &[bytes(150.0)]).unwrap();
        assert_eq!((found.basis, found.ratio.interval()), (Basis::Exact, (1.5, 1.5)));
        assert!(change(&[bytes(0.0)], &[bytes(150.0)]).is_none());
    }
}
