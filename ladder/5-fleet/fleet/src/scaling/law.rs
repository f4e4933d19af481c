//! The universal scalability law \[Gunther07\], and what it says about cores nobody measured.

use tollgate_record::{Estimate, PerSecond};

use super::fit::Point;
use crate::Error;
use crate::demand::Utilisation;
use crate::interval::hull;

/// More cores than any machine has.
const CORES_MAX: u32 = 1 << 16;

/// The rate of N cores, `X(N) := lambda N / (1 + contention (N - 1) + coherency N (N - 1))`.
///
/// With both at 0 it is a line; with coherency alone at 0, Amdahl's law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Law {
    lambda: f64,
    contention: f64,
    coherency: f64,
}

impl Law {
    /// A line: every core adds `per_core`.
    ///
    /// # Errors
    ///
    /// The rate is not above 0.
    pub fn linear(per_core: PerSecond) -> Result<Self, Error> {
        Self::new(per_core, 0.0, 0.0)
    }

    /// A law by its parameters.
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

    /// The rate of one core.
    #[must_use]
    pub const fn one_core(&self) -> PerSecond {
        PerSecond::new(self.lambda)
    }

    /// The share of the work that waits for its turn, at least 0.
    #[must_use]
    pub const fn contention(&self) -> f64 {
        self.contention
    }

    /// What it costs each pair of cores to agree, at least 0.
    #[must_use]
    pub const fn coherency(&self) -> f64 {
        self.coherency
    }

    /// The rate of `cores` cores; 0 for none.
    #[must_use]
    pub fn rate(&self, cores: u32) -> PerSecond {
        PerSecond::new(self.at(f64::from(cores)))
    }

    fn at(&self, n: f64) -> f64 {
        if n == 0.0 {
            return 0.0;
        }
        self.lambda * n / (self.contention + self.coherency * n).mul_add(n - 1.0, 1.0)
    }

    /// Cores past which more cores are slower, where there are such; not rounded, at least 1.
    #[must_use]
    pub fn peak_cores(&self) -> Option<f64> {
        // dX/dN = 0 at N^2 = (1 - contention) / coherency.
        let squared = (1.0 - self.contention) / self.coherency;
        (self.coherency > 0.0).then(|| squared.max(1.0).sqrt())
    }

    /// The fewest cores of one machine that reach `rate` at `utilisation`.
    ///
    /// # Errors
    ///
    /// The rate is not above 0; [`Error::BeyondPeak`] where no number of cores up to 65 536 reaches
    /// it.
    pub fn cores_for(&self, rate: PerSecond, utilisation: Utilisation) -> Result<u32, Error> {
        let wanted = Error::positive("the demand per second", rate.get())? / utilisation.get();
        let last = self.best_whole();
        // What is short by no more than rounding is enough.
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

    /// The whole number of cores with the highest rate.
    fn best_whole(&self) -> u32 {
        let (mut low, mut high) = (1, CORES_MAX);
        // The law rises, then falls: ask whether the next core still helps.
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

/// A law that was fitted, with what it was fitted to.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    pub(super) law: Law,
    /// The law with one rate put to one end of its interval, for each rate and end.
    pub(super) shaken: Vec<[Law; 2]>,
    pub(super) points: Vec<Point>,
}

/// A rate that a fitted law gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Per second.
    pub per_s: Estimate,
    /// Whether nobody measured at so few or so many cores: then it is the law that speaks.
    pub extrapolated: bool,
}

impl Fit {
    /// The law.
    #[must_use]
    pub const fn law(&self) -> Law {
        self.law
    }

    /// What was measured.
    #[must_use]
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The rate at `cores`.
    ///
    /// Its interval is what the intervals of the measured rates do to it: each rate in turn is put
    /// to either end and the law fitted anew. Rates that were measured one after the other err
    /// independently of each other, so the squares of the shifts down are added up, and so are
    /// those of the shifts up. Intervals of 95 % give one of 95 %, and of 85 % or more where a few
    /// points are of a line. It says nothing about whether the law holds; see
    /// [`Self::worst_residual`] for that.
    ///
    /// # Errors
    ///
    /// The rate is not finite.
    pub fn rate(&self, cores: u32) -> Result<Rate, Error> {
        let n = f64::from(cores);
        let point = self.law.at(n);
        let (mut down, mut up) = (0.0, 0.0);
        for pair in &self.shaken {
            let shifts = pair.map(|law| law.at(n) - point);
            down += shifts[0].min(shifts[1]).min(0.0).powi(2);
            up += shifts[0].max(shifts[1]).max(0.0).powi(2);
        }
        let samples = self.points.iter().map(|p| p.per_s.samples()).min().unwrap_or(1);
        let at_point = Estimate::new(point, (point, point), samples)?;
        let per_s = hull(at_point, &[(point - down.sqrt()).max(0.0), point + up.sqrt()])?;
        let measured = |far: fn(u32, u32) -> u32| self.points.iter().map(|p| p.cores).reduce(far);
        let within = measured(u32::min) <= Some(cores) && Some(cores) <= measured(u32::max);
        Ok(Rate { per_s, extrapolated: !within })
    }

    /// The largest of the differences between a measured rate and the law, over the law: what the
    /// law does not explain. With three points and three parameters it is 0 and says nothing,
    /// unless a parameter would have been below 0.
    #[must_use]
    pub fn worst_residual(&self) -> f64 {
        let of = |p: &Point| (p.per_s.point() / self.law.at(f64::from(p.cores)) - 1.0).abs();
        self.points.iter().map(of).fold(0.0, f64::max)
    }
}
