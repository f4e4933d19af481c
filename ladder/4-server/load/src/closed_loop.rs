//! The closed loop of a thread.

use core::cmp::Reverse;
use core::time::Duration;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Instant;

use crate::arrivals::Think;
use crate::plan::Plan;
use crate::seeded::Seeded;

/// The first and the longest pause after a failure. Each further failure doubles the pause.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(250));

/// The slots of a thread. Each slot runs one transaction after another.
#[derive(Debug)]
pub(crate) struct ClosedLoop {
    think: Think,
    random: Seeded,
    /// Slots that may begin now.
    ready: VecDeque<usize>,
    /// Slots that begin later.
    due: Dues,
    /// The pause of each slot after its next failure.
    backoff: Vec<Duration>,
}

/// The random stream of think times for the first thread; other threads have the following streams.
const THINK: u64 = 1 << 32;

impl ClosedLoop {
    pub(crate) fn new(plan: &Plan, think: Think, thread: u32, places: usize) -> Self {
        Self {
            think,
            random: Seeded::new(plan.seed, THINK + u64::from(thread)),
            ready: VecDeque::with_capacity(places),
            due: BinaryHeap::with_capacity(places),
            backoff: vec![BACKOFF.0; places],
        }
    }

    /// Schedules the first transaction of a slot.
    pub(crate) fn first(&mut self, place: usize, at: Instant) {
        self.due.push(Reverse((at, place)));
    }

    /// Returns the slot that begins now, if one is due.
    pub(crate) fn next(&mut self, now: Instant) -> Option<usize> {
        while let Some(&Reverse((at, place))) = self.due.peek()
            && at <= now
        {
            self.due.pop();
            self.ready.push_back(place);
        }
        self.ready.pop_front()
    }

    pub(crate) fn next_at(&self) -> Option<Instant> {
        self.due.peek().map(|Reverse((at, _))| *at)
    }

    /// Handles the end of a transaction. The slot's next transaction follows after the think time.
    pub(crate) fn ended(&mut self, place: usize, now: Instant) {
        self.backoff[place] = BACKOFF.0;
        let ms = match self.think {
            Think::None => return self.ready.push_back(place),
            Think::Constant { ms } => ms,
            Think::Exponential { mean_ms } => self.random.exponential(mean_ms),
        };
        self.due.push(Reverse((now + Duration::from_secs_f64(ms / 1e3), place)));
    }

    /// Handles the failure of a transaction. The slot's next transaction follows after a growing
    /// pause.
    pub(crate) fn failed(&mut self, place: usize, now: Instant) {
        let backoff = &mut self.backoff[place];
        self.due.push(Reverse((now + *backoff, place)));
        *backoff = (2 * *backoff).min(BACKOFF.1);
    }
}

/// Slots and the times at which they are due. The earliest time is on top.
pub(crate) type Dues = BinaryHeap<Reverse<(Instant, usize)>>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offer::Protocol;

    fn closed(think: Think) -> ClosedLoop {
        ClosedLoop::new(&Plan::new(Protocol::Tls13), think, 0, 3)
    }

    #[test]
    fn think_time_delays_the_next_transaction() {
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
    fn exponential_think_times_have_the_right_mean_and_tail() {
        let now = Instant::now();
        let mut closed = closed(Think::Exponential { mean_ms: 10.0 });
        let times: Vec<f64> = (0..20_000)
            .map(|_| {
                closed.ended(0, now);
                let Reverse((at, _)) = closed.due.pop().unwrap();
                at.duration_since(now).as_secs_f64() * 100.0
            })
            .collect();
        let mean = times.iter().sum::<f64>() / 20_000.0;
        // The mean has a standard error of 0.007. A share of e^-2 of the values exceeds two means:
        // 2707 values, with a standard deviation of 48.
        assert!((mean - 1.0).abs() < 0.035, "{mean}");
        let beyond = times.iter().filter(|&&time| time > 2.0).count();
        assert!(beyond.abs_diff(2707) < 240, "{beyond}");
    }

    #[test]
    fn the_pause_after_failures_grows_until_a_success() {
        let now = Instant::now();
        let mut closed = closed(Think::None);
        let pause = |closed: &mut ClosedLoop| {
            closed.failed(0, now);
            closed.due.pop().unwrap().0.0.duration_since(now)
        };
        let pauses: Vec<Duration> = (0..10).map(|_| pause(&mut closed)).collect();
        assert_eq!(pauses[..3], [1, 2, 4].map(Duration::from_millis));
        assert_eq!(pauses[9], BACKOFF.1);
        closed.ended(0, now);
        assert_eq!(pause(&mut closed), BACKOFF.0);
    }
}
