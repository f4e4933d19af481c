//! One thread: its connections, and the loop that drives them. It shares nothing but a flag.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::collections::{BinaryHeap, VecDeque};
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Instant;

use mio::{Events, Poll, Token};

use crate::cpu::{thread_cpu, thread_wait};
use crate::error::Error;
use crate::manner::{Manner, News, Step};
use crate::phase::Failure;
use crate::plan::Plan;
use crate::schedule::{Schedule, Stage};
use crate::socket::Opener;
use crate::start::{Due, Pace};
use crate::tally::Tally;
use crate::target::Target;
use crate::tls;
use crate::transaction::Slot;

/// How often deadlines are looked at.
const SWEEP: Duration = Duration::from_millis(20);

/// Nothing succeeded for so long, though much was tried: the server is held for gone.
const GONE_AFTER: Duration = Duration::from_secs(1);

/// The pauses before a failed connection is tried again: doubled from the first to the last.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(250));

/// The connections of one thread.
pub(crate) struct Worker {
    /// One transaction only.
    probe: bool,
    /// The numbers of its connections in the plan.
    own: Vec<u32>,
    connections: u32,
    manner: Manner,
    phase_max: Duration,
    poll: Poll,
    opener: Opener,
    slots: Vec<Place>,
    /// Places that may start now.
    ready: VecDeque<usize>,
    /// Places that start later.
    due: BinaryHeap<Due>,
    pace: Pace,
    live: usize,
    tally: Tally,
    /// Failures since the last confirmed handshake, and when that was.
    failures: u64,
    confirmed_at: Instant,
}

/// A slot with the pause before it is tried again.
struct Place {
    slot: Slot,
    backoff: Duration,
}

/// What a thread brings back.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) tally: Tally,
    /// CPU time in the sustained part, and the time between its two readings.
    pub(crate) cpu: Option<Usage>,
    /// Why the thread gave the server up.
    pub(crate) gave_up: Option<Failure>,
}

/// What a thread used between two readings of its clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
    /// Time it wanted a core and had none.
    pub(crate) wait: Option<Duration>,
}

/// A reading of a thread's clocks.
struct Reading {
    at: Instant,
    cpu: Duration,
    wait: Option<Duration>,
}

impl Reading {
    fn now() -> Self {
        Self { at: Instant::now(), cpu: thread_cpu(), wait: thread_wait() }
    }

    fn until_now(&self) -> Usage {
        let now = Self::now();
        let wait = now.wait.zip(self.wait).map(|(now, then)| now.saturating_sub(then));
        let (wall, cpu) =
            (now.at.saturating_duration_since(self.at), now.cpu.saturating_sub(self.cpu));
        Usage { wall, cpu, wait }
    }
}

impl Worker {
    /// Prepares thread number `thread` of the plan, or one transaction; nothing is sent yet.
    pub(crate) fn new(
        plan: &Plan,
        target: &Target,
        thread: u32,
        probe: bool,
    ) -> Result<Self, Error> {
        let config = Arc::new(tls::config(plan, target)?);
        let manner = Manner::new(plan, tls::request(plan, target));
        // connections are dealt out in turn: thread, thread + threads, ...
        let own: Vec<u32> = if probe {
            vec![0]
        } else {
            (thread..plan.connections).step_by(plan.threads as usize).collect()
        };
        let place = |_| {
            let slot = Slot::new(&config, &manner)?;
            Ok(Place { slot, backoff: BACKOFF.0 })
        };
        let slots: Vec<Place> = own.iter().map(place).collect::<Result<_, Error>>()?;
        Ok(Self {
            probe,
            own,
            connections: plan.connections,
            phase_max: plan.phase_max(),
            poll: Poll::new().map_err(|error| Error::of_socket("wait for sockets", error))?,
            opener: Opener::new(target.address(), plan.source_addresses, thread),
            due: BinaryHeap::new(),
            ready: VecDeque::with_capacity(slots.len()),
            pace: Pace::new(plan, Instant::now()),
            tally: Tally::new(0),
            slots,
            manner,
            live: 0,
            failures: 0,
            confirmed_at: Instant::now(),
        })
    }

    /// Runs to the end of the schedule, or until `stop` is set; sets it if the server is gone.
    pub(crate) fn run(mut self, schedule: &Schedule, stop: &AtomicBool) -> Result<Report, Error> {
        self.tally = Tally::new(schedule.bins());
        self.confirmed_at = schedule.start;
        let place = |(place, &index): (usize, &u32)| {
            let at = if self.probe {
                schedule.start
            } else {
                schedule.first_start(index, self.connections)
            };
            Due { at, place }
        };
        self.due = self.own.iter().enumerate().map(place).collect();
        let result = self.turns(schedule, stop);
        if !matches!(result, Ok((_, None))) {
            stop.store(true, Ordering::Relaxed);
        }
        let (cpu, gave_up) = result?;
        Ok(Report { tally: self.tally, cpu, gave_up })
    }

    fn turns(
        &mut self,
        schedule: &Schedule,
        stop: &AtomicBool,
    ) -> Result<(Option<Usage>, Option<Failure>), Error> {
        let mut events = Events::with_capacity(1024);
        let (mut reading, mut usage) = (None, None);
        let mut stage = None;
        let mut sweep_at = schedule.start + SWEEP;
        loop {
            let now = Instant::now();
            let entered = schedule.stage(now);
            if stage != Some(entered) {
                stage = Some(entered);
                self.tally.enter(entered);
                match entered {
                    Stage::Sustain => reading = Some(Reading::now()),
                    _ => usage = reading.as_ref().map(Reading::until_now),
                }
            }
            if stop.load(Ordering::Relaxed) {
                self.abandon();
                return Ok((None, None));
            }
            if now >= sweep_at {
                self.expire(now);
                sweep_at = now + SWEEP;
                if let Some(failure) = self.server_gone(now) {
                    self.abandon();
                    return Ok((None, Some(failure)));
                }
            }
            if entered == Stage::RampDown || self.is_probed() {
                if self.live == 0 {
                    return Ok((usage, None));
                }
            } else {
                self.start(now)?;
            }
            let timeout = self.timeout(schedule, Instant::now(), sweep_at);
            match self.poll.poll(&mut events, Some(timeout)) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    return Err(Error::Io { what: "wait for sockets", error });
                }
            }
            for event in &events {
                let closed = event.is_read_closed() || event.is_error();
                self.drive(schedule, event.token().0, closed);
            }
        }
    }

    /// Whether the one transaction of a probe has been tried.
    fn is_probed(&self) -> bool {
        self.probe && self.tally.whole.attempts > 0
    }

    fn start(&mut self, now: Instant) -> Result<(), Error> {
        while self.due.peek().is_some_and(|due| due.at <= now) {
            self.ready.extend(self.due.pop().map(|due| due.place));
        }
        while let Some(&place) = self.ready.front() {
            if !self.pace.may_start(now) {
                break;
            }
            self.ready.pop_front();
            self.tally.attempt();
            let slot = &mut self.slots[place].slot;
            match slot.start(&mut self.opener, self.poll.registry(), Token(place))? {
                Ok(()) => self.live += 1,
                Err(failure) => self.failed(place, &failure, now),
            }
        }
        Ok(())
    }

    /// Until something is to be done even if nothing happens.
    fn timeout(&self, schedule: &Schedule, now: Instant, sweep_at: Instant) -> Duration {
        // nothing starts any more after the sustained part, so nothing that could is awaited
        let starts = now < schedule.sustain_end && !self.is_probed();
        let due = self.due.peek().filter(|_| starts).map(|due| due.at);
        let paced = (starts && !self.ready.is_empty()).then(|| self.pace.next());
        let stages = [schedule.sustain_start, schedule.sustain_end];
        let next = stages.into_iter().filter(|&at| at > now).chain(due).chain(paced).min();
        next.map_or(sweep_at, |next| next.min(sweep_at)).saturating_duration_since(now)
    }

    fn drive(&mut self, schedule: &Schedule, place: usize, read_closed: bool) {
        let now = Instant::now();
        let Some(Place { slot, backoff }) = self.slots.get_mut(place) else {
            return;
        };
        if !slot.is_live() {
            return;
        }
        self.tally.enter(schedule.stage(now));
        let tally = &mut self.tally;
        let (failures, confirmed_at) = (&mut self.failures, &mut self.confirmed_at);
        let mut tell = |news, at| {
            if news == News::Confirmed {
                (*failures, *confirmed_at) = (0, at);
            }
            tally.news(news, schedule, at);
        };
        match slot.drive(&self.manner, now, read_closed, &mut tell) {
            Ok(Step::Going) => {}
            Ok(Step::Closed) => {
                self.tally.ended(slot.body_bytes());
                *backoff = BACKOFF.0;
                self.live -= 1;
                self.ready.push_back(place);
            }
            Err(failure) => {
                self.live -= 1;
                self.failed(place, &failure, now);
            }
        }
    }

    /// Counts, and queues the place again after a pause that grows.
    fn failed(&mut self, place: usize, failure: &Failure, now: Instant) {
        let Place { slot, backoff } = &mut self.slots[place];
        self.tally.ended(slot.body_bytes());
        self.tally.failed(failure);
        self.failures += 1;
        self.due.push(Due { at: now + *backoff, place });
        *backoff = (2 * *backoff).min(BACKOFF.1);
    }

    fn expire(&mut self, now: Instant) {
        for place in 0..self.slots.len() {
            if let Some(failure) = self.slots[place].slot.expire(now, self.phase_max) {
                self.live -= 1;
                self.failed(place, &failure, now);
            }
        }
    }

    /// The last kind of failure, if nothing has succeeded for a while and everything was tried.
    fn server_gone(&self, now: Instant) -> Option<Failure> {
        let tried = self.failures > 2 * self.slots.len() as u64;
        let silent = now.saturating_duration_since(self.confirmed_at) > GONE_AFTER;
        if self.probe || !(tried && silent) {
            return None;
        }
        self.tally.whole.worst().map(|(failure, _)| failure.clone())
    }

    fn abandon(&mut self) {
        for place in &mut self.slots {
            if place.slot.is_live() {
                place.slot.abandon();
                self.tally.abandoned += 1;
            }
        }
        self.live = 0;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::plan::Protocol;

    #[test]
    fn ramp_down_waits_without_spinning() {
        let plan = Plan::new(Protocol::Tls13);
        let target = Target::new("127.0.0.1:1".parse().unwrap()).unwrap();
        let mut worker = Worker::new(&plan, &target, 0, false).unwrap();
        let schedule = Schedule::new(&plan, Instant::now());
        let now = schedule.sustain_end;
        worker.ready.push_back(0); // ended well, and could start again
        worker.due.push(Due { at: now - SWEEP, place: 1 }); // failed, and could start again
        assert_eq!(worker.timeout(&schedule, now, now + SWEEP), SWEEP);
    }
}
