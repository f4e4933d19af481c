//! Means of costs in which a rare expensive session counts and an interrupted one does not.

use tollgate_bench::{median, median_estimate};
use tollgate_record::Estimate;

/// RSA operations after which OpenSSL makes a new blinding pair (`BN_BLINDING_COUNTER`). This costs
/// about as much as the operation itself. A median of single operations would miss it.
pub(crate) const BLINDING_USES: u32 = 32;

/// A value above the median by this factor was interrupted by another process. A session with a new
/// blinding pair takes less than this.
const INTERRUPTED: f64 = 3.0;

/// The mean of the costs, without interrupted ones; 0 for no values.
pub(crate) fn mean(costs: &[f64]) -> f64 {
    let most = INTERRUPTED * median(costs);
    let (mut sum, mut count) = (0.0, 0.0);
    for cost in costs.iter().filter(|cost| **cost <= most) {
        sum += cost;
        count += 1.0;
    }
    if count > 0.0 { sum / count } else { 0.0 }
}

/// The median of the means of [`BLINDING_USES`] sessions each; each cost is the mean of `sessions`.
/// `None` for no costs.
pub(crate) fn mean_estimate(costs: &[f64], sessions: usize) -> Option<Estimate> {
    let groups = costs.chunks_exact((BLINDING_USES as usize).div_ceil(sessions.max(1)));
    let rest = groups.remainder();
    let means: Vec<f64> = groups.map(mean).collect();
    if means.is_empty() { median_estimate(&[mean(rest)]) } else { median_estimate(&means) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_costs_count_and_interruptions_do_not() {
        let mut costs = vec![100.0; 96];
        for group in 0..3 {
            costs[32 * group + 7] = 164.0; // a new blinding pair
        }
        assert_eq!(mean(&costs[..32]), 102.0);
        costs[50] = 1e6; // interrupted
        let estimate = mean_estimate(&costs, 1).unwrap();
        assert_eq!((estimate.point(), estimate.samples()), (102.0, 3));
        assert_eq!(mean_estimate(&costs[..4], 1).unwrap().point(), 100.0);
        // every second mean of 16 sessions has the new pair
        let estimate = mean_estimate(&[100.0, 104.0, 104.0, 100.0, 100.0], 16).unwrap();
        assert_eq!((estimate.point(), estimate.samples()), (102.0, 2));
        assert_eq!(mean_estimate(&[100.0, 104.0], 64).unwrap().samples(), 2);
        assert_eq!(mean(&[]), 0.0);
    }
}
