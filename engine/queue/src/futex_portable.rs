//! Wake-ups by a lock and a condition variable, for systems without futex and for the loom tests.
//! The count uses the same memory orderings as the count of the real futex. The lock is taken only
//! where the kernel would take its own lock. Therefore loom checks the orderings that the real
//! futex uses.

use std::sync::PoisonError;

use super::sync::Ordering::{Acquire, Relaxed, Release};
use super::sync::{AtomicU32, Condvar, Mutex, MutexGuard};

#[derive(Default)]
pub(crate) struct Futex {
    count: AtomicU32,
    lock: Mutex<()>,
    woken: Condvar,
}

impl Futex {
    /// Number of slots that share a futex. A wake-up wakes all threads that sleep on the futex.
    pub(crate) const SLOTS: usize = 1;

    pub(crate) fn count(&self) -> u32 {
        self.count.load(Acquire)
    }

    /// Sleeps until a wake-up. Returns at once if the count differs from `seen`.
    pub(crate) fn sleep(&self, seen: u32, _slot: usize) {
        let lock = self.lock();
        if self.count.load(Relaxed) == seen {
            drop(self.woken.wait(lock).unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Counts a wake-up and wakes all sleeping threads.
    pub(crate) fn wake(&self, _slots: &[usize]) {
        self.count.fetch_add(1, Release);
        drop(self.lock()); // any thread that has checked the count is asleep now
        self.woken.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
