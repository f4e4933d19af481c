//! Figures with intervals.

use serde::{Deserialize, Serialize};

/// A point with its 95 % interval and its number of samples.
///
/// Always finite, `low <= point <= high`, and at least one sample. The owner of an estimate knows
/// its unit.
///
/// ```
/// use tollgate_record::Estimate;
///
/// let measured = Estimate::new(803.0, (801.5, 806.0), 51)?;
/// assert_eq!(measured.interval(), (801.5, 806.0));
/// assert!(Estimate::new(803.0, (804.0, 806.0), 51).is_err());
/// # Ok::<(), tollgate_record::BadEstimate>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Wire", into = "Wire")]
pub struct Estimate {
    point: f64,
    low: f64,
    high: f64,
    samples: u64,
}

impl Estimate {
    /// Creates an estimate from `samples` samples with the 95 % interval `(low, high)`.
    ///
    /// # Errors
    ///
    /// A number is not finite, the interval does not hold the point, or there is no sample.
    pub fn new(point: f64, interval: (f64, f64), samples: u64) -> Result<Self, BadEstimate> {
        let (low, high) = interval;
        if ![point, low, high].into_iter().all(f64::is_finite) {
            return Err(BadEstimate::NotFinite);
        }
        if !(low <= point && point <= high) {
            return Err(BadEstimate::OutsideInterval { point, low, high });
        }
        if samples == 0 {
            return Err(BadEstimate::NoSamples);
        }
        Ok(Self { point, low, high, samples })
    }

    /// Creates a figure of a paper or a model: an interval of zero width, one sample. The record's
    /// kind states whether it was published, computed or counted.
    ///
    /// # Errors
    ///
    /// `point` is not finite.
    pub fn exact(point: f64) -> Result<Self, BadEstimate> {
        Self::new(point, (point, point), 1)
    }

    /// Returns the best single value (for measurements the median).
    #[must_use]
    pub const fn point(&self) -> f64 {
        self.point
    }

    /// Returns the 95 % interval `(low, high)`.
    #[must_use]
    pub const fn interval(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// Returns the number of samples, at least one.
    #[must_use]
    pub const fn samples(&self) -> u64 {
        self.samples
    }

    /// Returns the same estimate in another unit: every value times `factor`.
    ///
    /// ```
    /// # use tollgate_record::Estimate;
    /// let batch_cycles = Estimate::new(800.0, (792.0, 816.0), 7)?;
    /// assert_eq!(batch_cycles.scaled(1.0 / 8.0)?.interval(), (99.0, 102.0));
    /// # Ok::<(), tollgate_record::BadEstimate>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A product is not finite.
    pub fn scaled(&self, factor: f64) -> Result<Self, BadEstimate> {
        let (a, b) = (self.low * factor, self.high * factor);
        Self::new(self.point * factor, (a.min(b), a.max(b)), self.samples)
    }

    /// Divides `numerator` by each value: a time per operation becomes a rate. The two ends of the
    /// interval are exchanged.
    ///
    /// # Errors
    ///
    /// The interval touches or crosses zero, or a quotient is not finite.
    pub fn inverted(&self, numerator: f64) -> Result<Self, BadEstimate> {
        if self.low <= 0.0 && self.high >= 0.0 {
            return Err(BadEstimate::NotFinite);
        }
        let (a, b) = (numerator / self.low, numerator / self.high);
        Self::new(numerator / self.point, (a.min(b), a.max(b)), self.samples)
    }
}

/// The reason why numbers are not an estimate.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum BadEstimate {
    /// One of the numbers is infinite or not a number.
    #[error("an estimate needs finite numbers")]
    NotFinite,
    /// The interval does not hold the point.
    #[error("the point {point} lies outside its interval {low} to {high}")]
    OutsideInterval {
        /// The point given.
        point: f64,
        /// The lower end given.
        low: f64,
        /// The upper end given.
        high: f64,
    },
    /// No sample at all.
    #[error("an estimate needs at least one sample")]
    NoSamples,
}

/// The form on disk.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    point: f64,
    interval: (f64, f64),
    samples: u64,
}

impl From<Estimate> for Wire {
    fn from(estimate: Estimate) -> Self {
        let Estimate { point, low, high, samples } = estimate;
        Self { point, interval: (low, high), samples }
    }
}

impl TryFrom<Wire> for Estimate {
    type Error = BadEstimate;

    fn try_from(wire: Wire) -> Result<Self, BadEstimate> {
        Self::new(wire.point, wire.interval, wire.samples)
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn impossible_numbers_are_refused() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Estimate::exact(bad), Err(BadEstimate::NotFinite));
            assert_eq!(Estimate::new(1.0, (bad, 2.0), 1), Err(BadEstimate::NotFinite));
            assert_eq!(Estimate::new(1.0, (0.0, bad), 1), Err(BadEstimate::NotFinite));
        }
        let outside = BadEstimate::OutsideInterval { point: 3.0, low: 1.0, high: 2.0 };
        assert_eq!(Estimate::new(3.0, (1.0, 2.0), 9), Err(outside));
        assert!(Estimate::new(1.5, (2.0, 1.0), 9).is_err()); // ends swapped
        assert_eq!(Estimate::new(1.5, (1.0, 2.0), 0), Err(BadEstimate::NoSamples));
    }

    #[test]
    fn scaling_keeps_the_point_inside() {
        let estimate = Estimate::new(2.0, (1.0, 4.0), 5).unwrap();
        assert_eq!(estimate.scaled(-1.0).unwrap().interval(), (-4.0, -1.0));
        let rate = estimate.inverted(8.0).unwrap();
        assert_eq!((rate.point(), rate.interval(), rate.samples()), (4.0, (2.0, 8.0), 5));
        assert!(Estimate::exact(0.0).unwrap().inverted(1.0).is_err());
        assert!(Estimate::new(1.0, (-1.0, 2.0), 5).unwrap().inverted(1.0).is_err());
        assert!(estimate.scaled(f64::MAX).is_err());
    }
}
