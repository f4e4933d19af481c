//! What threads sleep on until their requests ended: a bell for each place, and one call for all
//! bells of a batch.

use std::time::Instant;

use super::sync::Ordering::{Acquire, Relaxed, Release};
use super::sync::{AtomicBool, Rings};

/// The bells of all places. Who sleeps does not want the engine's lock before it was rung for:
/// eight that are woken at once would meet there, and go to sleep once more.
pub(crate) struct Bells {
    is_rung: Box<[AtomicBool]>,
    /// One for [`Rings::PLACES`] neighbours, which are told apart.
    rings: Box<[Rings]>,
}

impl Bells {
    pub(crate) fn new(places: usize) -> Self {
        Self {
            is_rung: (0..places).map(|_| AtomicBool::new(false)).collect(),
            rings: (0..places.div_ceil(Rings::PLACES)).map(|_| Rings::default()).collect(),
        }
    }

    /// From now on the bell of a place is not rung: under the engine's lock, by the one who will
    /// sleep there, so that whoever sees it listed as asleep rings later.
    pub(crate) fn silence(&self, place: usize) {
        self.is_rung[place].store(false, Relaxed);
    }

    /// Sleeps until the bell of a place is rung, or until the deadline. A ring that was meant for
    /// who slept there before may come late, and wakes too.
    pub(crate) fn sleep(&self, place: usize, deadline: Option<Instant>) {
        let rings = &self.rings[place / Rings::PLACES];
        loop {
            // Before the look: what is rung after it is another ring, and nobody sleeps over it.
            let heard = rings.count();
            let is_rung = self.is_rung[place].load(Acquire);
            if is_rung || !rings.sleep(heard, place, deadline) {
                break;
            }
        }
    }

    /// Rings for these places, in any order; with one call for all that are neighbours.
    pub(crate) fn ring(&self, places: &mut [usize]) {
        for &place in &*places {
            self.is_rung[place].store(true, Release);
        }
        places.sort_unstable();
        let word = |place: &usize| place / Rings::PLACES;
        for neighbours in places.chunk_by(|one, next| word(one) == word(next)) {
            self.rings[word(&neighbours[0])].ring(neighbours);
        }
    }
}
