//! Medians and their bootstrap intervals.

use tollgate_record::Estimate;

/// Resamples of a bootstrap: the ends of a 95 % interval then rest on 25 values each.
const RESAMPLES: usize = 1000;

/// The median; the mean of the middle two of an even number. 0 of nothing.
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

/// The median with its 95 % bootstrap interval. The generator's seed is fixed, so the same values
/// give the same interval. `None` of nothing, or if a value is not finite.
pub fn median_estimate(values: &[f64]) -> Option<Estimate> {
    if values.is_empty() || values.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let mut rng = fastrand::Rng::with_seed(1);
    let mut resample = vec![0.0; values.len()];
    let mut medians: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            resample.fill_with(|| values[rng.usize(..values.len())]);
            median_in_place(&mut resample)
        })
        .collect();
    medians.sort_unstable_by(f64::total_cmp);
    let point = median(values);
    let (low, high) = (medians[RESAMPLES / 40], medians[RESAMPLES - 1 - RESAMPLES / 40]);
    let samples = u64::try_from(values.len()).unwrap_or(u64::MAX);
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
    fn nothing_and_nan_have_no_estimate() {
        assert!(median_estimate(&[]).is_none());
        assert!(median_estimate(&[1.0, f64::NAN]).is_none());
    }

    #[test]
    fn the_interval_covers_the_true_median_about_as_often_as_it_says() {
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
