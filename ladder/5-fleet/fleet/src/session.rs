//! The cost of one session: the input of every other computation.

use tollgate_record::{Estimate, Record, Unit};

use crate::Error;
use crate::demand::{BITS_PER_BYTE, as_f64};

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

    /// Returns the CPU time per session from a record in nanoseconds. The caller must make sure
    /// that the record contains server CPU time per session.
    ///
    /// # Errors
    ///
    /// Another unit; a time that is not above 0.
    pub fn from_record(record: &Record, bytes: u64) -> Result<Self, Error> {
        if record.unit != Unit::Nanos {
            let subject = Box::new(record.subject.clone());
            return Err(Error::WrongUnit { subject, unit: record.unit });
        }
        Self::new(record.estimate, bytes)
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
    fn no_time_is_no_cost() {
        let zero = Estimate::new(1.0, (0.0, 2.0), 3).unwrap();
        assert!(SessionCost::new(zero, 1).is_err());
    }
}
