//! Sleep and wake-up of threads that wait for their requests: a flag for each slot, and one system
//! call for all slots of a batch that share a futex.

use super::sync::Ordering::{Acquire, Relaxed, Release};
use super::sync::{AtomicBool, Futex};

/// Wake flags of all slots. Threads sleep and wake without the queue's lock: eight threads woken at
/// once would contend for it and sleep again.
pub(crate) struct ThreadWakers {
    flags: Box<[AtomicBool]>,
    /// One futex for [`Futex::SLOTS`] adjacent slots.
    futexes: Box<[Futex]>,
}

impl ThreadWakers {
    pub(crate) fn new(slots: usize) -> Self {
        Self {
            flags: (0..slots).map(|_| AtomicBool::new(false)).collect(),
            futexes: (0..slots.div_ceil(Futex::SLOTS)).map(|_| Futex::default()).collect(),
        }
    }

    /// Clears the flag of a slot. The thread that will sleep calls this under the queue's lock, so
    /// that a later wake-up is not lost.
    pub(crate) fn clear(&self, slot: usize) {
        self.flags[slot].store(false, Relaxed);
    }

    /// Sleeps until the flag of a slot is set. A late wake-up for the previous user of the slot
    /// ends the sleep too.
    pub(crate) fn sleep(&self, slot: usize) {
        let futex = &self.futexes[slot / Futex::SLOTS];
        loop {
            // Read before the flag, so that a wake-up after the check changes the count.
            let seen = futex.count();
            if self.flags[slot].load(Acquire) {
                break;
            }
            futex.sleep(seen, slot);
        }
    }

    /// Wakes the threads of these slots, in any order, with one call for each futex.
    pub(crate) fn wake(&self, slots: &mut [usize]) {
        for &slot in &*slots {
            self.flags[slot].store(true, Release);
        }
        slots.sort_unstable();
        let word = |slot: &usize| slot / Futex::SLOTS;
        for neighbours in slots.chunk_by(|waker, next| word(waker) == word(next)) {
            self.futexes[word(&neighbours[0])].wake(neighbours);
        }
    }
}
