//! Medians and their bootstrap intervals.

use tollgate_record::Estimate;

/// The number of resamples of a bootstrap. With 1000 of them, 25 values lie beyond each end of a
/// 95 % interval.
const RESAMPLES: usize = 1000;

/// Returns the median; the mean of the middle two for an even number of values. 0 for no values.
pub fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    median_in_place(&mut values)
}

fn median_in_place(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let (middle, odd) = (values.len() / 2, values.len() % 2 == 1);
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if odd {
        return upper;
    }
    let lower = below.iter().copied().max_by(f64::total_cmp);
    lower.map_or(upper, |lower| f64::midpoint(lower, upper))
}

/// Returns the median with its 95 % bootstrap interval. The generator's seed is fixed, so the same
/// values give the same interval. `None` if there are no values, or a value is not finite.
pub fn median_estimate(values: &[f64]) -> Option<Estimate> {
    if values.is_empty() || values.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let mut rng = fastrand::Rng::with_seed(1);
    bootstrapped(median(values), values.len(), || resampled(values, &mut rng))
}

/// Returns the median of `above` divided by the median of `below`, for separate samples, with its
/// 95 % bootstrap interval. Each side is resampled separately. For paired values, use
/// [`median_estimate`] of the ratios, which gives a narrower interval. `None` if a side is empty or
/// has a value that is not finite and positive.
///
/// ```
/// let ratio = tollgate_bench::median_ratio_estimate(&[6.0, 6.1, 5.9], &[2.0, 2.0, 2.1]);
/// assert_eq!(ratio.map(|ratio| ratio.point()), Some(3.0));
/// ```
pub fn median_ratio_estimate(above: &[f64], below: &[f64]) -> Option<Estimate> {
    let is_ratio_of = |values: &[f64]| {
        !values.is_empty() && values.iter().all(|value| value.is_finite() && *value > 0.0)
    };
    if !is_ratio_of(above) || !is_ratio_of(below) {
        return None;
    }
    let mut rng = fastrand::Rng::with_seed(1);
    bootstrapped(median(above) / median(below), above.len().min(below.len()), || {
        resampled(above, &mut rng) / resampled(below, &mut rng)
    })
}

/// Returns the median of values drawn from these with replacement.
fn resampled(values: &[f64], rng: &mut fastrand::Rng) -> f64 {
    let mut resample: Vec<f64> = values.iter().map(|_| values[rng.usize(..values.len())]).collect();
    median_in_place(&mut resample)
}

/// Returns `point` with the interval that contains 95 % of the resampled figures.
fn bootstrapped(point: f64, samples: usize, resampled: impl FnMut() -> f64) -> Option<Estimate> {
    let mut figures: Vec<f64> = core::iter::repeat_with(resampled).take(RESAMPLES).collect();
    figures.sort_unstable_by(f64::total_cmp);
    let (low, high) = (figures[RESAMPLES / 40], figures[RESAMPLES - 1 - RESAMPLES / 40]);
    let samples = u64::try_from(samples).unwrap_or(u64::MAX);
    Estimate::new(point, (low.min(point), high.max(point)), samples).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_odd_and_even_numbers() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&[7.0]), 7.0);
        assert_eq!(median(&[]), 0.0);
    }

    #[test]
    fn no_values_and_nan_have_no_estimate() {
        assert!(median_estimate(&[]).is_none());
        assert!(median_estimate(&[1.0, f64::NAN]).is_none());
    }

    #[test]
    fn the_interval_covers_the_true_median_at_its_nominal_rate() {
        let mut rng = fastrand::Rng::with_seed(2);
        let mut covered = 0;
        for _ in 0..200 {
            // skewed like timings: a floor and a long tail; the median is 10 + ln 2
            let values: Vec<f64> = (0..41).map(|_| 10.0 - (1.0 - rng.f64()).ln()).collect();
            let estimate = median_estimate(&values).expect("finite");
            let (low, high) = estimate.interval();
            assert!(low <= estimate.point() && estimate.point() <= high);
            let truth = 10.0 + core::f64::consts::LN_2;
            covered += usize::from(low <= truth && truth <= high);
        }
        assert!((180..=200).contains(&covered), "{covered} of 200 intervals hold the median");
    }

    #[test]
    fn the_interval_of_a_ratio_covers_it_at_its_nominal_rate() {
        let mut rng = fastrand::Rng::with_seed(4);
        let mut covered = 0;
        for _ in 0..200 {
            let mut around = |middle: f64| -> Vec<f64> {
                (0..31).map(|_| middle * (0.9 + 0.2 * rng.f64())).collect()
            };
            let estimate = median_ratio_estimate(&around(3.0), &around(2.0)).expect("above 0");
            let (low, high) = estimate.interval();
            covered += usize::from(low <= 1.5 && 1.5 <= high);
        }
        assert!((180..=200).contains(&covered), "{covered} of 200 intervals hold the ratio");
    }

    #[test]
    fn undefined_ratios_have_no_estimate() {
        for bad in [&[][..], &[0.0, 1.0], &[1.0, -1.0], &[f64::NAN], &[f64::INFINITY]] {
            assert!(median_ratio_estimate(bad, &[1.0]).is_none(), "{bad:?}");
            assert!(median_ratio_estimate(&[1.0], bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn the_interval_shrinks_with_the_number_of_samples() {
        let mut rng = fastrand::Rng::with_seed(3);
        let values: Vec<f64> = (0..1600).map(|_| rng.f64()).collect();
        let width = |n: usize| {
            let (low, high) = median_estimate(&values[..n]).expect("finite").interval();
            high - low
        };
        assert!(width(1600) < width(100) / 2.0);
    }
}
