//! The closed loop of a thread: who begins again when.

use core::cmp::{Ordering, Reverse};
use core::time::Duration;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Instant;

use crate::arrivals::Think;
use crate::plan::Plan;
use crate::seeded::Seeded;

/// The pauses before a failed connection is tried again: doubled from the first to the last.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(250));

/// Clients of a thread; each has one place.
#[derive(Debug)]
pub(crate) struct Closed {
    think: Think,
    random: Seeded,
    /// Who may begin now.
    ready: VecDeque<usize>,
    /// Who begins later.
    due: BinaryHeap<Due>,
    pace: Pace,
    /// Of each place: the pause after its next failure.
    backoff: Vec<Duration>,
}

/// The stream of a plan's seed that the think times of the first thread come from.
const THINK: u64 = 1 << 32;

impl Closed {
    pub(crate) fn new(plan: &Plan, think: Think, thread: u32, places: usize) -> Self {
        Self {
            think,
            random: Seeded::new(plan.seed, THINK + u64::from(thread)),
            ready: VecDeque::with_capacity(places),
            due: BinaryHeap::with_capacity(places),
            pace: Pace::new(plan, Instant::now()),
            backoff: vec![BACKOFF.0; places],
        }
    }

    /// A client comes for the first time.
    pub(crate) fn first(&mut self, place: usize, at: Instant) {
        self.due.push(Due { at, place });
    }

    /// Who begins now, if anybody.
    pub(crate) fn next(&mut self, now: Instant) -> Option<usize> {
        while self.due.peek().is_some_and(|due| due.at <= now) {
            self.ready.extend(self.due.pop().map(|due| due.place));
        }
        if self.ready.is_empty() || !self.pace.may_start(now) {
            return None;
        }
        self.ready.pop_front()
    }

    /// When somebody may begin who may not now.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        let paced = (!self.ready.is_empty()).then(|| self.pace.next());
        self.due.peek().map(|due| due.at).into_iter().chain(paced).min()
    }

    /// A client is done with its transaction, and thinks.
    pub(crate) fn ended(&mut self, place: usize, now: Instant) {
        self.backoff[place] = BACKOFF.0;
        let ms = match self.think {
            Think::None => return self.ready.push_back(place),
            Think::Constant { ms } => ms,
            Think::Exponential { mean_ms } => self.random.exponential(mean_ms),
        };
        self.due.push(Due { at: now + Duration::from_secs_f64(ms / 1e3), place });
    }

    /// A transaction failed: its client comes again after a pause that grows.
    pub(crate) fn failed(&mut self, place: usize, now: Instant) {
        let backoff = &mut self.backoff[place];
        self.due.push(Due { at: now + *backoff, place });
        *backoff = (2 * *backoff).min(BACKOFF.1);
    }
}

/// A place with a time. In a heap, the earliest is on top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) at: Instant,
    pub(crate) place: usize,
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |due: &Self| Reverse((due.at, due.place));
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Holds starts to a rate: at least so much time between two of one thread. Time that was not used
/// is lost; nothing is caught up in a burst.
#[derive(Clone, Copy, Debug)]
struct Pace {
    interval: Duration,
    next: Instant,
}

impl Pace {
    fn new(plan: &Plan, start: Instant) -> Self {
        let interval = plan.starts_per_s_max.map_or(Duration::ZERO, |max| {
            Duration::from_secs_f64(f64::from(plan.threads) / f64::from(max.max(1)))
        });
        Self { interval, next: start }
    }

    /// Whether one may start now; if so, it is taken to start.
    fn may_start(&mut self, now: Instant) -> bool {
        if self.interval.is_zero() {
            return true;
        }
        let may = now >= self.next;
        if may {
            // a turn of the loop that came late by less than an interval does not lower the rate
            self.next = (self.next + self.interval).max(now);
        }
        may
    }

    const fn next(&self) -> Instant {
        self.next
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::plan::Protocol;

    fn closed(think: Think) -> Closed {
        Closed::new(&Plan::new(Protocol::Tls13), think, 0, 3)
    }

    #[test]
    fn the_earliest_is_on_top() {
        let now = Instant::now();
        let due = |ms, place| Due { at: now + Duration::from_millis(ms), place };
        let mut heap = BinaryHeap::from([due(3, 0), due(1, 1), due(2, 2)]);
        let order: Vec<_> = core::iter::from_fn(|| heap.pop()).map(|due| due.place).collect();
        assert_eq!(order, [1, 2, 0]);
    }

    #[test]
    fn who_thinks_begins_later_and_who_does_not_at_once() {
        let now = Instant::now();
        let mut hasty = closed(Think::None);
        hasty.ended(1, now);
        assert_eq!((hasty.next(now), hasty.next(now)), (Some(1), None));
        let mut thoughtful = closed(Think::Constant { ms: 2.5 });
        thoughtful.ended(1, now);
        assert_eq!(thoughtful.next(now), None);
        assert_eq!(thoughtful.next_at(), Some(now + Duration::from_micros(2500)));
        assert_eq!(thoughtful.next(now + Duration::from_micros(2500)), Some(1));
    }

    #[test]
    fn think_times_at_random_have_their_mean_and_their_tail() {
        let now = Instant::now();
        let mut closed = closed(Think::Exponential { mean_ms: 10.0 });
        let times: Vec<f64> = (0..20_000)
            .map(|_| {
                closed.ended(0, now);
                let at = closed.due.pop().unwrap().at;
                at.duration_since(now).as_secs_f64() * 100.0
            })
            .collect();
        let mean = times.iter().sum::<f64>() / 20_000.0;
        // a standard error of 0.007; e^-2 of them beyond two means: 2707, give or take 48
        assert!((mean - 1.0).abs() < 0.035, "{mean}");
        let beyond = times.iter().filter(|&&time| time > 2.0).count();
        assert!(beyond.abs_diff(2707) < 240, "{beyond}");
    }

    #[test]
    fn the_pause_after_failures_grows_and_ends_with_success() {
        let now = Instant::now();
        let mut closed = closed(Think::None);
        let pause = |closed: &mut Closed| {
            closed.failed(0, now);
            closed.due.pop().unwrap().at.duration_since(now)
        };
        let pauses: Vec<Duration> = (0..10).map(|_| pause(&mut closed)).collect();
        assert_eq!(pauses[..3], [1, 2, 4].map(Duration::from_millis));
        assert_eq!(pauses[9], BACKOFF.1);
        closed.ended(0, now);
        assert_eq!(pause(&mut closed), BACKOFF.0);
    }

    #[test]
    fn a_ceiling_holds_and_nothing_is_caught_up() {
        let plan = Plan { starts_per_s_max: Some(200), threads: 2, ..Plan::new(Protocol::Tls13) };
        let start = Instant::now();
        let mut pace = Pace::new(&plan, start);
        let at = |ms| start + Duration::from_millis(ms);
        // 100 per second and thread: one in 10 ms
        assert!(pace.may_start(at(0)) && !pace.may_start(at(9)) && pace.may_start(at(10)));
        // two seconds of silence are worth one start, and one more that was due meanwhile
        let after = (0..100).filter(|i| pace.may_start(at(2000 + i / 10))).count();
        assert!(after <= 2, "{after} starts in 10 ms");
    }

    #[test]
    fn without_a_ceiling_all_may_start() {
        let now = Instant::now();
        let mut pace = Pace::new(&Plan::new(Protocol::Tls13), now);
        assert!((0..1000).all(|_| pace.may_start(now)));
    }
}
