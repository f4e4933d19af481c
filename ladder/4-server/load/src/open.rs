//! The open loop of a thread: who comes, who waits in line, and who is dropped.

use core::iter::Peekable;
use core::time::Duration;
use std::collections::VecDeque;
use std::time::Instant;

use crate::arrivals::Pattern;
use crate::plan::Plan;
use crate::sequence::{Arrival, Part, Sequence};

/// Arrivals of a thread, and the places that its connections leave free.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    arrivals: Peekable<Part>,
    /// The run's beginning, from which arrivals count.
    start: Instant,
    line: VecDeque<Arrival>,
    line_max: usize,
    patience: Option<Duration>,
    free: Vec<usize>,
}

/// What becomes of an arrival when its time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It begins, in this place, `queued` if it had to wait for it.
    Begins { place: usize, arrival: Arrival, queued: bool },
    /// The line was full, or its patience ended there.
    Dropped(Arrival),
}

impl Open {
    /// The part of thread `thread`, with so many places.
    pub(crate) fn new(
        plan: &Plan,
        pattern: &Pattern,
        waiting_max: u32,
        (thread, places): (u32, usize),
    ) -> Self {
        // the first threads have one more where they do not share the line evenly
        let more = u32::from(thread < waiting_max % plan.threads);
        Self {
            arrivals: Sequence::new(pattern.clone(), plan.seed)
                .part(thread, plan.threads)
                .peekable(),
            start: Instant::now(),
            line: VecDeque::new(),
            line_max: (waiting_max / plan.threads + more) as usize,
            patience: plan.patience.map(crate::patience::Patience::duration),
            free: (0..places).rev().collect(),
        }
    }

    /// The run begins: arrivals count from here.
    pub(crate) const fn begin(&mut self, start: Instant) {
        self.start = start;
    }

    /// When an arrival has, or had, its time.
    pub(crate) fn time(&self, arrival: &Arrival) -> Instant {
        self.start + arrival.at
    }

    /// The next thing that happens, if anything does now: those in line go first.
    pub(crate) fn next(&mut self, now: Instant) -> Option<Turn> {
        loop {
            if let Some(&arrival) = self.line.front() {
                let left = self.patience.is_some_and(|max| self.time(&arrival) + max <= now);
                if left {
                    self.line.pop_front();
                    return Some(Turn::Dropped(arrival));
                }
                if let Some(place) = self.free.pop() {
                    self.line.pop_front();
                    return Some(Turn::Begins { place, arrival, queued: true });
                }
            }
            let start = self.start;
            let arrival = self.arrivals.next_if(|arrival| start + arrival.at <= now)?;
            match self.free.pop() {
                Some(place) => return Some(Turn::Begins { place, arrival, queued: false }),
                None if self.line.len() < self.line_max => self.line.push_back(arrival),
                None => return Some(Turn::Dropped(arrival)),
            }
        }
    }

    /// When the next one comes.
    pub(crate) fn next_at(&mut self) -> Option<Instant> {
        let start = self.start;
        self.arrivals.peek().map(|arrival| start + arrival.at)
    }

    /// A place is free again.
    pub(crate) fn ended(&mut self, place: usize) {
        self.free.push(place);
    }

    /// Nobody begins any more: all who wait, and all whose time came before `end`, one by one.
    pub(crate) fn rest(&mut self, end: Instant) -> Option<Arrival> {
        let start = self.start;
        self.line.pop_front().or_else(|| self.arrivals.next_if(|arrival| start + arrival.at < end))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::arrivals::Arrivals;
    use crate::patience::Patience;
    use crate::plan::Protocol;

    fn open(waiting_max: u32, change: impl FnOnce(&mut Plan)) -> (Open, Instant) {
        let pattern = Pattern::Constant { per_s: 1000.0 };
        let mut plan = Plan { connections: 2, ..Plan::new(Protocol::Tls13) };
        plan.arrivals = Arrivals::Open { pattern: pattern.clone(), waiting_max };
        change(&mut plan);
        let mut open = Open::new(&plan, &pattern, waiting_max, (0, 2));
        let start = Instant::now();
        open.begin(start);
        (open, start)
    }

    fn told(open: &mut Open, at: Instant) -> Vec<(u64, &'static str)> {
        core::iter::from_fn(|| open.next(at))
            .map(|turn| match turn {
                Turn::Begins { arrival, queued: true, .. } => (arrival.number, "queued"),
                Turn::Begins { arrival, .. } => (arrival.number, "at once"),
                Turn::Dropped(arrival) => (arrival.number, "dropped"),
            })
            .collect()
    }

    #[test]
    fn who_finds_no_place_waits_in_line_and_who_finds_no_line_is_dropped() {
        let (mut open, start) = open(3, |_| {});
        let at = |ms| start + Duration::from_millis(ms);
        assert_eq!(told(&mut open, at(1)), [(0, "at once"), (1, "at once")]);
        assert_eq!(open.next_at(), Some(at(2)));
        // two places and three in line are taken: the sixth and the seventh have none
        assert_eq!(told(&mut open, at(6)), [(5, "dropped"), (6, "dropped")]);
        open.ended(1);
        assert_eq!(told(&mut open, at(6)), [(2, "queued")]);
        assert_eq!(told(&mut open, at(7)), []);
        open.ended(0);
        // who is in line goes before who comes now
        assert_eq!(told(&mut open, at(8)), [(3, "queued"),]);
        let rest: Vec<u64> =
            core::iter::from_fn(|| open.rest(at(11))).map(|arrival| arrival.number).collect();
        assert_eq!(rest, [4, 7, 8, 9, 10], "all are accounted for");
    }

    #[test]
    fn patience_ends_in_line_too() {
        let patience = Patience { ms: 4, retries: 0 };
        let (mut open, start) = open(10, |plan| plan.patience = Some(patience));
        let at = |ms| start + Duration::from_millis(ms);
        assert_eq!(told(&mut open, at(3)), [(0, "at once"), (1, "at once")]);
        open.ended(0);
        assert_eq!(told(&mut open, at(6)), [(2, "dropped"), (3, "queued")]);
    }

    #[test]
    fn threads_share_the_line() {
        let pattern = Pattern::Constant { per_s: 1000.0 };
        let plan = Plan { threads: 3, ..Plan::new(Protocol::Tls13) };
        let lines = (0..3).map(|thread| Open::new(&plan, &pattern, 10, (thread, 5)).line_max);
        assert_eq!(lines.collect::<Vec<_>>(), [4, 3, 3]);
    }
}
