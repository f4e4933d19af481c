//! What all handles, tickets and workers of a queue share, and the lock around it.

use core::task::Waker;
use core::time::Duration;
use std::collections::VecDeque;
use std::sync::PoisonError;
use std::time::Instant;

use tollgate_cpu::process;

use super::sync::{Condvar, Mutex, MutexGuard};
use super::thread_wakers::ThreadWakers;
use super::unit_slot::UnitSlot;
use crate::arrivals::Arrivals;
use crate::config::Config;
use crate::error::Error;
use crate::event::Cause;
use crate::job::{Job, Outcome, Request};
use crate::schedule::{End, Owner, Schedule};
use crate::stats::Stats;

/// What all handles, tickets and workers of a queue share.
pub(crate) struct Shared<J: Job> {
    state: Mutex<State<J>>,
    /// Threads that sleep until their requests ended.
    pub(crate) thread_wakers: ThreadWakers,
    /// Workers without work.
    pub(crate) work: Condvar,
    /// Leaders that linger.
    pub(crate) arrived: Condvar,
    /// Who shuts down.
    pub(crate) drained: Condvar,
    pub(crate) config: Config,
    /// The process that made it. A child has its memory, and none of its threads.
    process: u64,
}

pub(crate) type Guard<'a, J> = MutexGuard<'a, State<J>>;

/// What the lock covers.
pub(crate) struct State<J: Job> {
    pub(crate) schedule: Schedule<J>,
    pub(crate) idle: Vec<UnitSlot<J>>,
    /// Units that somebody runs.
    pub(crate) busy: usize,
    pub(crate) quarantined: Vec<(UnitSlot<J>, Cause)>,
    pub(crate) is_closing: bool,
    /// ShutdownReport requests whose callbacks a worker will call.
    pub(crate) finished: VecDeque<usize>,
    /// Callbacks that are being called.
    pub(crate) calling: usize,
    pub(crate) workers: usize,
    /// Workers without work, asleep or about to look again.
    pub(crate) workers_idle: usize,
    /// How many of them were notifications to lead and have not looked yet.
    pub(crate) workers_woken: usize,
    pub(crate) stats: Stats,
    /// Leaders that linger.
    pub(crate) lingering: usize,
    pub(crate) arrivals: Arrivals,
    /// Room to wake tasks from.
    pub(crate) tasks: Vec<Waker>,
}

impl<J: Job> Shared<J> {
    pub(crate) fn new(config: Config, units: Vec<UnitSlot<J>>, room: usize) -> Self {
        let capacity = config.capacity;
        let state = State {
            schedule: Schedule::new(capacity, config.slots_per_caller_max),
            busy: 0,
            quarantined: Vec::with_capacity(units.len()),
            is_closing: false,
            finished: VecDeque::with_capacity(capacity),
            calling: 0,
            workers: 0,
            workers_idle: 0,
            workers_woken: 0,
            stats: Stats::new(room, capacity),
            lingering: 0,
            arrivals: Arrivals::new(config.linger_max()),
            tasks: Vec::with_capacity(capacity),
            idle: units,
        };
        Self {
            state: Mutex::new(state),
            thread_wakers: ThreadWakers::new(capacity),
            work: Condvar::new(),
            arrived: Condvar::new(),
            drained: Condvar::new(),
            config,
            process: process::fork_generation(),
        }
    }

    /// Whether this is the process that made the queue; asked before any lock is taken, because a
    /// thread that the child does not have may hold it for ever.
    pub(crate) fn check_process(&self) -> Result<(), Error<J::Refusal>> {
        if self.is_own_process() { Ok(()) } else { Err(Error::Forked) }
    }

    pub(crate) fn is_own_process(&self) -> bool {
        process::fork_generation() == self.process
    }

    /// Of strangers' code only this runs under the lock: [`Unit::width`](crate::Unit::width), whose
    /// panic is caught, and the drop of a refusal that nobody reads. Jobs are asked, written and
    /// wiped, wakers cloned, woken and dropped, and callbacks and listeners called outside of it.
    /// So nothing in it is half done, and a lock that is poisoned all the same is taken.
    pub(crate) fn lock(&self) -> Guard<'_, J> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until rung, or until the time is over.
    pub(crate) fn sleep<'a>(
        &self,
        bell: &Condvar,
        state: Guard<'a, J>,
        left: Option<Duration>,
    ) -> Guard<'a, J> {
        match left {
            None => bell.wait(state).unwrap_or_else(PoisonError::into_inner),
            Some(left) => bell.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
        }
    }
}

impl<J: Job> State<J> {
    /// Units in use.
    pub(crate) fn healthy(&self) -> usize {
        self.idle.len() + self.busy
    }

    /// For a worker: an idle unit, if somebody is in line, or those whom it served may come again.
    pub(crate) fn take_unit(&mut self) -> Option<UnitSlot<J>> {
        let is_awaited = self.schedule.depth() > 0;
        self.idle.pop_if(|unit_slot| is_awaited || unit_slot.last_batch.is_some())
    }

    pub(crate) fn is_drained(&self) -> bool {
        self.schedule.depth() == 0 && self.busy + self.calling == 0 && self.finished.is_empty()
    }

    /// Ends the requests of a batch; what failed its check for the first time is done once more,
    /// if there is another unit.
    pub(crate) fn end(&mut self, unit_slot: &mut UnitSlot<J>, cause: Option<Cause>, now: Instant) {
        let UnitSlot { batch, notifications, .. } = unit_slot;
        for (slot, mut request) in batch.slots.drain(..).zip(batch.requests.drain(..)) {
            let end: End<J> = match request.take_outcome() {
                _ if cause == Some(Cause::Panic) => Err(Error::UnitPanicked),
                Some(Outcome::Done) => Ok(()),
                Some(Outcome::Refused(why)) => Err(Error::Rejected(why)),
                Some(Outcome::Fault) | None => {
                    self.stats.faults += 1;
                    if !request.is_retry && self.healthy() > 1 {
                        self.stats.retried += 1;
                        request.is_retry = true;
                        self.schedule.insert(slot, request);
                        continue;
                    }
                    Err(Error::Fault)
                }
            };
            if end.is_ok() {
                self.stats.done += 1;
            } else {
                self.stats.failed += 1;
            }
            self.stats.response_ns.record_time(now - self.schedule.since(slot));
            self.schedule.finish(slot, request, end);
            self.ended(slot, notifications);
        }
    }

    /// Finds out whom to tell.
    pub(crate) fn ended(&mut self, slot: usize, notifications: &mut Notifications<J>) {
        match self.schedule.owner(slot) {
            Owner::Nobody => {}
            Owner::Thread { .. } => notifications.threads.push(slot),
            owner @ Owner::Task(_) => {
                if let Owner::Task(waker) = core::mem::replace(owner, Owner::Nobody) {
                    notifications.tasks.push(waker);
                }
            }
            Owner::Callback(_) => self.finished.push_back(slot),
            Owner::Gone => {
                let claimed = self.schedule.claim(slot);
                notifications.gone.extend(claimed.map(|(request, end)| (slot, request, end)));
            }
        }
    }
}

/// Whom to tell that their requests ended, outside of the lock.
pub(crate) struct Notifications<J: Job> {
    /// Places of threads that sleep.
    pub(crate) threads: Vec<usize>,
    pub(crate) tasks: Vec<Waker>,
    /// Nobody: these are wiped, and their slots free.
    pub(crate) gone: Vec<(usize, Box<Request<J>>, End<J>)>,
}

impl<J: Job> Notifications<J> {
    pub(crate) fn with_room(room: usize) -> Self {
        let (threads, tasks) = (Vec::with_capacity(room), Vec::with_capacity(room));
        Self { threads, tasks, gone: Vec::with_capacity(room) }
    }
}
