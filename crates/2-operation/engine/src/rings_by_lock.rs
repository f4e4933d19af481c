//! A count of rings to sleep on, by a lock: for systems without futex, and for the tests of
//! interleavings. Every ring wakes all who sleep.

use std::sync::PoisonError;
use std::time::Instant;

use super::sync::{Condvar, Mutex, MutexGuard};

#[derive(Default)]
pub(crate) struct Rings {
    count: Mutex<u32>,
    rung: Condvar,
}

impl Rings {
    pub(crate) fn count(&self) -> u32 {
        *self.lock()
    }

    /// Sleeps unless more rings were counted than were heard; until a ring. False if the deadline
    /// is over.
    pub(crate) fn sleep(&self, heard: u32, _place: usize, deadline: Option<Instant>) -> bool {
        let count = self.lock();
        if *count != heard {
            return true;
        }
        let Some(deadline) = deadline else {
            drop(self.rung.wait(count).unwrap_or_else(PoisonError::into_inner));
            return true;
        };
        let left = deadline.saturating_duration_since(Instant::now());
        !self.rung.wait_timeout(count, left).unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// Counts a ring, and wakes who sleeps.
    pub(crate) fn ring(&self, _places: &[usize]) {
        let mut count = self.lock();
        *count = count.wrapping_add(1);
        drop(count);
        self.rung.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, u32> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
