//! The cost of one session: the input of every other computation.

use tollgate_record::{Estimate, Record, Unit};

use crate::Error;
use crate::demand::{BITS_PER_BYTE, as_f64};
use crate::interval::{Slope, propagate};

/// The number of nanoseconds in a second.
pub(crate) const NS_PER_S: f64 = 1e9;

/// The server's CPU time and the payload of one session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SessionCost {
    cpu_ns: Estimate,
    bytes: u64,
}

impl SessionCost {
    /// Creates the cost of a session with `bytes` of payload: `cpu_ns` nanoseconds of one core,
    /// user and system together.
    ///
    /// # Errors
    ///
    /// The time, or the low end of its interval, is not above 0.
    pub fn new(cpu_ns: Estimate, bytes: u64) -> Result<Self, Error> {
        Error::positive("CPU time per session in ns", cpu_ns.interval().0)?;
        Ok(Self { cpu_ns, bytes })
    }

    /// Returns the CPU time per session from a record in nanoseconds, or in cycles of its machine's
    /// core clock. The caller must make sure that the record contains server CPU time per session.
    ///
    /// # Errors
    ///
    /// Another unit; cycles without a clock; a time that is not above 0.
    pub fn from_record(record: &Record, bytes: u64) -> Result<Self, Error> {
        let subject = || Box::new(record.subject.clone());
        let cpu_ns = match record.unit {
            Unit::Nanos => record.estimate,
            Unit::Cycles => {
                let no_clock = || Error::NoClock { subject: subject() };
                let clock = record.machine.core_clock_hz.ok_or_else(no_clock)?;
                Error::positive("core clock in Hz", clock.interval().0)?;
                let inputs = [(record.estimate, Slope::Rising), (clock, Slope::Falling)];
                propagate(inputs, |[cycles, hz]| Ok(cycles / hz * NS_PER_S))?
            }
            unit => {
                let wanted = "ns or cycles per session";
                return Err(Error::WrongUnit { subject: subject(), unit, wanted });
            }
        };
        Self::new(cpu_ns, bytes)
    }

    /// Returns the mean session if a share `resumed_share` (0 to 1) of the sessions is resumed at
    /// the cost `resumed`. Both must have the same payload.
    ///
    /// # Errors
    ///
    /// The share is not within 0 and 1; the payloads differ.
    pub fn with_resumption(&self, resumed: &Self, resumed_share: f64) -> Result<Self, Error> {
        if !(0.0..=1.0).contains(&resumed_share) {
            let must = "be within 0 and 1";
            let what = "the share of resumed sessions";
            return Err(Error::Rejected { what, value: resumed_share, must });
        }
        if self.bytes != resumed.bytes {
            return Err(Error::NotComparable { what: "payload per session" });
        }
        let inputs = [(self.cpu_ns, Slope::Rising), (resumed.cpu_ns, Slope::Rising)];
        let mean = |[full, resumed]: [f64; 2]| {
            Ok(resumed_share.mul_add(resumed, (1.0 - resumed_share) * full))
        };
        Self::new(propagate(inputs, mean)?, self.bytes)
    }

    /// Returns the CPU time per session in nanoseconds.
    #[must_use]
    pub const fn cpu_ns(&self) -> Estimate {
        self.cpu_ns
    }

    /// Returns the payload per session in bytes.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the sessions per second of one fully used core.
    ///
    /// # Errors
    ///
    /// The rate is not finite.
    pub fn sessions_per_s(&self) -> Result<Estimate, Error> {
        Ok(self.cpu_ns.inverted(NS_PER_S)?)
    }

    /// Returns the payload bits per second of one fully used core.
    ///
    /// # Errors
    ///
    /// The rate is not finite.
    pub fn bits_per_s(&self) -> Result<Estimate, Error> {
        Ok(self.sessions_per_s()?.scaled(as_f64(self.bytes) * BITS_PER_BYTE)?)
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    fn cost(ns: f64, bytes: u64) -> SessionCost {
        SessionCost::new(Estimate::new(ns, (0.9 * ns, 1.1 * ns), 9).unwrap(), bytes).unwrap()
    }

    #[test]
    fn a_rate_is_the_reciprocal_of_the_time() {
        let rate = cost(1e6, 125).sessions_per_s().unwrap();
        assert_eq!((rate.point(), rate.samples()), (1000.0, 9));
        assert_eq!(rate.interval(), (1e9 / 1.1e6, 1e9 / 0.9e6));
        assert_eq!(cost(1e6, 125).bits_per_s().unwrap().point(), 1e6);
        assert_eq!(cost(1e6, 0).bits_per_s().unwrap().point(), 0.0);
    }

    #[test]
    fn resumption_is_a_weighted_mean() {
        let (full, resumed) = (cost(1000.0, 5), cost(200.0, 5));
        assert_eq!(full.with_resumption(&resumed, 0.0).unwrap(), full);
        assert_eq!(full.with_resumption(&resumed, 1.0).unwrap(), resumed);
        assert_eq!(full.with_resumption(&resumed, 0.25).unwrap().cpu_ns().point(), 800.0);
        for bad in [-0.1, 1.1, f64::NAN] {
            assert!(full.with_resumption(&resumed, bad).is_err(), "{bad}");
        }
        let other = Error::NotComparable { what: "payload per session" };
        assert_eq!(full.with_resumption(&cost(200.0, 6), 0.5), Err(other));
    }

    #[test]
    fn no_time_is_no_cost() {
        let zero = Estimate::new(1.0, (0.0, 2.0), 3).unwrap();
        assert!(SessionCost::new(zero, 1).is_err());
    }
}
