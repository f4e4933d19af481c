//! Sizes of bodies, by quantile.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::sourced::checked;

checked!(
    /// Bytes of bodies by quantile: `[[0.0, 0], [0.5, 2048], [1.0, 90000]]`. The quantiles rise
    /// from 0 to 1. The bytes never fall, and are at most 2^40.
    ///
    /// Between two rows the logarithm of (bytes + 1) is interpolated linearly. One is added because
    /// bodies may be empty.
    ///
    /// Sizes spread over powers of ten. Linear interpolation of the bytes would give too large a
    /// mean, and fewer rows would increase the error.
    Quantiles(Vec<(f64, u64)>),
    |table| {
        let ends = table.first().map(|row| row.0) == Some(0.0)
            && table.last().map(|row| row.0) == Some(1.0);
        let rises = |rows: &[(f64, u64)]| rows[0].0 < rows[1].0 && rows[0].1 <= rows[1].1;
        ends && table.windows(2).all(rises) && table.iter().all(|row| row.1 <= 1 << 40)
    },
    "quantiles are rows [quantile, bytes] from 0.0 to 1.0, both rising, at most 2^40 bytes"
);

impl Quantiles {
    /// Returns the quantile `share`, in bytes; a share outside 0 to 1 is clamped.
    #[must_use]
    pub fn at(&self, share: f64) -> u64 {
        let rows = &self.0;
        let above = rows.partition_point(|row| row.0 < share).clamp(1, rows.len() - 1);
        let ((from, least), (to, most)) = (rows[above - 1], rows[above]);
        let part = ((share - from) / (to - from)).clamp(0.0, 1.0);
        #[allow(clippy::cast_precision_loss, reason = "at most 2^40")]
        let (low, high) = ((least as f64).ln_1p(), (most as f64).ln_1p());
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped below")]
        let bytes = (low + part * (high - low)).exp_m1().round() as u64;
        bytes.clamp(least, most)
    }

    /// Returns `count` sizes that represent all bodies. Each size stands for an equal share of the
    /// bodies, and is the size in the middle of this share.
    #[must_use]
    pub fn midpoints(&self, count: u32) -> Vec<u64> {
        let share = |place: u32| (f64::from(place) + 0.5) / f64::from(count);
        (0..count).map(|place| self.at(share(place))).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rows_are_exact_and_logarithms_interpolated() {
        let table = Quantiles::new(vec![(0.0, 0), (0.5, 99), (1.0, 9999)]).unwrap();
        assert_eq!([0.0, 0.5, 1.0, -1.0, 2.0].map(|share| table.at(share)), [0, 99, 9999, 0, 9999]);
        // 1, 10, 100, 1000, 10000, each less one
        assert_eq!([0.25, 0.75].map(|share| table.at(share)), [9, 999]);
        assert_eq!(table.midpoints(2), [9, 999]);
        let constant = Quantiles::new(vec![(0.0, 7), (1.0, 7)]).unwrap();
        assert_eq!(constant.midpoints(3), [7; 3]);
    }

    proptest! {
        #[test]
        fn sizes_rise_with_the_share_and_stay_between_the_rows(
            mut bytes in proptest::collection::vec(0_u64..=1 << 40, 2..6),
            count in 1_u32..100,
        ) {
            bytes.sort_unstable();
            #[allow(clippy::cast_precision_loss, reason = "a few rows")]
            let share = |place: usize| place as f64 / (bytes.len() - 1) as f64;
            let rows = bytes.iter().enumerate().map(|(place, bytes)| (share(place), *bytes));
            let sizes = Quantiles::new(rows.collect()).unwrap().midpoints(count);
            prop_assert_eq!(sizes.len(), count as usize);
            prop_assert!(sizes.is_sorted());
            let within = bytes[0]..=bytes[bytes.len() - 1];
            prop_assert!(sizes.iter().all(|size| within.contains(size)));
        }
    }
}
