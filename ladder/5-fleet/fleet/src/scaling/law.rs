//! The universal scalability law \[Gunther07\].

use tollgate_record::PerSecond;

use crate::Error;
use crate::demand::Utilisation;

/// A limit above every machine's number of cores.
const CORES_MAX: u32 = 1 << 16;

/// The rate of N cores, `X(N) := lambda N / (1 + contention (N - 1) + coherency N (N - 1))`.
///
/// If contention and coherency are 0, the law is linear; if only coherency is 0, it is Amdahl's
/// law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Law {
    lambda: f64,
    contention: f64,
    coherency: f64,
}

impl Law {
    /// Creates a linear law: every core adds `per_core`.
    ///
    /// # Errors
    ///
    /// The rate is not above 0.
    pub fn linear(per_core: PerSecond) -> Result<Self, Error> {
        Self::new(per_core, 0.0, 0.0)
    }

    /// Creates a law with these parameters.
    ///
    /// # Errors
    ///
    /// The rate of one core is not above 0, or another parameter is below 0.
    pub fn new(one_core: PerSecond, contention: f64, coherency: f64) -> Result<Self, Error> {
        Ok(Self {
            lambda: Error::positive("the rate of one core per second", one_core.get())?,
            contention: Error::not_negative("contention", contention)?,
            coherency: Error::not_negative("coherency", coherency)?,
        })
    }

    /// Returns the rate of one core.
    #[must_use]
    pub const fn one_core(&self) -> PerSecond {
        PerSecond::new(self.lambda)
    }

    /// Returns the serial share of the work, at least 0.
    #[must_use]
    pub const fn contention(&self) -> f64 {
        self.contention
    }

    /// Returns the cost of coherency between each pair of cores, at least 0.
    #[must_use]
    pub const fn coherency(&self) -> f64 {
        self.coherency
    }

    /// Returns the rate of `cores` cores; 0 for none.
    #[must_use]
    pub fn rate(&self, cores: u32) -> PerSecond {
        PerSecond::new(self.at(f64::from(cores)))
    }

    /// Returns the rate of `n` cores per second, as a number.
    pub(super) fn at(&self, n: f64) -> f64 {
        if n == 0.0 {
            return 0.0;
        }
        self.lambda * n / (self.contention + self.coherency * n).mul_add(n - 1.0, 1.0)
    }

    /// Returns the number of cores with the highest rate, if there is one. It is at least 1 and is
    /// not rounded.
    #[must_use]
    pub fn peak_cores(&self) -> Option<f64> {
        // dX/dN = 0 at N^2 = (1 - contention) / coherency.
        let squared = (1.0 - self.contention) / self.coherency;
        (self.coherency > 0.0).then(|| squared.max(1.0).sqrt())
    }

    /// Returns the minimum number of cores of one machine that reach `rate` at `utilisation`.
    ///
    /// # Errors
    ///
    /// The rate is not above 0; [`Error::BeyondPeak`] if no number of cores up to 65 536 reaches
    /// it.
    pub fn cores_for(&self, rate: PerSecond, utilisation: Utilisation) -> Result<u32, Error> {
        let wanted = Error::positive("the demand per second", rate.get())? / utilisation.get();
        let last = self.best_whole();
        // Ignore a shortfall within rounding errors.
        let enough_per_s = wanted * (1.0 - 4.0 * f64::EPSILON);
        if self.at(f64::from(last)) < enough_per_s {
            return Err(Error::BeyondPeak {
                peak_per_s: self.at(f64::from(last)),
                peak_cores: last,
            });
        }
        let (mut too_few, mut enough) = (0, last);
        while enough - too_few > 1 {
            let middle = u32::midpoint(too_few, enough);
            if self.at(f64::from(middle)) < enough_per_s {
                too_few = middle;
            } else {
                enough = middle;
            }
        }
        Ok(enough)
    }

    /// Returns the whole number of cores with the highest rate.
    fn best_whole(&self) -> u32 {
        let (mut low, mut high) = (1, CORES_MAX);
        // The rates increase up to the peak and then decrease. Bisect on the sign of the change that
        // one more core causes.
        while low < high {
            let middle = u32::midpoint(low, high);
            if self.at(f64::from(middle) + 1.0) > self.at(f64::from(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}
