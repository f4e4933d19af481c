//! The bounds of a queue.

use core::fmt;
use core::time::Duration;

use crate::event::Listener;

/// Bounds of a queue. Every queue has one, and every wait.
pub struct Config {
    /// Places: requests between `submit` and the end of their answers. 256 unless notifications.
    pub capacity: usize,
    /// How many of them one caller may hold. Half of them unless notifications.
    pub slots_per_caller_max: usize,
    /// How long a batch may wait for company, in microseconds. 0 unless notifications, which is never. It
    /// waits for as many as those before it had, and not at all if they had none, or if requests
    /// come further apart than this.
    pub linger_us_max: u32,
    /// Threads of the queue's own. They do what no caller waits for, and lead while more than one
    /// request is in line: where more threads wait than there are units, one for each unit gives a
    /// fifth more throughput than none at RSA-2048 (METHODOLOGY.md, "The queue's queue"), and
    /// costs a thread that is alone nothing. 0 unless notifications, since a library starts no threads
    /// unasked; started when first needed.
    pub workers: usize,
    /// Who hears what happens.
    pub on_event: Option<Listener>,
}

impl Default for Config {
    fn default() -> Self {
        Self::with_capacity(256)
    }
}

impl Config {
    /// The defaults, with so many slots.
    #[must_use]
    pub const fn with_capacity(capacity: usize) -> Self {
        Self {
            capacity,
            slots_per_caller_max: capacity.div_ceil(2),
            linger_us_max: 0,
            workers: 0,
            on_event: None,
        }
    }

    pub(crate) fn linger_max(&self) -> Duration {
        Duration::from_micros(self.linger_us_max.into())
    }

    /// What is wrong with it.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        if self.capacity == 0 {
            return Err("capacity is 0: give at least 1");
        }
        if self.capacity > CAPACITY_MAX {
            return Err("capacity is above 1048576: each slot has its memory from the start");
        }
        if self.slots_per_caller_max == 0 {
            return Err("slots_per_caller_max is 0: give at least 1");
        }
        if self.workers > WORKERS_MAX {
            return Err("workers is above 1024: more than units and callbacks at once need none");
        }
        if self.linger_us_max > LINGER_US_MAX {
            return Err("linger_us_max is above 10000: a request costs less than that");
        }
        Ok(())
    }
}

/// Places of some kilobytes each.
const CAPACITY_MAX: usize = 1 << 20;

/// Threads.
const WORKERS_MAX: usize = 1024;

/// Ten milliseconds: longer than the slowest operation takes.
const LINGER_US_MAX: u32 = 10_000;

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("capacity", &self.capacity)
            .field("slots_per_caller_max", &self.slots_per_caller_max)
            .field("linger_us_max", &self.linger_us_max)
            .field("workers", &self.workers)
            .finish_non_exhaustive()
    }
}
