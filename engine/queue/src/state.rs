//! State shared by all handles and tickets of a queue, and its lock.

use core::task::Waker;
use core::time::Duration;
use std::sync::PoisonError;

use tollgate_cpu::process;

use super::sync::{Condvar, Mutex, MutexGuard};
use super::thread_wakers::ThreadWakers;
use super::unit_slot::{Notifications, UnitSlot};
use crate::arrivals::ArrivalsByClass;
use crate::config::Config;
use crate::error::Error;
use crate::event::Cause;
use crate::job::{Job, Outcome};
use crate::schedule::{End, Owner, Schedule};
use crate::stats::Stats;

/// State shared by all handles and tickets of a queue.
pub(crate) struct Shared<J: Job> {
    state: Mutex<State<J>>,
    /// Threads that sleep until their requests end.
    pub(crate) thread_wakers: ThreadWakers,
    /// Wakes lingering leaders.
    pub(crate) arrived: Condvar,
    /// Wakes threads in `shut_down`.
    pub(crate) drained: Condvar,
    pub(crate) config: Config,
    /// Fork generation of the process that started the queue. A child has a copy of the memory, but
    /// none of the threads.
    process: u64,
}

pub(crate) type Guard<'a, J> = MutexGuard<'a, State<J>>;

/// The state under the lock.
pub(crate) struct State<J: Job> {
    pub(crate) schedule: Schedule<J>,
    pub(crate) idle: Vec<UnitSlot<J>>,
    /// Number of units that run a batch.
    pub(crate) busy: usize,
    pub(crate) quarantined: Vec<(UnitSlot<J>, Cause)>,
    pub(crate) is_closing: bool,
    pub(crate) stats: Stats,
    /// Number of lingering leaders.
    pub(crate) lingering: usize,
    pub(crate) arrivals: ArrivalsByClass,
    /// Reused buffer for wakers of tasks.
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
            stats: Stats::new(room),
            lingering: 0,
            arrivals: ArrivalsByClass::new(config.linger_max()),
            tasks: Vec::with_capacity(capacity),
            idle: units,
        };
        Self {
            state: Mutex::new(state),
            thread_wakers: ThreadWakers::new(capacity),
            arrived: Condvar::new(),
            drained: Condvar::new(),
            config,
            process: process::fork_generation(),
        }
    }

    /// Fails in a forked child. Checked before any lock is taken, because a thread that does not
    /// exist in the child may hold it.
    pub(crate) fn check_process(&self) -> Result<(), Error<J::Refusal>> {
        if self.is_own_process() { Ok(()) } else { Err(Error::Forked) }
    }

    pub(crate) fn is_own_process(&self) -> bool {
        process::fork_generation() == self.process
    }

    /// Only two pieces of foreign code run under the lock: [`Unit::width`](crate::Unit::width),
    /// whose panic is caught, and the drop of an unread refusal. Everything else runs outside:
    /// reading, writing and wiping jobs; cloning, waking and dropping wakers; and
    /// listeners. So the state is consistent even if the lock is poisoned.
    pub(crate) fn lock(&self) -> Guard<'_, J> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until notified, or until the time is over.
    pub(crate) fn sleep<'a>(
        &self,
        condvar: &Condvar,
        state: Guard<'a, J>,
        left: Option<Duration>,
    ) -> Guard<'a, J> {
        match left {
            None => condvar.wait(state).unwrap_or_else(PoisonError::into_inner),
            Some(left) => {
                condvar.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
            }
        }
    }
}

impl<J: Job> State<J> {
    /// Returns the number of units in use.
    pub(crate) fn healthy(&self) -> usize {
        self.idle.len() + self.busy
    }

    pub(crate) fn is_drained(&self) -> bool {
        self.schedule.depth() == 0 && self.busy == 0
    }

    /// Ends the requests of a batch. A request whose check failed for the first time is queued
    /// again if there is another unit.
    pub(crate) fn end(&mut self, unit_slot: &mut UnitSlot<J>, cause: Option<Cause>) {
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
            self.schedule.finish(slot, request, end);
            self.record_owner(slot, notifications);
        }
    }

    /// Records the owner to notify that a request ended.
    pub(crate) fn record_owner(&mut self, slot: usize, notifications: &mut Notifications<J>) {
        match self.schedule.owner(slot) {
            Owner::None => {}
            Owner::Thread { .. } => notifications.threads.push(slot),
            owner @ Owner::Task(_) => {
                if let Owner::Task(waker) = core::mem::replace(owner, Owner::None) {
                    notifications.tasks.push(waker);
                }
            }
            Owner::Abandoned => {
                let claimed = self.schedule.claim(slot);
                notifications.abandoned.extend(claimed.map(|(request, end)| (slot, request, end)));
            }
        }
    }
}
