//! Live counters of running loads.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

/// Counters of all runs of a server. Each thread of a run adds its new counts every 20 ms.
#[derive(Debug, Default)]
pub struct Live(Mutex<LiveCounts>);

/// The values of [`Live`] at one moment. They never decrease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LiveCounts {
    /// Connections begun.
    pub attempts: u64,
    /// Handshakes that the server confirmed.
    pub confirmed: u64,
    /// Transactions completed.
    pub transactions: u64,
    /// Connections that failed.
    pub failed: u64,
    /// Connections that the client closed after its timeout.
    pub timed_out: u64,
    /// Arrivals that never began.
    pub dropped: u64,
    /// The number of body bytes received.
    pub body_bytes: u64,
}

impl LiveCounts {
    /// Adds the counts of another process.
    pub fn add(&mut self, other: &Self) {
        let mut other = *other;
        self.each().zip(other.each()).for_each(|(own, more)| *own = own.saturating_add(*more));
    }

    fn each(&mut self) -> impl Iterator<Item = &mut u64> {
        let Self { attempts, confirmed, transactions, failed, timed_out, dropped, body_bytes } =
            self;
        [attempts, confirmed, transactions, failed, timed_out, dropped, body_bytes].into_iter()
    }
}

impl Live {
    fn lock(&self) -> MutexGuard<'_, LiveCounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the current counts.
    #[must_use]
    pub fn counts(&self) -> LiveCounts {
        *self.lock()
    }
}

/// Adds the counts of one thread to the live counters.
#[derive(Debug)]
pub(crate) struct LivePublisher {
    live: Arc<Live>,
    published: LiveCounts,
}

impl LivePublisher {
    pub(crate) fn new(live: Arc<Live>) -> Self {
        Self { live, published: LiveCounts::default() }
    }

    /// Adds the counts since the last call.
    pub(crate) fn publish(&mut self, mut now: LiveCounts) {
        let news = now.each().zip(self.published.each());
        for (all, (now, published)) in self.live.lock().each().zip(news) {
            *all = all.wrapping_add(now.saturating_sub(*published));
        }
        self.published = now;
    }
}
