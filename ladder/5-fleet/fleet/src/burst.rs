//! The backlog of a burst, by the fluid approximation.

use tollgate_record::{Estimate, Nanos, PerSecond};

use crate::Error;
use crate::interval::{Slope, propagate};
use crate::session::NS_PER_S;

/// The backlog of a burst; all 0 if the cores keep up with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backlog {
    /// Sessions that wait at the end of the burst; the queue must hold them.
    pub sessions: Estimate,
    /// The time from the burst's end until the queue is empty.
    pub drain_ns: Estimate,
}

/// Returns the backlog after a burst of `rate` sessions per second for `length`, on `cores` cores
/// with a mean service time of `mean_ns`. No session arrives after the burst.
///
/// Arrivals and service are treated as constant flows. The approximation is accurate if the backlog
/// is large compared with the queue before the burst. [`crate::queue`] computes queues without
/// bursts.
///
/// ```
/// use tollgate_fleet::backlog;
/// use tollgate_record::{Estimate, Nanos, PerSecond};
///
/// // Ten seconds of 1500/s on a core that serves 1000/s.
/// let (rate, length) = (PerSecond::new(1500.0), Nanos::new(10e9));
/// let backlog = backlog(1, Estimate::exact(1e6)?, rate, length)?;
/// assert_eq!(backlog.sessions.point(), 5000.0);
/// assert_eq!(backlog.drain_ns.point(), 5e9);
/// # Ok::<(), tollgate_fleet::Error>(())
/// ```
///
/// # Errors
///
/// A number below 0; no cores.
pub fn backlog(
    cores: u32,
    mean_ns: Estimate,
    rate: PerSecond,
    length: Nanos,
) -> Result<Backlog, Error> {
    let rate = Error::not_negative("the burst's rate per second", rate.get())?;
    let length_s = Error::not_negative("the burst's length in ns", length.get())? / NS_PER_S;
    let cores = Error::positive("cores", f64::from(cores))?;
    Error::positive("mean service time in ns", mean_ns.interval().0)?;
    let sessions = propagate([(mean_ns, Slope::Rising)], |[mean]| {
        Ok((rate - cores * NS_PER_S / mean).max(0.0) * length_s)
    })?;
    let inputs = [(sessions, Slope::Rising), (mean_ns, Slope::Rising)];
    let drain_ns = propagate(inputs, |[sessions, mean]| Ok(sessions * mean / cores))?;
    Ok(Backlog { sessions, drain_ns })
}
