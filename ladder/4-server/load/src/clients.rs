//! Who begins a transaction, and when: the clients of one thread.

use std::time::Instant;

use crate::arrivals::{Arrivals, Think};
use crate::closed::Closed;
use crate::open::{Open, Turn};
use crate::plan::Plan;
use crate::schedule::Schedule;
use crate::seeded::Seeded;
use crate::task::Task;
use crate::worker::Part;

/// The clients of one thread.
#[derive(Debug)]
pub(crate) struct Clients {
    source: Source,
    /// The numbers of the thread's connections in the plan; of a probe, one.
    own: Vec<u32>,
    connections: u32,
    is_probe: bool,
    mix: Mix,
    /// Of a closed loop, the number of the transaction that is begun next.
    number: u64,
    /// Of a closed loop, how many numbers go to other threads after each [`DEALT`].
    others: u64,
}

#[derive(Debug)]
enum Source {
    Closed(Closed),
    Open(Box<Open>),
}

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A transaction begins in this place; of an open loop, `queued` if it had to wait for it.
    Begins { place: usize, task: Task, queued: bool },
    /// A client comes and never begins.
    Dropped { intended: Instant },
}

/// Which transactions are plain, and which of the others resume a session: drawn from the plan's
/// seed.
#[derive(Debug)]
struct Mix {
    plain_share: f64,
    seed: u64,
    /// Of a closed loop, where clients have no numbers.
    random: Seeded,
    resumed: Draw,
}

/// Draws at random, and so that of any number as many are drawn as the share says, to within one: a
/// run is short, and its plan is held to a point.
#[derive(Debug)]
struct Draw {
    share: f64,
    /// How many should have been drawn, less those that were: in (-1, 1).
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

/// So many numbers in a row go to one thread of a closed loop: if it were every other one, each
/// thread would have its own kind of connections where kinds take turns.
const DEALT: u64 = 64;

/// The streams of a plan's seed that closed loops draw from, by thread; and what tells the seeds
/// apart from which each arrival of an open loop draws for itself.
const MIX: u64 = 2 << 32;
/// The streams of resumptions, by thread: a thread resumes the sessions that it has itself.
const RESUMED: u64 = 3 << 32;

impl Mix {
    fn drawn(&mut self) -> bool {
        self.random.chance(self.plain_share)
    }

    /// The same, however many threads there are.
    fn of_arrival(&self, number: u64) -> bool {
        Seeded::new(self.seed ^ MIX, number).chance(self.plain_share)
    }
}

impl Clients {
    pub(crate) fn new(plan: &Plan, part: Part) -> Self {
        // connections are dealt out in turn: thread, thread + threads, ...
        let (own, thread): (Vec<u32>, u32) = match part {
            Part::Thread(thread) => {
                ((thread..plan.connections).step_by(plan.threads as usize).collect(), thread)
            }
            Part::Probe { .. } => (vec![0], 0),
        };
        let places = own.len();
        let source = match (&plan.arrivals, part) {
            (Arrivals::Open { pattern, waiting_max }, Part::Thread(_)) => {
                Source::Open(Box::new(Open::new(plan, pattern, *waiting_max, (thread, places))))
            }
            (Arrivals::Closed { think }, _) => {
                Source::Closed(Closed::new(plan, *think, thread, places))
            }
            _ => Source::Closed(Closed::new(plan, Think::None, thread, places)),
        };
        let plain_share = match part {
            Part::Thread(_) => plan.plain_share,
            Part::Probe { is_plain } => f64::from(u8::from(is_plain)),
        };
        let random = Seeded::new(plan.seed, MIX + u64::from(thread));
        let share = match part {
            Part::Thread(_) => plan.resume.map_or(0.0, |resume| resume.share),
            Part::Probe { .. } => 0.0, // nothing is there to be resumed
        };
        let resumed =
            Draw { share, due: 0.0, random: Seeded::new(plan.seed, RESUMED + u64::from(thread)) };
        let mix = Mix { plain_share, seed: plan.seed, random, resumed };
        let is_probe = matches!(part, Part::Probe { .. });
        let number = u64::from(thread) * DEALT;
        let others = u64::from(plan.threads).saturating_sub(1) * DEALT;
        Self { source, own, connections: plan.connections, is_probe, mix, number, others }
    }

    /// How many transactions may be in flight.
    pub(crate) fn places(&self) -> usize {
        self.own.len()
    }

    pub(crate) const fn is_open(&self) -> bool {
        matches!(self.source, Source::Open(_))
    }

    /// The run begins.
    pub(crate) fn begin(&mut self, schedule: &Schedule) {
        match &mut self.source {
            Source::Open(open) => open.begin(schedule.start),
            Source::Closed(closed) => {
                for (place, &index) in self.own.iter().enumerate() {
                    let ramp = || schedule.first_start(index, self.connections);
                    let at = if self.is_probe { schedule.start } else { ramp() };
                    closed.first(place, at);
                }
            }
        }
    }

    /// What happens next, if anything does now.
    pub(crate) fn next(&mut self, now: Instant) -> Option<Next> {
        match &mut self.source {
            Source::Closed(closed) => {
                let place = closed.next(now)?;
                let is_plain = self.mix.drawn();
                let resumes = !is_plain && self.mix.resumed.next();
                let number = self.number;
                self.number += 1;
                if self.number.is_multiple_of(DEALT) {
                    self.number += self.others;
                }
                let task =
                    Task { intended: now, is_plain, resumes, number, bytes: None, retries: 0 };
                Some(Next::Begins { place, task, queued: false })
            }
            Source::Open(open) => Some(match open.next(now)? {
                Turn::Begins { place, arrival, queued } => {
                    let is_plain = self.mix.of_arrival(arrival.number);
                    let task = Task {
                        intended: open.time(&arrival),
                        is_plain,
                        resumes: !is_plain
                            && arrival.reuse.unwrap_or_else(|| self.mix.resumed.next()),
                        number: arrival.number,
                        bytes: arrival.bytes,
                        retries: 0,
                    };
                    Next::Begins { place, task, queued }
                }
                Turn::Dropped(arrival) => Next::Dropped { intended: open.time(&arrival) },
            }),
        }
    }

    /// When somebody may begin who may not now.
    pub(crate) fn next_at(&mut self) -> Option<Instant> {
        match &mut self.source {
            Source::Closed(closed) => closed.next_at(),
            Source::Open(open) => open.next_at(),
        }
    }

    /// A transaction is done, or its client has given up.
    pub(crate) fn ended(&mut self, place: usize, now: Instant) {
        match &mut self.source {
            Source::Closed(closed) => closed.ended(place, now),
            Source::Open(open) => open.ended(place),
        }
    }

    /// A transaction failed. In a closed loop its client comes again after a pause.
    pub(crate) fn failed(&mut self, place: usize, now: Instant) {
        match &mut self.source {
            Source::Closed(closed) => closed.failed(place, now),
            Source::Open(open) => open.ended(place),
        }
    }

    /// Nobody begins any more: the intended start of one who was to, before `end`.
    pub(crate) fn rest(&mut self, end: Instant) -> Option<Instant> {
        match &mut self.source {
            Source::Closed(_) => None,
            Source::Open(open) => open.rest(end).map(|arrival| open.time(&arrival)),
        }
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::arrivals::Pattern;
    use crate::plan::Protocol;

    /// The kinds of the first thousand arrivals, by number.
    fn kinds(threads: u32) -> Vec<(Duration, bool)> {
        let plan = Plan {
            arrivals: Arrivals::open(Pattern::Constant { per_s: 1e6 }),
            connections: 4000,
            threads,
            plain_share: 0.25,
            ..Plan::new(Protocol::Tls13)
        };
        let schedule = Schedule::new(&plan, Instant::now());
        let of_thread = |thread| {
            let mut clients = Clients::new(&plan, Part::Thread(thread));
            clients.begin(&schedule);
            let at = schedule.start + Duration::from_micros(999);
            let mut kinds = Vec::new();
            while let Some(Next::Begins { task, .. }) = clients.next(at) {
                kinds.push((task.intended.duration_since(schedule.start), task.is_plain));
            }
            kinds
        };
        let mut all: Vec<(Duration, bool)> = (0..threads).flat_map(of_thread).collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn which_arrivals_are_plain_does_not_depend_on_the_threads() {
        let flags = |threads| kinds(threads).into_iter().map(|(_, is_plain)| is_plain);
        let one: Vec<bool> = flags(1).collect();
        assert_eq!(one, flags(3).collect::<Vec<_>>());
        let plain = one.iter().filter(|&&is_plain| is_plain).count();
        // a standard deviation of 14
        assert!(one.len() == 1000 && plain.abs_diff(250) < 60, "{plain} of {}", one.len());
    }

    #[test]
    fn as_many_are_drawn_as_the_share_says_and_not_always_the_same() {
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
