//! What threads sleep on until their requests ended: a bell for each place, and one call for all
//! bells of a batch.

use std::time::Instant;

use super::sync::Ordering::{Acquire, Relaxed, Release};
use super::sync::{AtomicBool, Rings};

/// The bells of all places. Who sleeps does not want the engine's lock before it was rung for:
/// eight that are woken at once would meet there, and go to sleep once more.
pub(crate) struct Bells {
    is_rung: Box<[AtomicBool]>,
    rings: Rings,
}

impl Bells {
    pub(crate) fn new(places: usize) -> Self {
        let is_rung = (0..places).map(|_| AtomicBool::new(false)).collect();
        Self { is_rung, rings: Rings::default() }
    }

    /// From now on the bell of a place is not rung: under the engine's lock, by the one who will
    /// sleep there, so that whoever sees it listed as asleep rings later.
    pub(crate) fn muffle(&self, place: usize) {
        self.is_rung[place].store(false, Relaxed);
    }

    /// Sleeps until the bell of a place is rung, or until then. A ring that was meant for who slept
    /// there before may come late, and wakes too.
    pub(crate) fn sleep(&self, place: usize, deadline: Option<Instant>) {
        loop {
            // Before the look: what is rung after it is another ring, and nobody sleeps over it.
            let heard = self.rings.count();
            let is_rung = self.is_rung[place].load(Acquire);
            if is_rung || !self.rings.sleep(heard, place, deadline) {
                break;
            }
        }
    }

    /// Rings for these places, with one call for all.
    pub(crate) fn ring(&self, places: &[usize]) {
        if places.is_empty() {
            return;
        }
        for &place in places {
            self.is_rung[place].store(true, Release);
        }
        self.rings.ring(places);
    }
}
