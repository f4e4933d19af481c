//! The limits of a queue.

use core::fmt;
use core::time::Duration;

use crate::event::Listener;

/// Limits of a queue. Every queue has limits, and every wait is limited.
pub struct Config {
    /// Number of slots. A request holds a slot from `submit` until its answer is dropped. The
    /// default is 256.
    pub capacity: usize,
    /// Maximum number of slots that one caller may hold. The default is half of `capacity`.
    pub slots_per_caller_max: usize,
    /// Maximum time that a batch may wait for further requests, in microseconds. The default is 0:
    /// no batch waits. A batch waits until it has as many requests as recent batches had. It does
    /// not wait if recent batches had one request each, or if the time between arrivals is longer
    /// than this maximum.
    pub linger_us_max: u32,
    /// Listener for events.
    pub on_event: Option<Listener>,
}

impl Default for Config {
    fn default() -> Self {
        Self::with_capacity(256)
    }
}

impl Config {
    /// Returns the default limits, with this capacity.
    #[must_use]
    pub const fn with_capacity(capacity: usize) -> Self {
        Self {
            capacity,
            slots_per_caller_max: capacity.div_ceil(2),
            linger_us_max: 0,
            on_event: None,
        }
    }

    pub(crate) fn linger_max(&self) -> Duration {
        Duration::from_micros(self.linger_us_max.into())
    }

    /// Returns an error text if a value is out of range.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let wrong = if self.capacity == 0 {
            "capacity is 0: give at least 1"
        } else if self.capacity > CAPACITY_MAX {
            "capacity is above 1048576: give less, since all slots are allocated at once"
        } else if self.slots_per_caller_max == 0 {
            "slots_per_caller_max is 0: give at least 1"
        } else if self.linger_us_max > LINGER_US_MAX {
            "linger_us_max is above 10000: give less, no operation takes as long"
        } else {
            return Ok(());
        };
        Err(wrong)
    }
}

/// Maximum number of slots. Each slot takes some kilobytes.
const CAPACITY_MAX: usize = 1 << 20;

/// Ten milliseconds, which is longer than the slowest operation takes.
const LINGER_US_MAX: u32 = 10_000;

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("capacity", &self.capacity)
            .field("slots_per_caller_max", &self.slots_per_caller_max)
            .field("linger_us_max", &self.linger_us_max)
            .finish_non_exhaustive()
    }
}
