//! Means of costs in which a rare expensive session counts and an interrupted one does not.

use tollgate_bench::median;

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
        assert_eq!(mean(&costs[32..64]), 3164.0 / 31.0);
        assert_eq!(mean(&costs[..4]), 100.0);
        assert_eq!(mean(&[]), 0.0);
    }
}
