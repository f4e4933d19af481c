//! Medians, quantiles, and bootstrap intervals.
//!
//! Times of a program have a hard floor and a long tail, so the middle is told by the median, and
//! the doubt by drawing the samples again (bootstrap), which assumes no shape. The draws come from a
//! generator with a fixed seed: the same samples give the same interval.

use tollgate_record::{BadEstimate, Estimate};

/// How often the samples are drawn again.
const DRAWS: usize = 1_000;

/// The ends of a 95 % interval, as quantiles.
const INTERVAL: (f64, f64) = (0.025, 0.975);

/// The generator's seed: any fixed number serves.
const SEED: u64 = 0x746f_6c6c_6761_7465;

/// The value below which the share `q` of `sorted` lies, between neighbours by a straight line;
/// `q` in [0, 1]. The quantile at 0.5 is the median.
///
/// # Panics
///
/// `sorted` is empty or `q` is outside [0, 1].
#[must_use]
pub fn quantile(sorted: &[f64], q: f64) -> f64 {
    assert!(!sorted.is_empty(), "no samples have no quantile");
    assert!((0.0..=1.0).contains(&q), "a quantile is in [0, 1]");
    let place = q * count(sorted.len() - 1);
    let below = floor(place).min(sorted.len() - 1);
    let above = (below + 1).min(sorted.len() - 1);
    let part = place - count(below);
    sorted[below] + part * (sorted[above] - sorted[below])
}

/// The median of `samples` in any order. `samples` come back reordered.
///
/// # Panics
///
/// `samples` is empty.
#[must_use]
pub fn median(samples: &mut [f64]) -> f64 {
    assert!(!samples.is_empty(), "no samples have no median");
    let is_odd = samples.len() % 2 == 1;
    let (below, &mut upper, _) = samples.select_nth_unstable_by(samples.len() / 2, f64::total_cmp);
    if is_odd {
        return upper;
    }
    let lower = below.iter().copied().max_by(f64::total_cmp).expect("two samples or more");
    lower + (upper - lower) / 2.0
}

/// The median of `samples` with its 95 % bootstrap interval.
///
/// # Errors
///
/// No samples, or one that is not finite.
pub fn median_estimate(samples: &[f64]) -> Result<Estimate, BadEstimate> {
    if samples.is_empty() {
        return Err(BadEstimate::NoSamples);
    }
    if !samples.iter().all(|sample| sample.is_finite()) {
        return Err(BadEstimate::NotFinite);
    }
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut drawn = vec![0.0; samples.len()];
    let mut medians: Vec<f64> = (0..DRAWS)
        .map(|_| {
            drawn.fill_with(|| samples[random.usize(..samples.len())]);
            median(&mut drawn)
        })
        .collect();
    medians.sort_by(f64::total_cmp);
    drawn.copy_from_slice(samples);
    let point = median(&mut drawn);
    let (low, high) = (quantile(&medians, INTERVAL.0), quantile(&medians, INTERVAL.1));
    // Draws of a lopsided handful can miss the point itself.
    Estimate::new(point, (low.min(point), high.max(point)), samples.len() as u64)
}

/// A length as a number.
#[allow(clippy::cast_precision_loss, reason = "numbers of samples are far below 2^53")]
fn count(length: usize) -> f64 {
    length as f64
}

/// The index at or below a place that is not negative.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
fn floor(place: f64) -> usize {
    place as usize
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn quantiles_of_known_numbers() {
        let sorted = [1.0, 2.0, 3.0, 4.0, 10.0];
        let at = |q| quantile(&sorted, q);
        assert_eq!((at(0.0), at(0.25), at(0.5), at(0.9), at(1.0)), (1.0, 2.0, 3.0, 7.6, 10.0));
        assert_eq!(quantile(&[7.0], 0.3), 7.0);
    }

    #[test]
    fn medians_of_known_numbers() {
        assert_eq!(median(&mut [3.0]), 3.0);
        assert_eq!(median(&mut [9.0, 1.0]), 5.0);
        assert_eq!(median(&mut [9.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [8.0, 1.0, 2.0, 4.0]), 3.0);
        assert_eq!(median(&mut [5.0, 5.0, 5.0, 5.0]), 5.0);
    }

    #[test]
    fn the_median_is_the_middle_quantile() {
        let mut random = fastrand::Rng::with_seed(1);
        for length in 1..60 {
            let mut samples: Vec<f64> = (0..length).map(|_| random.f64()).collect();
            let median = median(&mut samples);
            samples.sort_by(f64::total_cmp);
            assert!((median - quantile(&samples, 0.5)).abs() < 1e-12);
        }
    }

    #[test]
    fn the_interval_holds_the_truth() {
        // Three shapes with known medians; of each, 400 sets of 31 samples. 95 % are promised, 90 %
        // demanded: 400 trials at 95 % fall below 90 % once in a hundred thousand, and the seed is
        // fixed anyway.
        let mut random = fastrand::Rng::with_seed(7);
        type Shape = (&'static str, f64, fn(f64) -> f64);
        let shapes: [Shape; 3] = [
            ("uniform", 0.5, |u| u),
            ("exponential, like times", core::f64::consts::LN_2, |u| -(1.0 - u).ln()),
            ("logistic, two tails", 0.0, |u| ((u + 1e-9) / (1.0 - u + 1e-9)).ln()),
        ];
        for (name, truth, inverse) in shapes {
            let held = (0..400)
                .filter(|_| {
                    let samples: Vec<f64> = (0..31).map(|_| inverse(random.f64())).collect();
                    let (low, high) = median_estimate(&samples).unwrap().interval();
                    low <= truth && truth <= high
                })
                .count();
            assert!(held >= 360, "{name}: {held} of 400");
            assert!(held < 400, "{name}: an interval that always holds is too wide");
        }
    }

    #[test]
    fn more_samples_narrow_the_interval() {
        let mut random = fastrand::Rng::with_seed(3);
        let mut width = |length: usize| {
            let samples: Vec<f64> = (0..length).map(|_| random.f64()).collect();
            let (low, high) = median_estimate(&samples).unwrap().interval();
            high - low
        };
        // A hundred times the samples: a tenth of the width, give or take.
        let ratio = width(20) / width(2_000);
        assert!((3.0..30.0).contains(&ratio), "{ratio}");
    }

    #[test]
    fn same_samples_same_interval() {
        let samples: Vec<f64> = (0..50).map(|i| f64::from(i * i % 37)).collect();
        assert_eq!(median_estimate(&samples), median_estimate(&samples));
    }

    #[test]
    fn refuses_no_samples_and_no_numbers() {
        assert_eq!(median_estimate(&[]), Err(BadEstimate::NoSamples));
        assert_eq!(median_estimate(&[1.0, f64::NAN]), Err(BadEstimate::NotFinite));
        let one = median_estimate(&[2.0]).unwrap();
        assert_eq!((one.point(), one.interval(), one.samples()), (2.0, (2.0, 2.0), 1));
    }
}
