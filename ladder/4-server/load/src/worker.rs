//! The event loop of one thread with its connections. Threads share only the stop flag, the live
//! counters and the quota of transactions.

#[cfg(test)]
mod running_tests;

use core::cmp::Reverse;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::collections::VecDeque;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Instant;

use mio::{Events, Poll, Token};

use crate::alarm::Alarm;
use crate::client_timeout::ClientTimeout;
use crate::closed_loop::Dues;
use crate::cpu::{Usage, UsageReading};
use crate::error::Error;
use crate::generator::{Generator, Next};
use crate::live::{Live, LivePublisher};
use crate::phase::Failure;
use crate::plan::Plan;
use crate::quota::Quota;
use crate::request_spec::{Drive, RequestSpec, Step, TransactionEvent};
use crate::schedule::{Schedule, Stage};
use crate::socket::Opener;
use crate::store::Store;
use crate::tally::{Recorder, Tally};
use crate::target::Targets;
use crate::task::Task;
use crate::tls;
use crate::transaction::Slot;

/// Interval of checking phase timeouts.
const SWEEP: Duration = Duration::from_millis(20);

/// Stored sessions for each connection of a thread, because servers give several at once.
const STORED_PER_PLACE: usize = 4;

/// After this time without success, despite attempts, the server is considered gone.
const GONE_AFTER: Duration = Duration::from_secs(1);

/// The connections of one thread.
pub(crate) struct Worker {
    spec: RequestSpec,
    phase_max: Duration,
    client_timeout: Option<ClientTimeout>,
    poll: Poll,
    alarm: Alarm,
    /// The opener of secure connections, and the opener of plain connections.
    openers: [Opener; 2],
    slots: Vec<Slot>,
    /// Slots with unread data that get no further event.
    unread: VecDeque<usize>,
    generator: Generator,
    /// Client timeouts. Slots may have completed before their timeout.
    timeouts: Dues,
    /// Sessions to resume; `None` if the plan resumes none.
    store: Option<Store>,
    live: usize,
    recorder: Recorder,
    publisher: Option<LivePublisher>,
    /// Shared by the threads of a run.
    quota: Arc<Quota>,
    /// The time at which the last connection ended.
    ended_at: Instant,
    /// Failures since the last success, and the time of this success.
    failures: u64,
    succeeded_at: Instant,
}

/// The result of a thread.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) tally: Tally,
    /// CPU time and elapsed time in the sustained part.
    pub(crate) cpu: Option<Usage>,
    /// The last failure, if the server was considered gone.
    pub(crate) server_gone: Option<Failure>,
    /// The time at which the last connection ended.
    pub(crate) ended_at: Instant,
}

impl Worker {
    /// Prepares the part of a thread, without sending anything.
    pub(crate) fn new(plan: &Plan, targets: Targets<'_>, thread: u32) -> Result<Self, Error> {
        let config = Arc::new(tls::config(plan, targets.secure)?);
        let spec = RequestSpec::new(plan, targets.secure);
        let (is_secure, is_plain) = (plan.plain_share < 1.0, plan.plain_share > 0.0);
        let generator = Generator::new(plan, thread);
        let slots = (0..generator.places()).map(|_| Slot::new(&config, is_secure, is_plain));
        let slots = slots.collect::<Result<Vec<_>, Error>>()?;
        let stored_max = STORED_PER_PLACE * generator.places();
        let poll = Poll::new().map_err(|error| Error::of_socket("wait for sockets", error))?;
        let alarm = Alarm::new(poll.registry())?;
        let schedule = Schedule::new(plan, Instant::now());
        Ok(Self {
            spec,
            phase_max: plan.phase_max(),
            client_timeout: plan.client_timeout,
            alarm,
            poll,
            openers: [Opener::new(targets.secure), Opener::new(targets.plain)],
            unread: VecDeque::with_capacity(slots.len()),
            slots,
            generator,
            timeouts: Dues::new(),
            live: 0,
            store: plan.resume.map(|_| Store::new(stored_max)),
            recorder: Recorder::new(&schedule, plan.arrivals.is_open(), false),
            publisher: None,
            quota: Arc::new(Quota::new(None)),
            ended_at: Instant::now(),
            failures: 0,
            succeeded_at: Instant::now(),
        })
    }

    pub(crate) fn publishing(self, live: Option<Arc<Live>>) -> Self {
        Self { publisher: live.map(LivePublisher::new), ..self }
    }

    /// Makes the worker take each transaction from `quota`, which the threads of a run share.
    pub(crate) fn limited(self, quota: Arc<Quota>) -> Self {
        Self { quota, ..self }
    }

    fn publish(&mut self) {
        if let Some(publisher) = &mut self.publisher {
            publisher.publish(self.recorder.tally.live_counts());
        }
    }

    /// Runs to the end of the schedule, or until `stop` is set; sets `stop` if the server is gone.
    pub(crate) fn run(mut self, schedule: &Schedule, stop: &AtomicBool) -> Result<Report, Error> {
        self.spec.asks_until = Some(schedule.asks_until);
        self.recorder = Recorder::new(schedule, self.generator.is_open(), self.store.is_some());
        self.succeeded_at = schedule.start;
        self.ended_at = schedule.start;
        self.generator.begin(schedule);
        let result = self.turns(stop);
        self.publish();
        if !matches!(result, Ok((_, None))) {
            stop.store(true, Ordering::Relaxed);
        }
        let (cpu, server_gone) = result?;
        Ok(Report { tally: self.recorder.tally, cpu, server_gone, ended_at: self.ended_at })
    }

    fn turns(&mut self, stop: &AtomicBool) -> Result<(Option<Usage>, Option<Failure>), Error> {
        let schedule = self.recorder.schedule;
        let mut events = Events::with_capacity(1024);
        let (mut reading, mut usage) = (None, None);
        let mut stage = None;
        let mut sweep_at = schedule.start + SWEEP;
        loop {
            let now = Instant::now();
            // the first turn enters the stage of the current time, so that the CPU time is read
            let is_spent = stage.is_some() && self.quota.is_spent();
            let planned = schedule.stage(now);
            let entered = if is_spent { Stage::RampDown } else { planned };
            if stage != Some(entered) {
                stage = Some(entered);
                match entered {
                    Stage::Sustain => reading = Some(UsageReading::now()),
                    _ => usage = reading.as_ref().map(UsageReading::until_now),
                }
                if planned == Stage::RampDown && self.generator.is_open() {
                    // arrivals due in the last turn still begin if a slot is free
                    self.start(schedule.sustain_end - Duration::from_nanos(1))?;
                }
            }
            if stop.load(Ordering::Relaxed) {
                self.abandon();
                return Ok((None, None));
            }
            if now >= sweep_at {
                self.expire(now);
                self.publish();
                sweep_at = now + SWEEP;
                if let Some(failure) = self.server_gone(now) {
                    self.abandon();
                    return Ok((None, Some(failure)));
                }
            }
            let ends = entered == Stage::RampDown;
            self.close_timed_out(now, ends && !is_spent)?;
            if ends {
                if !is_spent {
                    // queued and remaining arrivals never begin
                    while let Some(intended) = self.generator.rest(schedule.sustain_end) {
                        self.recorder.dropped(intended);
                    }
                }
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
                    self.drive(place, true); // the stream may have ended
                }
            }
            for event in &events {
                let closed = event.is_read_closed() || event.is_error();
                self.drive(event.token().0, closed);
            }
        }
    }

    /// Begins the transactions that are due at `due`, which is not later than now.
    fn start(&mut self, due: Instant) -> Result<(), Error> {
        while !self.quota.is_spent()
            && let Some(next) = self.generator.next(due)
        {
            match next {
                Next::Begins { place, task, queued } => {
                    let now = Instant::now(); // starting the earlier transactions took time
                    if !self.quota.try_take() {
                        self.generator.ended(place, now);
                        break;
                    }
                    if self.generator.is_open() {
                        self.recorder.began(task, queued, now);
                    }
                    self.begin(place, task, now)?;
                }
                Next::Dropped { intended } => self.recorder.dropped(intended),
            }
        }
        Ok(())
    }

    fn begin(&mut self, place: usize, task: Task, now: Instant) -> Result<(), Error> {
        self.recorder.attempt(task, now);
        let slot = &mut self.slots[place];
        let store = self.store.as_mut().filter(|_| task.resumes);
        let found = store.map(|store| store.lend(&mut slot.lent, now));
        if let Some(found) = found {
            self.recorder.offers(task, found, now);
        }
        let opener = &self.openers[usize::from(task.is_plain)];
        let watch = (self.poll.registry(), Token(place));
        match slot.start((task, found == Some(true)), &self.spec, opener, watch)? {
            Ok(stands) => {
                self.live += 1;
                if stands {
                    let connected = TransactionEvent::Connected { connect: slot.connect_time() };
                    self.recorder.event(task, connected, now);
                }
                if let Some(timeout) = self.client_timeout {
                    let from = if task.retries > 0 { now } else { task.intended };
                    let at = from + timeout.duration();
                    slot.timeout_at = Some(at);
                    self.timeouts.push(Reverse((at, place)));
                }
            }
            Err(failure) => self.failed(place, &failure, now),
        }
        Ok(())
    }

    /// Returns the timeout of the wait for events: zero, or none. Without timeout the alarm ends
    /// the wait. The alarm is set for the next action, at the latest for the next check of
    /// timeouts. A wait with its own timeout would make the kernel set and clear a timer each time.
    fn timeout(&mut self, now: Instant, sweep_at: Instant) -> Result<Option<Duration>, Error> {
        if !self.unread.is_empty() {
            return Ok(Some(Duration::ZERO));
        }
        // nothing starts after the sustained part
        let Schedule { sustain_start, sustain_end, .. } = self.recorder.schedule;
        let is_over = now >= sustain_end || self.quota.is_spent();
        let next = if is_over { None } else { self.generator.next_at() };
        let stages = [sustain_start, sustain_end];
        let stages = stages.into_iter().filter(|&at| at > now);
        let timeouts = self.timeouts.peek().map(|Reverse((at, _))| *at);
        let next = stages.chain(next).chain(timeouts).min().filter(|&next| next < sweep_at);
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
            return self.alarm.fired();
        };
        if !slot.is_live() {
            return;
        }
        let (recorder, task) = (&mut self.recorder, slot.task);
        let (failures, succeeded_at) = (&mut self.failures, &mut self.succeeded_at);
        let mut on_event = |event, at| {
            if matches!(
                event,
                TransactionEvent::Confirmed { .. } | TransactionEvent::Response { .. }
            ) {
                (*failures, *succeeded_at) = (0, at);
            }
            recorder.event(task, event, at);
        };
        let mut drive = Drive { spec: &self.spec, now, read_closed, on_event: &mut on_event };
        match slot.drive(&mut drive) {
            Ok(Step::Going) => {}
            Ok(Step::More) => {
                if !core::mem::replace(&mut slot.is_unread, true) {
                    self.unread.push_back(place);
                }
            }
            Ok(Step::Closed) => {
                if let Some(store) = &mut self.store {
                    slot.give_back(&self.spec, store);
                }
                self.recorder.ended(task, slot.body_bytes(), now);
                self.ended_at = now;
                self.live -= 1;
                self.generator.ended(place, now);
            }
            Err(failure) => {
                self.live -= 1;
                self.failed(place, &failure, now);
            }
        }
    }

    /// Counts a failure; the connection may begin again after a growing pause.
    fn failed(&mut self, place: usize, failure: &Failure, now: Instant) {
        let slot = &self.slots[place];
        let task = slot.task;
        self.recorder.ended(task, slot.body_bytes(), now);
        self.recorder.failed(task, failure, now);
        self.failures += 1;
        self.ended_at = now;
        self.generator.failed(place, now);
    }

    fn expire(&mut self, now: Instant) {
        for place in 0..self.slots.len() {
            if let Some(failure) = self.slots[place].expire(now, self.phase_max) {
                self.live -= 1;
                self.failed(place, &failure, now);
            }
        }
    }

    /// Closes the connections whose client timeout has ended. They begin again if retries are
    /// left, unless the run `ends`.
    fn close_timed_out(&mut self, now: Instant, ends: bool) -> Result<(), Error> {
        while let Some(&Reverse((at, place))) = self.timeouts.peek()
            && at <= now
        {
            self.timeouts.pop();
            let slot = &mut self.slots[place];
            if !slot.is_live() || slot.timeout_at != Some(at) {
                continue; // it completed in time
            }
            let (phase, mut task) = (slot.time_out(), slot.task);
            self.live -= 1;
            self.recorder.ended(task, slot.body_bytes(), now);
            self.recorder.timed_out(task, phase, now);
            self.ended_at = now;
            let retries = self.client_timeout.map_or(0, |timeout| timeout.retries);
            if task.retries < retries && !ends {
                task.retries += 1;
                self.begin(place, task, now)?;
            } else {
                self.recorder.never_completed(task);
                self.generator.ended(place, now);
            }
        }
        Ok(())
    }

    /// Returns the most frequent failure, if nothing has succeeded for a while and every slot has
    /// failed.
    fn server_gone(&self, now: Instant) -> Option<Failure> {
        let tried = self.failures > 2 * self.slots.len() as u64;
        let silent = now.saturating_duration_since(self.succeeded_at) > GONE_AFTER;
        if !(tried && silent) {
            return None;
        }
        self.recorder.tally.whole.worst().map(|(failure, _)| failure.clone())
    }

    fn abandon(&mut self) {
        for slot in &mut self.slots {
            if slot.is_live() {
                slot.abandon();
                self.recorder.tally.abandoned += 1;
            }
        }
        self.live = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offer::Protocol;
    use crate::target::Target;

    #[test]
    fn ramp_down_waits_without_spinning() {
        let plan = Plan::new(Protocol::Tls13);
        let target = Target::new("127.0.0.1:1".parse().unwrap()).unwrap();
        let targets = Targets::new(&target, None);
        let mut worker = Worker::new(&plan, targets, 0).unwrap();
        let now = worker.recorder.schedule.sustain_end;
        worker.generator.ended(0, now); // succeeded, and could start again
        worker.generator.failed(1, now - SWEEP); // failed, and could start again
        let (begun, mut events) = (Instant::now(), Events::with_capacity(1));
        assert_eq!(worker.timeout(now, now + SWEEP).unwrap(), None);
        worker.poll.poll(&mut events, Some(100 * SWEEP)).unwrap();
        assert!(!events.is_empty() && begun.elapsed() >= SWEEP, "{:?}", begun.elapsed());
    }
}
