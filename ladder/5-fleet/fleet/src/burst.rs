//! The backlog of a burst, by the fluid approximation.
//!
//! During a burst, more sessions arrive than the cores can serve; afterwards, fewer arrive.
//! Arrivals and service are treated as constant flows. The approximation is accurate if the backlog
//! is large compared with the queue before the burst. [`crate::queue`] computes queues without
//! bursts.

use tollgate_record::{Estimate, Nanos, PerSecond};

use crate::Error;
use crate::interval::{Slope, propagate};
use crate::session::NS_PER_S;

/// A burst, from its first session to its last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Burst {
    /// Sessions per second before and after the burst.
    pub usual: PerSecond,
    /// Sessions per second during the burst.
    pub rate: PerSecond,
    /// Its duration.
    pub length: Nanos,
}

/// The backlog of a burst; all 0 if the cores keep up with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backlog {
    /// Sessions that wait at the end of the burst; the queue must hold them.
    pub sessions: Estimate,
    /// The wait of the burst's last session, the longest of all.
    pub wait_ns: Estimate,
    /// The time from the burst's end until the queue is empty.
    pub drain_ns: Estimate,
}

impl Burst {
    /// Returns the backlog on `cores` cores with a mean service time of `mean_ns`.
    ///
    /// ```
    /// use tollgate_fleet::Burst;
    /// use tollgate_record::{Estimate, Nanos, PerSecond};
    ///
    /// // Ten seconds of 1500/s on a core that serves 1000/s and usually gets 500/s.
    /// let (usual, rate) = (PerSecond::new(500.0), PerSecond::new(1500.0));
    /// let burst = Burst { usual, rate, length: Nanos::new(10e9) };
    /// let backlog = burst.backlog(1, Estimate::exact(1e6)?)?;
    /// assert_eq!(backlog.sessions.point(), 5000.0);
    /// assert_eq!(backlog.wait_ns.point(), 5e9);
    /// assert_eq!(backlog.drain_ns.point(), 10e9);
    /// # Ok::<(), tollgate_fleet::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A number below 0; no cores; [`Error::Unstable`] if even the usual rate is more than the
    /// cores can serve, so that the queue never drains.
    pub fn backlog(&self, cores: u32, mean_ns: Estimate) -> Result<Backlog, Error> {
        let usual = Error::not_negative("the usual rate per second", self.usual.get())?;
        let rate = Error::not_negative("the burst's rate per second", self.rate.get())?;
        let length_s =
            Error::not_negative("the burst's length in ns", self.length.get())? / NS_PER_S;
        let cores = Error::positive("cores", f64::from(cores))?;
        Error::positive("mean service time in ns", mean_ns.interval().0)?;
        let served = |mean: f64| {
            let served = cores * NS_PER_S / mean;
            if usual < served {
                Ok(served)
            } else {
                Err(Error::Unstable { utilisation: usual / served })
            }
        };
        let left = |served: f64| (rate - served).max(0.0) * length_s;
        let of = |f: &dyn Fn(f64) -> f64| {
            propagate([(mean_ns, Slope::Rising)], |[mean]| Ok(f(served(mean)?)))
        };
        Ok(Backlog {
            sessions: of(&left)?,
            wait_ns: of(&|served| left(served) / served * NS_PER_S)?,
            drain_ns: of(&|served| left(served) / (served - usual) * NS_PER_S)?,
        })
    }
}
