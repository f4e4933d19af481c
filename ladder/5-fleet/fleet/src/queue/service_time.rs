//! Service times by their first two moments.

use tollgate_record::Estimate;

use crate::Error;

/// The mean service time of a session, and its variation.
///
/// This estimate is a mean, but most estimates of this project are medians. A queue depends on the
/// sum of the work, and so on the mean. The CPU time of a run divided by its sessions is a mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServiceTime {
    mean_ns: Estimate,
    scv: Estimate,
}

impl ServiceTime {
    /// Creates a service time of mean `mean_ns` nanoseconds and squared coefficient of variation
    /// `scv` (variance over squared mean: 0 for a constant, 1 for an exponential distribution).
    ///
    /// # Errors
    ///
    /// The mean is not above 0, or `scv` is below 0, at the point or within the interval.
    pub fn new(mean_ns: Estimate, scv: Estimate) -> Result<Self, Error> {
        Error::positive("mean service time in ns", mean_ns.interval().0)?;
        Error::not_negative("squared coefficient of variation", scv.interval().0)?;
        Ok(Self { mean_ns, scv })
    }

    /// Returns the mean in nanoseconds.
    #[must_use]
    pub const fn mean_ns(&self) -> Estimate {
        self.mean_ns
    }

    /// Returns the squared coefficient of variation.
    #[must_use]
    pub const fn scv(&self) -> Estimate {
        self.scv
    }
}
