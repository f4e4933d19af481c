//! Decides how long a batch waits for further requests (lingers). This module uses no threads and
//! no clocks.
//!
//! A batch waits until it has as many requests as recent batches had; every sixteenth batch waits
//! for one request more. No batch waits longer than `linger_us_max`. A batch does not wait at all
//! if recent batches had one request each, or if the time between the last two arrivals was longer
//! than `linger_us_max`.

use core::hash::{BuildHasher as _, BuildHasherDefault};
use core::time::Duration;
use std::hash::DefaultHasher;
use std::time::Instant;

use crate::job::Class;

/// The arrivals of each class. Classes whose hashes collide count as one.
pub(crate) struct ArrivalsByClass([Arrivals; CLASSES]);

/// A few sizes of RSA keys and a few curves rarely collide.
const CLASSES: usize = 64;

impl ArrivalsByClass {
    pub(crate) fn new(max: Duration) -> Self {
        Self(core::array::from_fn(|_| Arrivals::new(max)))
    }

    pub(crate) fn of(&self, class: Class) -> &Arrivals {
        &self.0[entry(class)]
    }

    pub(crate) fn of_mut(&mut self, class: Class) -> &mut Arrivals {
        &mut self.0[entry(class)]
    }
}

fn entry(class: Class) -> usize {
    let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(class);
    usize::try_from(hash % CLASSES as u64).expect("below 64")
}

/// Rate of arrivals and size of recent batches.
pub(crate) struct Arrivals {
    /// Maximum time to linger.
    max: Duration,
    last: Option<Instant>,
    /// Time between the last two arrivals.
    last_gap: Duration,
    /// Moving average over about eight gaps.
    mean_gap: Duration,
    /// Expected number of requests in a batch. After a larger batch, it rises to that size at
    /// once; after a smaller batch, it falls half of the way to that size.
    expected: usize,
    batches: usize,
}

/// One of this many batches waits for one more request.
const TRY_MORE: usize = 16;

impl Arrivals {
    pub(crate) fn new(max: Duration) -> Self {
        let (last_gap, mean_gap) = (Duration::MAX, Duration::ZERO);
        Self { max, last: None, last_gap, mean_gap, expected: 1, batches: 0 }
    }

    /// Records an arrival.
    pub(crate) fn note(&mut self, now: Instant) {
        if let Some(last) = self.last.replace(now) {
            self.last_gap = now.saturating_duration_since(last);
            // Cap the gap: otherwise a pause of an hour would distort the mean for the next hundred
            // requests.
            self.mean_gap = (7 * self.mean_gap + self.last_gap.min(self.max)) / 8;
        }
    }

    /// Records the start of a batch.
    pub(crate) fn begin(&mut self, requests: usize) {
        self.expected = requests.max(usize::midpoint(self.expected, requests));
        self.batches = self.batches.wrapping_add(1);
    }

    /// Returns the expected number of requests in a batch, at any rate of arrivals.
    pub(crate) fn expected(&self) -> usize {
        self.expected
    }

    /// Returns how many requests the next batch should have, at most `room`.
    pub(crate) fn awaited(&self, room: usize) -> usize {
        let is_alone = self.expected < 2 || self.last_gap > self.max;
        let more = usize::from(self.batches.is_multiple_of(TRY_MORE));
        if is_alone { 1 } else { room.min(self.expected + more) }
    }

    /// Returns the maximum time to wait for the missing requests: twice the time in which this many
    /// requests arrive at the mean rate.
    pub(crate) fn linger(&self, missing: usize) -> Duration {
        let missing = u32::try_from(missing).unwrap_or(u32::MAX);
        self.max.min(self.mean_gap.saturating_mul(2).saturating_mul(missing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: Duration = Duration::from_micros(150);
    const ROOM: usize = 8;

    /// Arrivals and a manual clock.
    struct Bench {
        arrivals: Arrivals,
        now: Instant,
    }

    impl Bench {
        fn new() -> Self {
            Self { arrivals: Arrivals::new(MAX), now: Instant::now() }
        }

        /// Adds arrivals with equal gaps.
        fn arrive(&mut self, requests: usize, gap: Duration) {
            for _ in 0..requests {
                self.now += gap;
                self.arrivals.note(self.now);
            }
        }

        /// Returns how long a batch with `depth` waiting requests lingers.
        fn wait(&self, depth: usize) -> Duration {
            self.arrivals.linger(self.arrivals.awaited(ROOM).saturating_sub(depth))
        }
    }

    #[test]
    fn a_single_request_never_waits() {
        for apart in [1, 40, 149, 151, 10_000].map(Duration::from_micros) {
            let mut bench = Bench::new();
            for _ in 0..100 {
                bench.arrive(1, apart);
                assert_eq!(bench.wait(1), Duration::ZERO, "{apart:?}");
                bench.arrivals.begin(1);
            }
        }
    }

    /// The sizes of RSA keys that servers have, and the curves.
    #[test]
    fn classes_have_expectations_of_their_own() {
        let mut arrivals = ArrivalsByClass::new(MAX);
        arrivals.of_mut(Class(256)).begin(8);
        for bits in [1024, 2048, 3072, 4096, 8192, 25519].map(Class) {
            assert_eq!(arrivals.of(bits).expected(), 1, "{bits:?}");
        }
        assert_eq!(arrivals.of(Class(256)).expected(), 8);
    }

    #[test]
    fn under_load_a_batch_waits_for_the_expected_requests() {
        let mut bench = Bench::new();
        bench.arrive(8, Duration::from_micros(10));
        bench.arrivals.begin(8);
        bench.arrive(2, Duration::from_micros(10));
        assert_eq!(bench.arrivals.awaited(ROOM), 8);
        let wait = bench.wait(2);
        let (least, most) = (Duration::from_micros(6 * 10), Duration::from_micros(6 * 2 * 10));
        assert!((least..=most).contains(&wait), "{wait:?}");
        assert_eq!(bench.wait(8), Duration::ZERO, "complete");
    }

    #[test]
    fn no_wait_is_longer_than_allowed() {
        let mut bench = Bench::new();
        for requests in (1..=ROOM).chain((1..ROOM).rev()).cycle().take(100) {
            bench.arrive(requests, Duration::from_micros(149));
            assert!(bench.wait(1) <= MAX);
            bench.arrivals.begin(requests);
        }
        let mut never = Arrivals::new(Duration::ZERO);
        (0..8).for_each(|_| never.note(bench.now));
        never.begin(8);
        assert_eq!(never.linger(7), Duration::ZERO);
    }

    /// The rate of arrivals before a pause does not predict the rate after the pause.
    #[test]
    fn the_first_after_a_pause_does_not_wait() {
        let mut bench = Bench::new();
        bench.arrive(8, Duration::from_micros(1));
        bench.arrivals.begin(8);
        bench.arrive(1, MAX + Duration::from_micros(1));
        assert_eq!(bench.wait(1), Duration::ZERO);
        bench.arrive(1, Duration::from_secs(3600));
        bench.arrive(8, Duration::from_micros(1));
        bench.arrivals.begin(8);
        assert!(bench.wait(7) < MAX / 4, "{:?} for one", bench.wait(7));
    }

    /// The expected number of requests falls when fewer arrive. It grows when a batch that waits
    /// for one more request gets that request.
    #[test]
    fn the_expectation_follows_the_arrivals() {
        let mut bench = Bench::new();
        bench.arrive(16, Duration::from_micros(10));
        bench.arrivals.begin(8);
        for _ in 0..3 {
            bench.arrivals.begin(1);
        }
        assert_eq!(bench.arrivals.awaited(ROOM), 1, "three single requests");
        bench.arrivals.begin(4);
        let tried: Vec<_> = (0..2 * TRY_MORE)
            .map(|_| {
                let awaited = bench.arrivals.awaited(ROOM);
                bench.arrivals.begin(4);
                awaited
            })
            .collect();
        assert_eq!(tried.iter().filter(|&&awaited| awaited == 5).count(), 2, "{tried:?}");
        assert!(tried.iter().all(|awaited| [4, 5].contains(awaited)));
    }
}
