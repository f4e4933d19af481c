//! What runs have counted so far, for who looks on while they go.

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use crate::tally::Tally;

/// Counters of a server's runs, from the first on. Each thread of a run adds to them what it has
/// counted since the last time, every 20 ms: who looks on costs it nothing more.
#[derive(Debug, Default)]
pub struct Live(Cells<AtomicU64>);

/// What [`Live`] says at a moment; counts only grow.
pub type LiveCounts = Cells<u64>;

/// Counters, of the whole of each run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cells<T> {
    /// Connections begun.
    pub attempts: T,
    /// Handshakes that the server confirmed.
    pub confirmed: T,
    /// Transactions completed.
    pub transactions: T,
    /// Connections that failed.
    pub failed: T,
    /// Connections that impatient clients closed.
    pub gave_up: T,
    /// Arrivals that never began.
    pub dropped: T,
    /// Bytes of bodies received.
    pub body_bytes: T,
    /// Times of the steps.
    pub times: StepTimes<T>,
}

/// Times from one clock, as [`Times`](crate::Times) defines them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepTimes<T> {
    /// TCP connect.
    pub connect: Buckets<T>,
    /// From the `ClientHello` until the server confirmed the handshake.
    pub handshake: Buckets<T>,
    /// The whole transaction; in an open loop from the intended start.
    pub transaction: Buckets<T>,
}

impl<T> StepTimes<T> {
    /// All of them.
    pub const fn all(&self) -> [&Buckets<T>; 3] {
        [&self.connect, &self.handshake, &self.transaction]
    }
}

impl StepTimes<u64> {
    /// Adds the times of another thread.
    pub(crate) fn add(&mut self, other: &Self) {
        self.connect.add(&other.connect);
        self.handshake.add(&other.handshake);
        self.transaction.add(&other.transaction);
    }
}

/// Number of buckets.
const BUCKETS: usize = 17;

/// Times by a few steps: each bucket holds those above the bound before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buckets<T> {
    /// By [`Self::BOUNDS_US`]; the last one holds what is above all of them.
    pub counts: [T; BUCKETS],
    /// Their sum, in nanoseconds.
    pub sum_ns: T,
}

impl Buckets<u64> {
    /// The longest time in each bucket but the last, in microseconds.
    pub const BOUNDS_US: [u64; BUCKETS - 1] = [
        100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000,
        1_000_000, 2_000_000, 5_000_000, 10_000_000,
    ];

    pub(crate) fn record(&mut self, time: core::time::Duration) {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.counts[Self::BOUNDS_US.partition_point(|bound| bound * 1000 < ns)] += 1;
        self.sum_ns = self.sum_ns.saturating_add(ns);
    }

    /// A sum of threads.
    pub(crate) fn add(&mut self, other: &Self) {
        self.counts.iter_mut().zip(other.counts).for_each(|(own, more)| *own += more);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
    }
}

impl<T> Cells<T> {
    const fn all(&self) -> [&T; 7] {
        [
            &self.attempts,
            &self.confirmed,
            &self.transactions,
            &self.failed,
            &self.gave_up,
            &self.dropped,
            &self.body_bytes,
        ]
    }

    /// Counters, then the buckets and the sum of each step's times.
    fn each(&self) -> impl Iterator<Item = &T> {
        let times = self.times.all().into_iter();
        let times = times.flat_map(|times| times.counts.iter().chain([&times.sum_ns]));
        self.all().into_iter().chain(times)
    }
}

impl Live {
    /// The counts of now. Each is right; they were not read in one instant.
    #[must_use]
    pub fn counts(&self) -> LiveCounts {
        let read = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
        let buckets = |times: &Buckets<AtomicU64>| Buckets {
            counts: core::array::from_fn(|bucket| read(&times.counts[bucket])),
            sum_ns: read(&times.sum_ns),
        };
        let Cells {
            attempts,
            confirmed,
            transactions,
            failed,
            gave_up,
            dropped,
            body_bytes,
            times,
        } = &self.0;
        LiveCounts {
            attempts: read(attempts),
            confirmed: read(confirmed),
            transactions: read(transactions),
            failed: read(failed),
            gave_up: read(gave_up),
            dropped: read(dropped),
            body_bytes: read(body_bytes),
            times: StepTimes {
                connect: buckets(&times.connect),
                handshake: buckets(&times.handshake),
                transaction: buckets(&times.transaction),
            },
        }
    }
}

/// A thread's way to the counters.
#[derive(Debug)]
pub(crate) struct Teller {
    live: Arc<Live>,
    told: LiveCounts,
}

impl Teller {
    pub(crate) fn new(live: Arc<Live>) -> Self {
        Self { live, told: LiveCounts::default() }
    }

    /// Adds what the thread has counted since the last time.
    pub(crate) fn tell(&mut self, tally: &Tally) {
        let now = LiveCounts {
            attempts: tally.whole.attempts,
            confirmed: tally.whole.confirmed,
            transactions: tally.whole.transactions,
            failed: tally.whole.failed(),
            gave_up: tally.whole.given_up(),
            dropped: tally.offered_whole.dropped,
            body_bytes: tally.whole.body_bytes,
            times: tally.step_times,
        };
        for ((shared, now), told) in self.live.0.each().zip(now.each()).zip(self.told.each()) {
            if now > told {
                shared.fetch_add(now - told, Ordering::Relaxed);
            }
        }
        self.told = now;
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    #[test]
    fn a_time_falls_into_the_bucket_whose_bound_it_does_not_exceed() {
        let mut buckets = Buckets::<u64>::default();
        for us in [1, 100, 101, 10_000_000, 10_000_001] {
            buckets.record(Duration::from_micros(us));
        }
        let filled: Vec<(usize, u64)> =
            (0..).zip(buckets.counts).filter(|(_, count)| *count > 0).collect();
        assert_eq!(filled, [(0, 2), (1, 1), (15, 1), (16, 1)]);
        assert_eq!(buckets.sum_ns, 20_000_203_000);
    }
}
