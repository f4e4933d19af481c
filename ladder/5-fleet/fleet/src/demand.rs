//! The demand on a fleet, and the utilisation of its cores.

use core::fmt;

use tollgate_record::PerSecond;

use crate::Error;

/// Bits in a byte. Sessions are given in bytes, and links in bits.
pub(crate) const BITS_PER_BYTE: f64 = 8.0;

/// Demand per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Demand {
    /// A link filled with the sessions' payload, in bits per second. Headers and handshakes are not
    /// counted, so a real link carries slightly less payload.
    Link(PerSecond),
    /// Sessions per second.
    Sessions(PerSecond),
}

impl Demand {
    /// Creates a link of `gigabits` * 10^9 bits per second.
    #[must_use]
    pub fn gbps(gigabits: f64) -> Self {
        Self::Link(PerSecond::new(gigabits * 1e9))
    }

    /// Returns the demand in sessions per second, each with `bytes` of payload.
    ///
    /// # Errors
    ///
    /// The demand is not a positive number; or it is a link and the sessions have no payload.
    pub fn sessions(self, bytes: u64) -> Result<PerSecond, Error> {
        match self {
            Self::Sessions(rate) => {
                Error::positive("the demand in sessions per second", rate.get()).map(PerSecond::new)
            }
            Self::Link(bits) => {
                let bits = Error::positive("the link's bits per second", bits.get())?;
                let payload = Error::positive("payload per session in bytes", as_f64(bytes))?;
                Ok(PerSecond::new(bits / (payload * BITS_PER_BYTE)))
            }
        }
    }
}

/// The share of a core's time to use, above 0 and at most 1. The rest is head room for bursts,
/// failures of other machines and growth.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Utilisation(f64);

impl Utilisation {
    /// 70 %, the default: if one of four machines fails, the other three run at 93 %.
    pub const DEFAULT: Self = Self(0.7);
    /// Cores that are always busy, as published sizing tables assume.
    pub const FULL: Self = Self(1.0);

    /// Creates a share of a core's time.
    ///
    /// # Errors
    ///
    /// It is not above 0 and at most 1.
    pub fn new(share: f64) -> Result<Self, Error> {
        if share > 0.0 && share <= 1.0 {
            return Ok(Self(share));
        }
        let must = "be above 0 and at most 1";
        Err(Error::Rejected { what: "utilisation", value: share, must })
    }

    /// Returns the share.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl Default for Utilisation {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl fmt::Display for Utilisation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Converts a count to a number; exact up to 2^53.
#[allow(clippy::cast_precision_loss, reason = "counts above 2^53 may be rounded")]
pub(crate) const fn as_f64(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_so_many_sessions() {
        // A session of 125 000 bytes has 10^6 bits, so 10^10 bits per second carry 10^4 sessions.
        assert_eq!(Demand::gbps(10.0).sessions(125_000), Ok(PerSecond::new(10_000.0)));
        let rate = PerSecond::new(7.0);
        assert_eq!(Demand::Sessions(rate).sessions(0), Ok(rate));
    }

    #[test]
    fn invalid_demands_are_refused() {
        assert!(Demand::gbps(1.0).sessions(0).is_err());
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Demand::gbps(bad).sessions(1).is_err(), "{bad} Gbps");
            assert!(Demand::Sessions(PerSecond::new(bad)).sessions(1).is_err(), "{bad}/s");
            assert!(Utilisation::new(bad).is_err(), "{bad}");
        }
        assert!(Utilisation::new(1.000_1).is_err());
        assert_eq!(Utilisation::new(1.0), Ok(Utilisation::FULL));
    }
}
