//! One thread: its connections, and the loop that drives them. It shares nothing but a flag.

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod at_work;

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::collections::{BinaryHeap, VecDeque};
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Instant;

use mio::{Events, Poll, Token};

use crate::alarm::Alarm;
use crate::clients::{Clients, Next};
use crate::closed::Due;
use crate::error::Error;
use crate::live::{Live, Teller};
use crate::manner::{Manner, News, Step};
use crate::patience::Patience;
use crate::phase::Failure;
use crate::plan::Plan;
use crate::schedule::{Schedule, Stage};
use crate::socket::Opener;
use crate::store::Store;
use crate::tally::Tally;
use crate::target::Targets;
use crate::task::Task;
use crate::tls;
use crate::transaction::Slot;
use crate::usage::{Reading, Usage};

/// How often deadlines are looked at.
const SWEEP: Duration = Duration::from_millis(20);

/// Sessions that a thread has for each of its connections: what servers give at once.
const STORED_PER_PLACE: usize = 4;

/// Nothing succeeded for so long, though much was tried: the server is held for gone.
const GONE_AFTER: Duration = Duration::from_secs(1);

/// The connections of one thread.
pub(crate) struct Worker {
    /// One transaction only.
    probe: bool,
    manner: Manner,
    phase_max: Duration,
    patience: Option<Patience>,
    poll: Poll,
    alarm: Alarm,
    /// For secure connections, and for plain ones.
    openers: [Opener; 2],
    slots: Vec<Slot>,
    /// Places that have not read all there is, and are not told of it again.
    unread: VecDeque<usize>,
    clients: Clients,
    /// When patience ends, of places whose client may have been done long before.
    impatient: BinaryHeap<Due>,
    /// Sessions to be resumed; none if none are.
    store: Option<Store>,
    live: usize,
    schedule: Schedule,
    tally: Tally,
    teller: Option<Teller>,
    /// Failures since the last success, and when that was.
    failures: u64,
    succeeded_at: Instant,
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

/// Which part of a plan a worker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// That of a thread.
    Thread(u32),
    /// One transaction, plain or not.
    Probe { is_plain: bool },
}

impl Worker {
    /// Prepares a part of the plan; nothing is sent yet.
    pub(crate) fn new(plan: &Plan, targets: Targets<'_>, part: Part) -> Result<Self, Error> {
        let config = Arc::new(tls::config(plan, targets.secure)?);
        let manner = Manner::new(plan, targets.secure);
        let (probe, thread) = match part {
            Part::Thread(thread) => (false, thread),
            Part::Probe { .. } => (true, 0),
        };
        let (is_secure, is_plain) = match part {
            Part::Thread(_) => (plan.plain_share < 1.0, plan.plain_share > 0.0),
            Part::Probe { is_plain } => (!is_plain, is_plain),
        };
        let clients = Clients::new(plan, part);
        let slots = (0..clients.places()).map(|_| Slot::new(&config, is_secure, is_plain));
        let slots = slots.collect::<Result<Vec<_>, Error>>()?;
        let stored_max = STORED_PER_PLACE * clients.places();
        let poll = Poll::new().map_err(|error| Error::of_socket("wait for sockets", error))?;
        let alarm = Alarm::new(poll.registry())?;
        let opener = |address| Opener::new(address, plan.source_addresses, thread);
        let schedule = Schedule::new(plan, Instant::now());
        Ok(Self {
            probe,
            manner,
            phase_max: plan.phase_max(),
            patience: plan.patience.filter(|_| !probe),
            alarm,
            poll,
            openers: [opener(targets.secure.address()), opener(targets.plain.address())],
            unread: VecDeque::with_capacity(slots.len()),
            slots,
            clients,
            impatient: BinaryHeap::new(),
            live: 0,
            store: plan.resume.filter(|_| !probe).map(|_| Store::new(stored_max)),
            tally: Tally::new(&schedule, plan.arrivals.is_open(), false),
            schedule,
            teller: None,
            failures: 0,
            succeeded_at: Instant::now(),
        })
    }

    /// The same, which tells what it counts.
    pub(crate) fn telling(self, live: Option<Arc<Live>>) -> Self {
        Self { teller: live.map(Teller::new), ..self }
    }

    fn tell(&mut self) {
        if let Some(teller) = &mut self.teller {
            teller.tell(&self.tally);
        }
    }

    /// Has it count what the server has not confirmed.
    #[cfg(test)]
    pub(crate) const fn lies(&mut self, lies: bool) {
        self.manner.lies = lies;
    }

    /// Runs to the end of the schedule, or until `stop` is set; sets it if the server is gone.
    pub(crate) fn run(mut self, schedule: &Schedule, stop: &AtomicBool) -> Result<Report, Error> {
        self.schedule = *schedule;
        let end = if self.probe { schedule.start } else { schedule.sustain_end };
        self.manner.asks_until = Some(end + self.phase_max);
        self.tally = Tally::new(schedule, self.clients.is_open(), self.store.is_some());
        self.succeeded_at = schedule.start;
        self.clients.begin(schedule);
        let result = self.turns(stop);
        self.tell();
        if !matches!(result, Ok((_, None))) {
            stop.store(true, Ordering::Relaxed);
        }
        let (cpu, gave_up) = result?;
        Ok(Report { tally: self.tally, cpu, gave_up })
    }

    fn turns(&mut self, stop: &AtomicBool) -> Result<(Option<Usage>, Option<Failure>), Error> {
        let mut events = Events::with_capacity(1024);
        let (mut reading, mut usage) = (None, None);
        let mut stage = None;
        let mut sweep_at = self.schedule.start + SWEEP;
        loop {
            let now = Instant::now();
            let entered = self.schedule.stage(now);
            if stage != Some(entered) {
                stage = Some(entered);
                match entered {
                    Stage::Sustain => reading = Some(Reading::now()),
                    _ => usage = reading.as_ref().map(Reading::until_now),
                }
                if entered == Stage::RampDown && self.clients.is_open() {
                    // whose time came in the last turn still begins, if a place is free
                    self.start(self.schedule.sustain_end - Duration::from_nanos(1))?;
                }
            }
            if stop.load(Ordering::Relaxed) {
                self.abandon();
                return Ok((None, None));
            }
            if now >= sweep_at {
                self.expire(now);
                self.tell();
                sweep_at = now + SWEEP;
                if let Some(failure) = self.server_gone(now) {
                    self.abandon();
                    return Ok((None, Some(failure)));
                }
            }
            let ends = entered == Stage::RampDown || self.is_probed();
            self.lose_patience(now, ends)?;
            if ends {
                self.turn_away();
                if self.live == 0 {
                    return Ok((usage, None));
                }
            } else {
                self.start(now)?;
            }
            let timeout = self.timeout(Instant::now(), sweep_at)?;
            match self.poll.poll(&mut events, timeout) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    return Err(Error::Io { what: "wait for sockets", error });
                }
            }
            for _ in 0..self.unread.len() {
                if let Some(place) = self.unread.pop_front() {
                    self.slots[place].is_unread = false;
                    self.drive(place, true); // whether its end has come is not known
                }
            }
            for event in &events {
                let closed = event.is_read_closed() || event.is_error();
                self.drive(event.token().0, closed);
            }
        }
    }

    /// Whether the one transaction of a probe has been tried.
    fn is_probed(&self) -> bool {
        self.probe && self.tally.whole.attempts > 0
    }

    /// Begins what is due at `due`, which is no later than now.
    fn start(&mut self, due: Instant) -> Result<(), Error> {
        while let Some(next) = self.clients.next(due) {
            match next {
                Next::Begins { place, task, queued } => {
                    let now = Instant::now(); // those before it took their time
                    if self.clients.is_open() {
                        self.tally.began(&self.schedule, task, queued, now);
                    }
                    self.begin(place, task, now)?;
                }
                Next::Dropped { intended } => self.tally.dropped(&self.schedule, intended),
            }
        }
        Ok(())
    }

    fn begin(&mut self, place: usize, task: Task, now: Instant) -> Result<(), Error> {
        self.tally.attempt(&self.schedule, task, now);
        let slot = &mut self.slots[place];
        let store = self.store.as_mut().filter(|_| task.resumes);
        let found = store.map(|store| store.lend(slot.lent(), now));
        if let Some(found) = found {
            self.tally.offers(&self.schedule, task, found, now);
        }
        let opener = &mut self.openers[usize::from(task.is_plain)];
        let watch = (self.poll.registry(), Token(place));
        match slot.start((task, found == Some(true)), &self.manner, opener, watch)? {
            Ok(stands) => {
                self.live += 1;
                if stands {
                    let connected = News::Connected { connect: slot.connect_time() };
                    self.tally.news(&self.schedule, task, connected, now);
                }
                if let Some(patience) = self.patience {
                    let from = if task.retries > 0 { now } else { task.intended };
                    let at = from + patience.duration();
                    slot.patient_until = Some(at);
                    self.impatient.push(Due { at, place });
                }
            }
            Err(failure) => self.failed(place, &failure, now),
        }
        Ok(())
    }

    /// How long to wait for sockets: not at all, or until the alarm, which is set for the next
    /// thing to be done even if nothing happens, and for the next look at deadlines at the latest.
    /// A wait with an end of its own has the kernel set and clear a timer for each.
    fn timeout(&mut self, now: Instant, sweep_at: Instant) -> Result<Option<Duration>, Error> {
        if !self.unread.is_empty() {
            return Ok(Some(Duration::ZERO));
        }
        // nothing starts any more after the sustained part, so nothing that could is awaited
        let starts = now < self.schedule.sustain_end && !self.is_probed();
        let next = if starts { self.clients.next_at() } else { None };
        let stages = [self.schedule.sustain_start, self.schedule.sustain_end];
        let stages = stages.into_iter().filter(|&at| at > now);
        let impatient = self.impatient.peek().map(|due| due.at);
        let next = stages.chain(next).chain(impatient).min().filter(|&next| next < sweep_at);
        match next {
            Some(next) if next <= now => Ok(Some(Duration::ZERO)),
            next => {
                self.alarm.set(next.unwrap_or(sweep_at), now)?;
                Ok(None)
            }
        }
    }

    fn drive(&mut self, place: usize, read_closed: bool) {
        let now = Instant::now();
        let Some(slot) = self.slots.get_mut(place) else {
            return; // the alarm
        };
        if !slot.is_live() {
            return;
        }
        let (tally, schedule, task) = (&mut self.tally, &self.schedule, slot.task());
        let (failures, succeeded_at) = (&mut self.failures, &mut self.succeeded_at);
        let mut tell = |news, at| {
            if matches!(news, News::Confirmed { .. } | News::Response { .. }) {
                (*failures, *succeeded_at) = (0, at);
            }
            tally.news(schedule, task, news, at);
        };
        match slot.drive(&self.manner, now, read_closed, &mut tell) {
            Ok(Step::Going) => {}
            Ok(Step::More) => {
                if !core::mem::replace(&mut slot.is_unread, true) {
                    self.unread.push_back(place);
                }
            }
            Ok(Step::Closed) => {
                if let Some(store) = &mut self.store {
                    slot.give_back(&self.manner, store);
                }
                self.tally.ended(schedule, task, slot.body_bytes(), now);
                self.live -= 1;
                self.clients.ended(place, now);
            }
            Err(failure) => {
                self.live -= 1;
                self.failed(place, &failure, now);
            }
        }
    }

    /// Counts; who failed may come again, after a pause that grows.
    fn failed(&mut self, place: usize, failure: &Failure, now: Instant) {
        let slot = &self.slots[place];
        let (schedule, task) = (&self.schedule, slot.task());
        self.tally.ended(schedule, task, slot.body_bytes(), now);
        self.tally.failed(schedule, task, failure, now);
        self.failures += 1;
        self.clients.failed(place, now);
    }

    fn expire(&mut self, now: Instant) {
        for place in 0..self.slots.len() {
            if let Some(failure) = self.slots[place].expire(now, self.phase_max) {
                self.live -= 1;
                self.failed(place, &failure, now);
            }
        }
    }

    /// Closes the connections whose clients have waited long enough. Those who try again begin
    /// again, unless the run `ends`.
    fn lose_patience(&mut self, now: Instant, ends: bool) -> Result<(), Error> {
        while let Some(&Due { at, place }) = self.impatient.peek().filter(|due| due.at <= now) {
            self.impatient.pop();
            let slot = &mut self.slots[place];
            if !slot.is_live() || slot.patient_until != Some(at) {
                continue; // it was done in time
            }
            let (phase, mut task) = (slot.leave(), slot.task());
            self.live -= 1;
            self.tally.ended(&self.schedule, task, slot.body_bytes(), now);
            self.tally.gave_up(&self.schedule, task, phase, now);
            let retries = self.patience.map_or(0, |patience| patience.retries);
            if task.retries < retries && !ends {
                task.retries += 1;
                self.begin(place, task, now)?;
            } else {
                self.tally.lost(&self.schedule, task);
                self.clients.ended(place, now);
            }
        }
        Ok(())
    }

    /// The run ends: who waits in line, or comes only now, never begins.
    fn turn_away(&mut self) {
        while let Some(intended) = self.clients.rest(self.schedule.sustain_end) {
            self.tally.dropped(&self.schedule, intended);
        }
    }

    /// The last kind of failure, if nothing has succeeded for a while and everything was tried.
    fn server_gone(&self, now: Instant) -> Option<Failure> {
        let tried = self.failures > 2 * self.slots.len() as u64;
        let silent = now.saturating_duration_since(self.succeeded_at) > GONE_AFTER;
        if self.probe || !(tried && silent) {
            return None;
        }
        self.tally.whole.worst().map(|(failure, _)| failure.clone())
    }

    fn abandon(&mut self) {
        for slot in &mut self.slots {
            if slot.is_live() {
                slot.abandon();
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
    use crate::target::Target;

    #[test]
    fn ramp_down_waits_without_spinning() {
        let plan = Plan::new(Protocol::Tls13);
        let target = Target::new("127.0.0.1:1".parse().unwrap()).unwrap();
        let targets = Targets { secure: &target, plain: &target };
        let mut worker = Worker::new(&plan, targets, Part::Thread(0)).unwrap();
        let now = worker.schedule.sustain_end;
        worker.clients.ended(0, now); // ended well, and could start again
        worker.clients.failed(1, now - SWEEP); // failed, and could start again
        assert_eq!(worker.timeout(now, now + SWEEP).unwrap(), None);
        let (begun, mut events) = (Instant::now(), Events::with_capacity(1));
        worker.poll.poll(&mut events, Some(100 * SWEEP)).unwrap();
        assert!(!events.is_empty() && begun.elapsed() >= SWEEP, "{:?}", begun.elapsed());
    }
}
