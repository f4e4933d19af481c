//! Generates the transactions of one thread, from a closed or an open loop.

use std::time::Instant;

use crate::arrivals::Arrivals;
use crate::closed_loop::ClosedLoop;
use crate::open_loop::{OpenLoop, Turn};
use crate::plan::Plan;
use crate::schedule::Schedule;
use crate::seeded::Seeded;
use crate::task::Task;

/// Decides when the transactions of one thread begin, and their kind.
#[derive(Debug)]
pub(crate) struct Generator {
    source: Source,
    /// The numbers of the thread's connections in the plan.
    connection_numbers: Vec<u32>,
    connections: u32,
    mix: Mix,
    /// In a closed loop: the number of the next transaction.
    number: u64,
    /// In a closed loop, the number of task numbers that belong to other threads. They are skipped
    /// after each [`CHUNK`] of this thread.
    others: u64,
}

#[derive(Debug)]
enum Source {
    Closed(ClosedLoop),
    Open(Box<OpenLoop>),
}

/// The next action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A transaction begins in this slot. `queued` is true if it is an arrival of an open loop that
    /// waited for the slot.
    Begins { place: usize, task: Task, queued: bool },
    /// An arrival is dropped.
    Dropped { intended: Instant },
}

/// Draws from the plan's seed which transactions are plain, and which of the others resume a
/// session.
#[derive(Debug)]
struct Mix {
    plain_share: f64,
    seed: u64,
    /// For closed loops.
    random: Seeded,
    resumed: Draw,
}

/// Draws at random, but keeps the difference between the drawn and the expected number below one. A
/// run is short, and its share may differ from the plan by one percentage point at most.
#[derive(Debug)]
struct Draw {
    share: f64,
    /// Expected number minus drawn number. It is in (-1, 1).
    due: f64,
    random: Seeded,
}

impl Draw {
    fn next(&mut self) -> bool {
        self.due += self.share;
        let is_drawn = self.random.unit() <= self.due;
        self.due -= f64::from(u8::from(is_drawn));
        is_drawn
    }
}

/// In a closed loop each thread takes this many consecutive numbers at a time. If two threads took
/// alternate numbers, and the kinds of connections alternated, each thread would get only one kind.
const CHUNK: u64 = 64;

/// The random stream of the first thread of a closed loop; other threads have the following
/// streams. In an open loop this constant changes the seed, so that the streams that draw plain
/// arrivals differ from all others.
const MIX: u64 = 2 << 32;
/// The random stream of resumption for the first thread; other threads have the following streams.
/// The streams are separate because a thread resumes its own sessions.
const RESUMED: u64 = 3 << 32;

impl Mix {
    fn drawn(&mut self) -> bool {
        self.random.chance(self.plain_share)
    }

    /// Returns whether an arrival is plain. The result does not depend on the number of threads.
    fn of_arrival(&self, number: u64) -> bool {
        Seeded::new(self.seed ^ MIX, number).chance(self.plain_share)
    }
}

impl Generator {
    pub(crate) fn new(plan: &Plan, thread: u32) -> Self {
        // connections of a thread: thread, thread + threads, ...
        let connection_numbers: Vec<u32> =
            (thread..plan.connections).step_by(plan.threads as usize).collect();
        let places = connection_numbers.len();
        let source = match &plan.arrivals {
            Arrivals::Open { pattern, waiting_max } => Source::Open(Box::new(OpenLoop::new(
                plan,
                *pattern,
                *waiting_max,
                (thread, places),
            ))),
            Arrivals::Closed { think } => {
                Source::Closed(ClosedLoop::new(plan, *think, thread, places))
            }
        };
        let random = |stream: u64| Seeded::new(plan.seed, stream + u64::from(thread));
        let share = plan.resume.map_or(0.0, |resume| resume.share);
        let resumed = Draw { share, due: 0.0, random: random(RESUMED) };
        let plain_share = plan.plain_share;
        let mix = Mix { plain_share, seed: plan.seed, random: random(MIX), resumed };
        let number = u64::from(thread) * CHUNK;
        let others = u64::from(plan.threads).saturating_sub(1) * CHUNK;
        Self { source, connection_numbers, connections: plan.connections, mix, number, others }
    }

    /// Returns the maximum number of transactions in flight.
    pub(crate) fn places(&self) -> usize {
        self.connection_numbers.len()
    }

    pub(crate) const fn is_open(&self) -> bool {
        matches!(self.source, Source::Open(_))
    }

    pub(crate) fn begin(&mut self, schedule: &Schedule) {
        match &mut self.source {
            Source::Open(open) => open.begin(schedule.start),
            Source::Closed(closed) => {
                for (place, &index) in self.connection_numbers.iter().enumerate() {
                    closed.first(place, schedule.first_start(index, self.connections));
                }
            }
        }
    }

    /// Returns the next action, if one is due.
    pub(crate) fn next(&mut self, now: Instant) -> Option<Next> {
        match &mut self.source {
            Source::Closed(closed) => {
                let place = closed.next(now)?;
                let is_plain = self.mix.drawn();
                let resumes = !is_plain && self.mix.resumed.next();
                let number = self.number;
                self.number += 1;
                if self.number.is_multiple_of(CHUNK) {
                    self.number += self.others;
                }
                let task = Task { is_plain, resumes, ..Task::new(now, number) };
                Some(Next::Begins { place, task, queued: false })
            }
            Source::Open(open) => Some(match open.next(now)? {
                Turn::Begins { place, arrival, queued } => {
                    let is_plain = self.mix.of_arrival(arrival.number);
                    let task = Task {
                        is_plain,
                        resumes: !is_plain && self.mix.resumed.next(),
                        ..Task::new(open.time(&arrival), arrival.number)
                    };
                    Next::Begins { place, task, queued }
                }
                Turn::Dropped(arrival) => Next::Dropped { intended: open.time(&arrival) },
            }),
        }
    }

    pub(crate) fn next_at(&mut self) -> Option<Instant> {
        match &mut self.source {
            Source::Closed(closed) => closed.next_at(),
            Source::Open(open) => open.next_at(),
        }
    }

    /// Notes that a transaction has ended or timed out.
    pub(crate) fn ended(&mut self, place: usize, now: Instant) {
        match &mut self.source {
            Source::Closed(closed) => closed.ended(place, now),
            Source::Open(open) => open.ended(place),
        }
    }

    /// Notes that a transaction failed. In a closed loop the connection begins again after a pause.
    pub(crate) fn failed(&mut self, place: usize, now: Instant) {
        match &mut self.source {
            Source::Closed(closed) => closed.failed(place, now),
            Source::Open(open) => open.ended(place),
        }
    }

    /// After the run: returns the intended start of an arrival before `end` that never began.
    pub(crate) fn rest(&mut self, end: Instant) -> Option<Instant> {
        match &mut self.source {
            Source::Closed(_) => None,
            Source::Open(open) => open.rest(end).map(|arrival| open.time(&arrival)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_match_the_share_and_depend_on_the_seed() {
        let drawn = |share, seed| {
            let mut draw = Draw { share, due: 0.0, random: Seeded::new(seed, RESUMED) };
            let all: Vec<bool> = (0..1000).map(|_| draw.next()).collect();
            let mut due = 0.0;
            for &is_drawn in &all {
                due += share - f64::from(u8::from(is_drawn));
                assert!(due > -1.0 && due < 1.0, "{due}");
            }
            all
        };
        for share in [0.01, 0.3, 0.8] {
            assert_eq!(drawn(share, 1), drawn(share, 1));
            assert_ne!(drawn(share, 1), drawn(share, 2));
        }
        assert!(drawn(1.0, 1).into_iter().all(|is_drawn| is_drawn));
        assert!(!drawn(0.0, 1).contains(&true));
    }
}
