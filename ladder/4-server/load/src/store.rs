//! Sessions of one thread that can be resumed; their memory is reused.

use std::time::Instant;

use tollgate_tls_client::SavedSession;

/// A session, with the time when it was saved.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) session: SavedSession,
    pub(crate) at: Instant,
}

impl Stored {
    pub(crate) fn new(now: Instant) -> Self {
        Self { session: SavedSession::default(), at: now }
    }

    /// Returns whether the session is within its lifetime.
    fn is_fresh(&self, now: Instant) -> bool {
        let age = now.saturating_duration_since(self.at);
        self.session.lifetime().is_none_or(|lifetime| age < lifetime)
    }
}

/// The sessions of one thread. The latest is used first; a full store replaces the oldest.
#[derive(Debug)]
pub(crate) struct Store {
    /// The first `count` are sessions; the rest is unused memory.
    stored: Vec<Stored>,
    count: usize,
    /// Index of the next session to replace.
    turn: usize,
}

impl Store {
    pub(crate) fn new(capacity: usize) -> Self {
        let now = Instant::now();
        Self { stored: (0..capacity).map(|_| Stored::new(now)).collect(), count: 0, turn: 0 }
    }

    /// Moves a session that has not expired into `into`; returns whether there was one.
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

    /// Stores a session and leaves unused memory in `from`.
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
    fn the_latest_is_taken_and_a_full_store_replaces_the_oldest() {
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
