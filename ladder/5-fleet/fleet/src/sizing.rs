//! The number of cores and of machines.
//!
//! Assumes linear scaling: twice the cores serve twice the rate.

use tollgate_record::Estimate;

use crate::Error;
use crate::demand::{Demand, Utilisation};
use crate::interval::{Slope, propagate};
use crate::session::{NS_PER_S, SessionCost};

/// The cores for one demand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sizing {
    /// Cores, not rounded. Use this figure to compare engines.
    pub cores: Estimate,
    /// Cores, rounded up.
    pub whole_cores: Estimate,
}

/// Computes the cores for `demand`. Each session costs `session`, and each core is busy for at most
/// a share `utilisation` of the time.
///
/// ```
/// use tollgate_fleet::{Demand, SessionCost, Utilisation, size};
/// use tollgate_record::Estimate;
///
/// // 14 336 bytes for 500 µs of one core, and a link of 10 Gbps.
/// let session = SessionCost::new(Estimate::new(500e3, (490e3, 510e3), 20)?, 14_336)?;
/// let sizing = size(&session, Demand::gbps(10.0), Utilisation::DEFAULT)?;
/// assert_eq!(sizing.whole_cores.point(), 63.0); // 87 193 sessions/s x 500 µs / 0.7 = 62.3
/// assert_eq!(sizing.whole_cores.interval(), (62.0, 64.0));
/// # Ok::<(), tollgate_fleet::Error>(())
/// ```
///
/// # Errors
///
/// An invalid demand, see [`Demand::sessions`]; a result that is not finite.
pub fn size(
    session: &SessionCost,
    demand: Demand,
    utilisation: Utilisation,
) -> Result<Sizing, Error> {
    let rate = demand.sessions(session.bytes())?.get();
    let cores = session.cpu_ns().scaled(rate / NS_PER_S / utilisation.get())?;
    Ok(Sizing { cores, whole_cores: rounded_up(cores)? })
}

impl Sizing {
    /// Returns the cores of one machine that remain for the application. The result is 0 if TLS
    /// needs all cores of a machine or more.
    ///
    /// # Errors
    ///
    /// None for a result of [`size`].
    pub fn cores_left(&self, cores_per_machine: u32) -> Result<Estimate, Error> {
        let all = f64::from(cores_per_machine);
        propagate([(self.whole_cores, Slope::Falling)], |[used]| Ok((all - used).max(0.0)))
    }

    /// Returns the number of machines that serve only TLS.
    ///
    /// # Errors
    ///
    /// A machine of no cores.
    pub fn machines(&self, cores_per_machine: u32) -> Result<Estimate, Error> {
        let all = Error::positive("cores per machine", f64::from(cores_per_machine))?;
        rounded_up(self.whole_cores.scaled(1.0 / all)?)
    }
}

/// Rounds point and interval up.
fn rounded_up(estimate: Estimate) -> Result<Estimate, Error> {
    propagate([(estimate, Slope::Rising)], |[x]| Ok(up(x)))
}

/// Rounds up, but ignores an excess within rounding errors.
fn up(x: f64) -> f64 {
    let nearest = x.round();
    if (x - nearest).abs() <= nearest * 4.0 * f64::EPSILON { nearest } else { x.ceil() }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn rounding_up_does_not_buy_a_core_for_the_last_bit() {
        assert_eq!(up(5.0), 5.0);
        assert_eq!(up(0.1 * 30.0), 3.0); // 3.0000000000000004
        assert_eq!(up(4.545), 5.0);
        assert_eq!(up(0.001), 1.0);
        assert_eq!(up(0.0), 0.0);
    }

    #[test]
    fn cores_of_a_machine_remain_for_the_application() {
        let session = SessionCost::new(Estimate::exact(1e6).unwrap(), 1).unwrap();
        let demand = Demand::Sessions(tollgate_record::PerSecond::new(6_500.0));
        let sizing = size(&session, demand, Utilisation::FULL).unwrap();
        assert_eq!(sizing.cores.point(), 6.5);
        assert_eq!(sizing.whole_cores.point(), 7.0);
        let left = |cores| sizing.cores_left(cores).unwrap().point();
        assert_eq!((left(12), left(7), left(4)), (5.0, 0.0, 0.0));
        let machines = |cores| sizing.machines(cores).unwrap().point();
        assert_eq!((machines(12), machines(7), machines(4), machines(2)), (1.0, 1.0, 2.0, 4.0));
        assert!(sizing.machines(0).is_err());
    }

    #[test]
    fn an_interval_of_the_cost_gives_an_interval_of_the_cores() {
        let ns = Estimate::new(1e6, (0.8e6, 1.3e6), 11).unwrap();
        let session = SessionCost::new(ns, 1).unwrap();
        let demand = Demand::Sessions(tollgate_record::PerSecond::new(7_000.0));
        let sizing = size(&session, demand, Utilisation::DEFAULT).unwrap();
        assert_eq!(sizing.whole_cores.interval(), (8.0, 13.0));
        let left = sizing.cores_left(12).unwrap();
        assert_eq!((left.point(), left.interval(), left.samples()), (2.0, (0.0, 4.0), 11));
    }
}
