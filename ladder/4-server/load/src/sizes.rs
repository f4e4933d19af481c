//! Bodies of several sizes.

use core::fmt;

use serde::{Deserialize, Serialize};
use tollgate_workload::Quantiles;

use crate::seeded::Seeded;

/// Sizes of bodies, all requested equally often.
///
/// Requests are numbered through a run and divided into groups; a group has one request for each
/// size. The order of the sizes in a group is drawn from the plan's seed. Every server and round
/// therefore gets the same load, and a short run has the planned mean.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sizes(Vec<u64>);

/// Distinguishes the seeds of the orders.
const ORDERS: u64 = 4 << 32;

impl Sizes {
    /// Maximum number of sizes: a server has a file for each.
    pub const COUNT_MAX: usize = 256;
    /// Maximum length of a body, in bytes, as in workloads.
    pub const BYTES_MAX: u64 = 1 << 40;
    /// Number of sizes that represent a distribution.
    pub const GRID: u32 = 64;

    /// Returns sizes that represent a distribution: the middles of [`GRID`](Self::GRID) equal
    /// shares.
    #[must_use]
    pub fn new(distribution: &Quantiles) -> Self {
        Self(distribution.midpoints(Self::GRID))
    }

    /// Returns all sizes. The sizes of a distribution are in increasing order.
    #[must_use]
    pub fn all(&self) -> &[u64] {
        &self.0
    }

    /// Returns the mean, in bytes.
    #[must_use]
    pub fn mean(&self) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "at most 2^48")]
        let mean = self.0.iter().sum::<u64>() as f64 / self.0.len() as f64;
        mean
    }

    /// Returns the smallest size, the lower median, and the largest size.
    #[must_use]
    pub fn span(&self) -> [u64; 3] {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let at = |place: usize| sorted.get(place).copied().unwrap_or_default();
        let last = sorted.len().saturating_sub(1);
        [at(0), at(last / 2), at(last)]
    }

    pub(crate) fn drawn(&self, seed: u64, request: u64) -> u64 {
        let count = self.0.len() as u64;
        let mut random = Seeded::new(seed ^ ORDERS, request / count);
        let mut order: [u8; Self::COUNT_MAX] = core::array::from_fn(|place| place.to_le_bytes()[0]);
        // Fisher-Yates shuffle, up to the place needed
        let place = usize::try_from(request % count).expect("a place in the list");
        for place in 0..=place {
            let left = self.0.len() - place;
            order.swap(place, place + random.below(left));
        }
        self.0[usize::from(order[place])]
    }

    /// Returns the violated rule of a plan, if any.
    pub(crate) fn broken_rule(&self) -> Option<&'static str> {
        let fits = |bytes: &u64| *bytes <= Self::BYTES_MAX;
        let ok = (1..=Self::COUNT_MAX).contains(&self.0.len()) && self.0.iter().all(fits);
        (!ok).then_some("sizes are 1 to 256, of at most 2^40 bytes")
    }
}

impl fmt::Display for Sizes {
    /// `64 sizes from 15 to 974 bytes, half of them at most 511, 502.3 in the mean`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([least, half, most], mean) = (self.span(), self.mean());
        write!(
            f,
            "{} sizes from {least} to {most} bytes, half of them at most {half}, {mean:.1} in the \
             mean",
            self.0.len()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offer::Protocol;
    use crate::plan::{Exchange, Plan};

    fn sizes(count: u64) -> Sizes {
        Sizes((100..100 + count).collect())
    }

    #[test]
    fn consecutive_requests_have_all_sizes() {
        for count in [1, 2, 64, 256] {
            let sizes = sizes(count);
            let row = |seed: u64, row: u64| -> Vec<u64> {
                (row * count..(row + 1) * count).map(|n| sizes.drawn(seed, n)).collect()
            };
            for number in [0, 1, 1_000_000_007] {
                let mut sorted = row(7, number);
                sorted.sort_unstable();
                assert_eq!(sorted, sizes.all());
            }
            let rows = || (row(7, 0), row(7, 1), row(8, 0));
            assert_eq!(rows(), rows(), "the same seed is the same load");
            let (first, next, other) = rows();
            assert_eq!(first != next && first != other, count > 2, "in another order");
        }
    }

    #[test]
    fn the_span_has_the_lower_median() {
        assert_eq!((sizes(4).span(), sizes(5).span()), ([100, 101, 103], [100, 102, 104]));
        assert_eq!(
            Sizes(vec![9, 5, 7, 1]).to_string(),
            "4 sizes from 1 to 9 bytes, half of them at most 5, 5.5 in the mean"
        );
    }

    #[test]
    fn every_size_occurs_at_every_place() {
        let sizes = sizes(64);
        let mut counts = vec![0_u64; 64];
        for row in 0..6400 {
            let size = sizes.drawn(1, 64 * row + 5);
            counts[usize::try_from(size - 100).unwrap()] += 1;
        }
        // the standard deviation is ten
        assert!(counts.iter().all(|count| count.abs_diff(100) < 50), "{counts:?}");
    }

    #[test]
    fn invalid_sizes_are_refused() {
        let refused = |all: Vec<u64>| {
            let plan = Plan { exchange: Exchange::Sizes(Sizes(all)), ..Plan::new(Protocol::Tls13) };
            plan.check().unwrap_err().to_string()
        };
        for all in [vec![], vec![1; 257], vec![Sizes::BYTES_MAX + 1]] {
            assert!(refused(all).contains("sizes are 1 to 256"));
        }
        let json = serde_json::to_string(&Exchange::Sizes(sizes(2))).unwrap();
        assert_eq!(json, r#"{"sizes":[100,101]}"#);
    }
}
