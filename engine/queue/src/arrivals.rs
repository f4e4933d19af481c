//! How long a batch waits for company, without threads and clocks.
//!
//! A batch waits for as many requests as those before it had, and every sixteenth for one more, but
//! no longer than `linger_us_max`; and not at all if those before it had none, or if the last two
//! requests came further apart than that.

use core::time::Duration;
use std::time::Instant;

/// How fast requests come, and how many together.
pub(crate) struct Arrivals {
    /// The longest wait.
    max: Duration,
    last: Option<Instant>,
    /// Between the last two.
    last_gap: Duration,
    /// The mean of about eight.
    mean_gap: Duration,
    /// Requests of a batch: as many as the last one had, or on the way down to that.
    expected: usize,
    batches: usize,
}

/// Batches between two that wait for one more.
const TRY_MORE: usize = 16;

impl Arrivals {
    pub(crate) fn new(max: Duration) -> Self {
        let (last_gap, mean_gap) = (Duration::MAX, Duration::ZERO);
        Self { max, last: None, last_gap, mean_gap, expected: 1, batches: 0 }
    }

    /// A request came.
    pub(crate) fn note(&mut self, now: Instant) {
        if let Some(last) = self.last.replace(now) {
            self.last_gap = now.saturating_duration_since(last);
            // A pause is no rate: an hour of it would be seen in the mean of a hundred requests.
            self.mean_gap = (7 * self.mean_gap + self.last_gap.min(self.max)) / 8;
        }
    }

    /// A batch of so many begins.
    pub(crate) fn begin(&mut self, requests: usize) {
        self.expected = requests.max(usize::midpoint(self.expected, requests));
        self.batches = self.batches.wrapping_add(1);
    }

    /// How many requests the next batch waits for, of those that it has room for.
    pub(crate) fn awaited(&self, room: usize) -> usize {
        let is_alone = self.expected < 2 || self.last_gap > self.max;
        let more = usize::from(self.batches.is_multiple_of(TRY_MORE));
        if is_alone { 1 } else { room.min(self.expected + more) }
    }

    /// How long at most, from now on, if so many are missing: twice as long as they take to come.
    pub(crate) fn patience(&self, missing: usize) -> Duration {
        let missing = u32::try_from(missing).unwrap_or(u32::MAX);
        self.max.min(self.mean_gap.saturating_mul(2).saturating_mul(missing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: Duration = Duration::from_micros(150);
    const ROOM: usize = 8;

    /// Arrivals, and a clock that goes when it is notifications to.
    struct Bench {
        arrivals: Arrivals,
        now: Instant,
    }

    impl Bench {
        fn new() -> Self {
            Self { arrivals: Arrivals::new(MAX), now: Instant::now() }
        }

        /// So many come, so far apart.
        fn come(&mut self, requests: usize, apart: Duration) {
            for _ in 0..requests {
                self.now += apart;
                self.arrivals.note(self.now);
            }
        }

        /// How long a batch waits for others beside those that are there.
        fn wait(&self, depth: usize) -> Duration {
            self.arrivals.patience(self.arrivals.awaited(ROOM).saturating_sub(depth))
        }
    }

    #[test]
    fn one_that_is_alone_never_waits() {
        for apart in [1, 40, 149, 151, 10_000].map(Duration::from_micros) {
            let mut bench = Bench::new();
            for _ in 0..100 {
                bench.come(1, apart);
                assert_eq!(bench.wait(1), Duration::ZERO, "{apart:?}");
                bench.arrivals.begin(1);
            }
        }
    }

    #[test]
    fn under_load_a_batch_waits_for_those_who_are_to_be_expected() {
        let mut bench = Bench::new();
        bench.come(8, Duration::from_micros(10));
        bench.arrivals.begin(8);
        bench.come(2, Duration::from_micros(10));
        assert_eq!(bench.arrivals.awaited(ROOM), 8);
        let wait = bench.wait(2);
        let (least, most) = (Duration::from_micros(6 * 10), Duration::from_micros(6 * 2 * 10));
        assert!((least..=most).contains(&wait), "{wait:?}");
        assert_eq!(bench.wait(8), Duration::ZERO, "all are there");
    }

    #[test]
    fn no_wait_is_longer_than_allowed() {
        let mut bench = Bench::new();
        for requests in (1..=ROOM).chain((1..ROOM).rev()).cycle().take(100) {
            bench.come(requests, Duration::from_micros(149));
            assert!(bench.wait(1) <= MAX);
            bench.arrivals.begin(requests);
        }
        let mut never = Arrivals::new(Duration::ZERO);
        (0..8).for_each(|_| never.note(bench.now));
        never.begin(8);
        assert_eq!(never.patience(7), Duration::ZERO);
    }

    /// After a pause the rate of before says nothing.
    #[test]
    fn the_first_after_a_pause_does_not_wait() {
        let mut bench = Bench::new();
        bench.come(8, Duration::from_micros(1));
        bench.arrivals.begin(8);
        bench.come(1, MAX + Duration::from_micros(1));
        assert_eq!(bench.wait(1), Duration::ZERO);
        bench.come(1, Duration::from_secs(3600));
        bench.come(8, Duration::from_micros(1));
        bench.arrivals.begin(8);
        assert!(bench.wait(7) < MAX / 4, "{:?} for one", bench.wait(7));
    }

    /// What does not come is soon no longer waited for, and what does is found by trying.
    #[test]
    fn what_is_expected_follows_what_comes() {
        let mut bench = Bench::new();
        bench.come(16, Duration::from_micros(10));
        bench.arrivals.begin(8);
        for _ in 0..3 {
            bench.arrivals.begin(1);
        }
        assert_eq!(bench.arrivals.awaited(ROOM), 1, "three waits in vain");
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
