//! When a connection may start.

use core::cmp::{Ordering, Reverse};
use core::time::Duration;
use std::time::Instant;

use crate::plan::Plan;

/// A place that starts later. In a heap, the earliest is on top.
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
pub(crate) struct Pace {
    interval: Duration,
    next: Instant,
}

impl Pace {
    pub(crate) fn new(plan: &Plan, start: Instant) -> Self {
        let interval = plan.starts_per_s_max.map_or(Duration::ZERO, |max| {
            Duration::from_secs_f64(f64::from(plan.threads) / f64::from(max.max(1)))
        });
        Self { interval, next: start }
    }

    /// Whether one may start now; if so, it is taken to start.
    pub(crate) fn may_start(&mut self, now: Instant) -> bool {
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

    pub(crate) const fn next(&self) -> Instant {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BinaryHeap;

    use super::*;
    use crate::plan::Protocol;

    #[test]
    fn the_earliest_is_on_top() {
        let now = Instant::now();
        let due = |ms, place| Due { at: now + Duration::from_millis(ms), place };
        let mut heap = BinaryHeap::from([due(3, 0), due(1, 1), due(2, 2)]);
        let order: Vec<_> = core::iter::from_fn(|| heap.pop()).map(|due| due.place).collect();
        assert_eq!(order, [1, 2, 0]);
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
