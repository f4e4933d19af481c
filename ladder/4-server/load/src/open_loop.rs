//! The open loop of a thread: arrivals, queue, and free slots.

use core::iter::Peekable;
use core::time::Duration;
use std::collections::VecDeque;
use std::time::Instant;

use crate::arrivals::Pattern;
use crate::plan::Plan;
use crate::sequence::{Arrival, Sequence, ThreadArrivals};

/// Arrivals of a thread, and its free slots.
#[derive(Clone, Debug)]
pub(crate) struct OpenLoop {
    arrivals: Peekable<ThreadArrivals>,
    /// The start of the run; arrival times are relative to it.
    start: Instant,
    queue: VecDeque<Arrival>,
    queue_max: usize,
    client_timeout: Option<Duration>,
    free: Vec<usize>,
}

/// The result of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The arrival begins in this slot; `queued` if it waited for the slot.
    Begins { place: usize, arrival: Arrival, queued: bool },
    /// The queue was full, or the arrival timed out in it.
    Dropped(Arrival),
}

impl OpenLoop {
    /// Creates the part of one thread, which has this number of slots.
    pub(crate) fn new(
        plan: &Plan,
        pattern: Pattern,
        waiting_max: u32,
        (thread, places): (u32, usize),
    ) -> Self {
        // the first threads get the remainder of the division
        let more = u32::from(thread < waiting_max % plan.threads);
        Self {
            arrivals: Sequence::new(pattern, plan.seed).part(thread, plan.threads).peekable(),
            start: Instant::now(),
            queue: VecDeque::new(),
            queue_max: (waiting_max / plan.threads + more) as usize,
            client_timeout: plan.client_timeout.map(crate::client_timeout::ClientTimeout::duration),
            free: (0..places).rev().collect(),
        }
    }

    pub(crate) const fn begin(&mut self, start: Instant) {
        self.start = start;
    }

    pub(crate) fn time(&self, arrival: &Arrival) -> Instant {
        self.start + arrival.at
    }

    /// Returns the next arrival to begin or drop, if one is due. Queued arrivals come first.
    pub(crate) fn next(&mut self, now: Instant) -> Option<Turn> {
        loop {
            if let Some(&arrival) = self.queue.front() {
                let left = self.client_timeout.is_some_and(|max| self.time(&arrival) + max <= now);
                if left {
                    self.queue.pop_front();
                    return Some(Turn::Dropped(arrival));
                }
                if let Some(place) = self.free.pop() {
                    self.queue.pop_front();
                    return Some(Turn::Begins { place, arrival, queued: true });
                }
            }
            let start = self.start;
            let arrival = self.arrivals.next_if(|arrival| start + arrival.at <= now)?;
            match self.free.pop() {
                Some(place) => return Some(Turn::Begins { place, arrival, queued: false }),
                None if self.queue.len() < self.queue_max => self.queue.push_back(arrival),
                None => return Some(Turn::Dropped(arrival)),
            }
        }
    }

    pub(crate) fn next_at(&mut self) -> Option<Instant> {
        let start = self.start;
        self.arrivals.peek().map(|arrival| start + arrival.at)
    }

    pub(crate) fn ended(&mut self, place: usize) {
        self.free.push(place);
    }

    /// After the run: each call returns one arrival that never began. Queued arrivals come first,
    /// then later arrivals before `end`.
    pub(crate) fn rest(&mut self, end: Instant) -> Option<Arrival> {
        let start = self.start;
        self.queue.pop_front().or_else(|| self.arrivals.next_if(|arrival| start + arrival.at < end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::Arrivals;
    use crate::client_timeout::ClientTimeout;
    use crate::offer::Protocol;

    fn open(waiting_max: u32, change: impl FnOnce(&mut Plan)) -> (OpenLoop, Instant) {
        let pattern = Pattern::Constant { per_s: 1000.0 };
        let mut plan = Plan { connections: 2, ..Plan::new(Protocol::Tls13) };
        plan.arrivals = Arrivals::Open { pattern, waiting_max };
        change(&mut plan);
        let mut open = OpenLoop::new(&plan, pattern, waiting_max, (0, 2));
        let start = Instant::now();
        open.begin(start);
        (open, start)
    }

    fn told(open: &mut OpenLoop, at: Instant) -> Vec<(u64, &'static str)> {
        core::iter::from_fn(|| open.next(at))
            .map(|turn| match turn {
                Turn::Begins { arrival, queued: true, .. } => (arrival.number, "queued"),
                Turn::Begins { arrival, .. } => (arrival.number, "at once"),
                Turn::Dropped(arrival) => (arrival.number, "dropped"),
            })
            .collect()
    }

    #[test]
    fn without_free_slot_arrivals_queue_and_beyond_the_queue_they_drop() {
        let (mut open, start) = open(3, |_| {});
        let at = |ms| start + Duration::from_millis(ms);
        assert_eq!(told(&mut open, at(1)), [(0, "at once"), (1, "at once")]);
        assert_eq!(open.next_at(), Some(at(2)));
        // two slots and three queue places are taken, so the sixth and the seventh arrivals are
        // dropped
        assert_eq!(told(&mut open, at(6)), [(5, "dropped"), (6, "dropped")]);
        open.ended(1);
        assert_eq!(told(&mut open, at(6)), [(2, "queued")]);
        assert_eq!(told(&mut open, at(7)), []);
        open.ended(0);
        // queued arrivals go first
        assert_eq!(told(&mut open, at(8)), [(3, "queued"),]);
        let rest: Vec<u64> =
            core::iter::from_fn(|| open.rest(at(11))).map(|arrival| arrival.number).collect();
        assert_eq!(rest, [4, 7, 8, 9, 10], "all are accounted for");
    }

    #[test]
    fn queued_arrivals_time_out() {
        let client_timeout = ClientTimeout { ms: 4, retries: 0 };
        let (mut open, start) = open(10, |plan| plan.client_timeout = Some(client_timeout));
        let at = |ms| start + Duration::from_millis(ms);
        assert_eq!(told(&mut open, at(3)), [(0, "at once"), (1, "at once")]);
        open.ended(0);
        assert_eq!(told(&mut open, at(6)), [(2, "dropped"), (3, "queued")]);
    }

    #[test]
    fn threads_share_the_queue() {
        let pattern = Pattern::Constant { per_s: 1000.0 };
        let plan = Plan { threads: 3, ..Plan::new(Protocol::Tls13) };
        let queues = (0..3).map(|thread| OpenLoop::new(&plan, pattern, 10, (thread, 5)).queue_max);
        assert_eq!(queues.collect::<Vec<_>>(), [4, 3, 3]);
    }
}
