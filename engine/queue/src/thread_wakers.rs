//! What threads sleep on until their requests ended: a bell for each slot, and one call for all
//! bells of a batch.

use std::time::Instant;

use super::sync::Ordering::{Acquire, Relaxed, Release};
use super::sync::{AtomicBool, Futex};

/// The bells of all slots. Who sleeps does not want the queue's lock before it was rung for:
/// eight that are woken at once would meet there, and go to sleep once more.
pub(crate) struct ThreadWakers {
    is_rung: Box<[AtomicBool]>,
    /// One for [`Futex::SLOTS`] neighbours, which are notifications apart.
    futex: Box<[Futex]>,
}

impl ThreadWakers {
    pub(crate) fn new(slots: usize) -> Self {
        Self {
            is_rung: (0..slots).map(|_| AtomicBool::new(false)).collect(),
            futex: (0..slots.div_ceil(Futex::SLOTS)).map(|_| Futex::default()).collect(),
        }
    }

    /// From now on the bell of a slot is not rung: under the queue's lock, by the one who will
    /// sleep there, so that whoever sees it listed as asleep futex later.
    pub(crate) fn silence(&self, slot: usize) {
        self.is_rung[slot].store(false, Relaxed);
    }

    /// Sleeps until the bell of a slot is rung, or until the deadline. A ring that was meant for
    /// who slept there before may come late, and wakes too.
    pub(crate) fn sleep(&self, slot: usize, deadline: Option<Instant>) {
        let futex = &self.futex[slot / Futex::SLOTS];
        loop {
            // Before the look: what is rung after it is another ring, and nobody sleeps over it.
            let heard = futex.count();
            let is_rung = self.is_rung[slot].load(Acquire);
            if is_rung || !futex.sleep(heard, slot, deadline) {
                break;
            }
        }
    }

    /// Futex for these slots, in any order; with one call for all that are neighbours.
    pub(crate) fn ring(&self, slots: &mut [usize]) {
        for &slot in &*slots {
            self.is_rung[slot].store(true, Release);
        }
        slots.sort_unstable();
        let word = |slot: &usize| slot / Futex::SLOTS;
        for neighbours in slots.chunk_by(|one, next| word(one) == word(next)) {
            self.futex[word(&neighbours[0])].ring(neighbours);
        }
    }
}
