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
    /// Times of the steps.
    pub times: StepTimes,
}

/// Times from one clock, as [`Times`](crate::Times) defines them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepTimes {
    /// TCP connect.
    pub connect: Buckets,
    /// The time from the `ClientHello` until the server confirmed the handshake.
    pub handshake: Buckets,
    /// The whole transaction; in an open loop from the intended start.
    pub transaction: Buckets,
}

impl StepTimes {
    /// Returns the times of all steps.
    #[must_use]
    pub const fn all(&self) -> [&Buckets; 3] {
        [&self.connect, &self.handshake, &self.transaction]
    }

    /// Adds the times of another thread.
    pub(crate) fn add(&mut self, other: &Self) {
        self.connect.add(&other.connect);
        self.handshake.add(&other.handshake);
        self.transaction.add(&other.transaction);
    }
}

const BUCKETS: usize = 17;

/// A coarse histogram. Each bucket counts the times above the previous bucket's bound and up to its
/// own bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Buckets {
    /// The number of times in each bucket of [`Self::BOUNDS_US`]. The last bucket counts the times
    /// above all bounds.
    pub counts: [u64; BUCKETS],
    /// Sum of the times, in nanoseconds.
    pub sum_ns: u64,
}

impl Buckets {
    /// Upper bounds of all buckets except the last, in microseconds.
    pub const BOUNDS_US: [u64; BUCKETS - 1] = [
        100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000,
        1_000_000, 2_000_000, 5_000_000, 10_000_000,
    ];

    pub(crate) fn record(&mut self, time: core::time::Duration) {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.counts[Self::BOUNDS_US.partition_point(|bound| bound * 1000 < ns)] += 1;
        self.sum_ns = self.sum_ns.saturating_add(ns);
    }

    /// Adds the times of another thread.
    fn add(&mut self, other: &Self) {
        self.counts.iter_mut().zip(other.counts).for_each(|(own, more)| *own += more);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
    }
}

impl LiveCounts {
    /// Adds the counts of another process.
    pub fn add(&mut self, other: &Self) {
        let mut other = *other;
        self.each().zip(other.each()).for_each(|(own, more)| *own = own.saturating_add(*more));
    }

    /// Iterates over the counters, and then over the buckets and the sum of each step's times.
    fn each(&mut self) -> impl Iterator<Item = &mut u64> {
        let Self {
            attempts,
            confirmed,
            transactions,
            failed,
            timed_out,
            dropped,
            body_bytes,
            times: StepTimes { connect, handshake, transaction },
        } = self;
        let times = [connect, handshake, transaction].into_iter();
        let times = times.flat_map(|times| times.counts.iter_mut().chain([&mut times.sum_ns]));
        [attempts, confirmed, transactions, failed, timed_out, dropped, body_bytes]
            .into_iter()
            .chain(times)
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

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    #[test]
    fn bounds_are_inclusive() {
        let mut buckets = Buckets::default();
        for us in [1, 100, 101, 10_000_000, 10_000_001] {
            buckets.record(Duration::from_micros(us));
        }
        let filled: Vec<(usize, u64)> =
            (0..).zip(buckets.counts).filter(|(_, count)| *count > 0).collect();
        assert_eq!(filled, [(0, 2), (1, 1), (15, 1), (16, 1)]);
        assert_eq!(buckets.sum_ns, 20_000_203_000);
    }
}
