//! A count of futex to sleep on, by a lock: for systems without futex, and for the tests of
//! interleavings. It is read and counted up as with one, and the lock is taken only where the
//! system would take its own: so the tests see the orderings that are used with a futex.

use std::sync::PoisonError;
use std::time::Instant;

use super::sync::Ordering::{Acquire, Relaxed, Release};
use super::sync::{AtomicU32, Condvar, Mutex, MutexGuard};

#[derive(Default)]
pub(crate) struct Futex {
    count: AtomicU32,
    lock: Mutex<()>,
    rung: Condvar,
}

impl Futex {
    /// Places that sleep on one: all of them wake by each ring.
    pub(crate) const SLOTS: usize = 1;

    pub(crate) fn count(&self) -> u32 {
        self.count.load(Acquire)
    }

    /// Sleeps unless more futex were counted than were heard, until a ring. False if the deadline
    /// passed before.
    pub(crate) fn sleep(&self, heard: u32, _place: usize, deadline: Option<Instant>) -> bool {
        let lock = self.lock();
        if self.count.load(Relaxed) != heard {
            return true;
        }
        let Some(deadline) = deadline else {
            drop(self.rung.wait(lock).unwrap_or_else(PoisonError::into_inner));
            return true;
        };
        let left = deadline.saturating_duration_since(Instant::now());
        !self.rung.wait_timeout(lock, left).unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// Counts a ring, and wakes who sleeps.
    pub(crate) fn ring(&self, _places: &[usize]) {
        self.count.fetch_add(1, Release);
        drop(self.lock()); // who has looked at the count sleeps now
        self.rung.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
