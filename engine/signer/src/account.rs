//! The state of a client that outlives reloads: its place in the queue, its rates, and the number
//! of its connections.

use core::num::NonZero;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use core::time::Duration;
use std::io;
use std::sync::{Arc, OnceLock};

use tollgate_queue::{Caller, PrivateJob, Queue};

/// The state of a client.
#[derive(Default)]
pub(crate) struct Account {
    /// All its connections are one source of requests, so that further ones give it no larger
    /// share.
    caller: OnceLock<Caller<PrivateJob>>,
    /// Its operations.
    pub(crate) operations: Rate,
    /// Its lines in the audit log about connections and refusals.
    pub(crate) lines: Rate,
    /// The number of its open connections.
    open: AtomicUsize,
}

/// A connection counts for its client until this is dropped.
pub(crate) struct Place(Arc<Account>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The time by which events may be ahead of their rate: those of a second may come at once.
const BURST_NS: u64 = 1_000_000_000;

impl Account {
    pub(crate) fn caller(&self, queue: &Queue<PrivateJob>) -> io::Result<&Caller<PrivateJob>> {
        if let Some(caller) = self.caller.get() {
            return Ok(caller);
        }
        let caller = queue.caller().map_err(io::Error::other)?;
        Ok(self.caller.get_or_init(|| caller))
    }

    /// Counts a connection, unless the client has this many.
    pub(crate) fn place(self: &Arc<Self>, max: usize) -> Option<Place> {
        // Dropping the place takes it back.
        let others = self.open.fetch_add(1, Ordering::Relaxed);
        Some(Place(Arc::clone(self))).filter(|_| others < max)
    }
}

/// Events that may be ahead of their rate by a second.
#[derive(Default)]
pub(crate) struct Rate {
    /// The time since the signer's start, in nanoseconds, at which the events so far would have
    /// ended at the rate, one after the other.
    paid_until: AtomicU64,
    /// The lines above the rate that no line has counted yet.
    pub(crate) left_out: AtomicU64,
}

impl Rate {
    /// Counts an event at this time since the signer's start, unless it is above this number a
    /// second.
    pub(crate) fn allows(&self, per_second: NonZero<u32>, now: Duration) -> bool {
        let now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX / 2);
        let cost = BURST_NS / u64::from(per_second.get());
        let pay = |until: u64| {
            let until = until.max(now).saturating_add(cost);
            (until - now <= BURST_NS).then_some(until)
        };
        self.paid_until.fetch_update(Ordering::Relaxed, Ordering::Relaxed, pay).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_gets_a_second_s_worth_at_once_and_then_its_rate() {
        let operations = Rate::default();
        let done = |rate, at_ms| {
            let (rate, at) = (NonZero::new(rate).unwrap(), Duration::from_millis(at_ms));
            (0..1000).filter(|_| operations.allows(rate, at)).count()
        };
        assert_eq!(done(100, 5000), 100);
        assert_eq!(done(100, 5000), 0);
        assert_eq!(done(100, 5050), 5);
        assert_eq!(done(100, 6050), 100, "no more than a second's worth");
        // Another rate holds at once; what was done at the old one counts for a second at most.
        assert_eq!(done(10, 6050), 0);
        assert_eq!(done(10, 6550), 5);
        assert_eq!(done(500, 7550), 500);
        assert_eq!(done(1, 9000), 1);
        assert_eq!(done(1, 9999), 0);
        assert_eq!(done(1, 10_000), 1);
    }

    #[test]
    fn workers_share_a_rate() {
        let operations = Rate::default();
        let rate = NonZero::new(1_000_000).unwrap();
        let worker = || (0..200).filter(|_| operations.allows(rate, Duration::ZERO)).count();
        let done: usize = std::thread::scope(|scope| {
            let workers = [(); 4].map(|()| scope.spawn(worker));
            workers.into_iter().map(|worker| worker.join().unwrap()).sum()
        });
        assert_eq!(done, 800);
        assert_eq!(operations.paid_until.into_inner(), 800_000);
    }
}
