//! The sessions of one thread that can be resumed: lent to a connection, given back, in the same
//! memory.

use std::time::Instant;

use tollgate_tls_client::SavedSession;

/// A session, and when it was saved.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) session: SavedSession,
    pub(crate) at: Instant,
}

impl Stored {
    /// An empty one.
    pub(crate) fn new(now: Instant) -> Self {
        Self { session: SavedSession::default(), at: now }
    }

    /// Whether the server has it still, by its own word.
    fn is_fresh(&self, now: Instant) -> bool {
        let age = now.saturating_duration_since(self.at);
        self.session.lifetime().is_none_or(|lifetime| age < lifetime)
    }
}

/// The sessions of one thread. Who comes gets the latest; where there are too many the oldest go.
#[derive(Debug)]
pub(crate) struct Store {
    /// The first `count` are sessions, the rest is memory.
    stored: Vec<Stored>,
    count: usize,
    /// Who goes next.
    turn: usize,
}

impl Store {
    pub(crate) fn new(capacity: usize) -> Self {
        let now = Instant::now();
        Self { stored: (0..capacity).map(|_| Stored::new(now)).collect(), count: 0, turn: 0 }
    }

    /// Puts a session into `into`, if there is one that the server has still.
    pub(crate) fn lend(&mut self, into: &mut Stored, now: Instant) -> bool {
        while let Some(last) = self.count.checked_sub(1) {
            self.count = last;
            core::mem::swap(into, &mut self.stored[last]);
            if into.is_fresh(now) {
                return true;
            }
        }
        false
    }

    /// Takes a session, and leaves memory for another.
    pub(crate) fn give(&mut self, from: &mut Stored) {
        if self.count < self.stored.len() {
            core::mem::swap(from, &mut self.stored[self.count]);
            self.count += 1;
        } else if let Some(oldest) = self.stored.get_mut(self.turn) {
            core::mem::swap(from, oldest);
            self.turn = (self.turn + 1) % self.stored.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    #[test]
    fn the_latest_is_lent_and_what_is_too_much_replaces_another() {
        let mut store = Store::new(2);
        let start = Instant::now();
        let at = |s| start + Duration::from_secs(s);
        let mut hand = Stored::new(start);
        assert!(!store.lend(&mut hand, start));
        for s in [1, 2, 3] {
            hand.at = at(s);
            store.give(&mut hand);
        }
        let mut lent = [(); 3].map(|()| store.lend(&mut hand, at(9)).then_some(hand.at));
        lent.sort_unstable();
        assert_eq!(lent, [None, Some(at(2)), Some(at(3))]);
    }
}
