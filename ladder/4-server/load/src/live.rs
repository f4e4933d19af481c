//! Live counters of running loads.

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// Counters of all runs of a server. Each thread of a run adds its new counts every 20 ms; reading
/// costs the threads nothing more.
#[derive(Debug, Default)]
pub struct Live(Cells<AtomicU64>);

/// The values of [`Live`] at one moment; they only grow.
pub type LiveCounts = Cells<u64>;

/// Counters over whole runs.
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
    /// Connections that the client closed after its timeout.
    pub timed_out: T,
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

/// A coarse histogram: each bucket holds the times above the previous bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buckets<T> {
    /// By [`Self::BOUNDS_US`]; the last bucket holds times above all bounds.
    pub counts: [T; BUCKETS],
    /// Their sum, in nanoseconds.
    pub sum_ns: T,
}

impl Buckets<u64> {
    /// Upper bounds of all buckets but the last, in microseconds.
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
            &self.timed_out,
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
    /// The current counts. They are read one after the other, not at one instant.
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
            timed_out,
            dropped,
            body_bytes,
            times,
        } = &self.0;
        LiveCounts {
            attempts: read(attempts),
            confirmed: read(confirmed),
            transactions: read(transactions),
            failed: read(failed),
            timed_out: read(timed_out),
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
    pub(crate) fn publish(&mut self, now: LiveCounts) {
        for ((shared, now), published) in
            self.live.0.each().zip(now.each()).zip(self.published.each())
        {
            if now > published {
                shared.fetch_add(now - published, Ordering::Relaxed);
            }
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
