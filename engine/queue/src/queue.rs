//! The handles: a queue, and its callers.

use core::fmt;
use core::time::Duration;
use std::time::Instant;

use super::state::{Shared, State};
use super::sync::Arc;
use super::ticket::{Answer, SlotGuard, Ticket};
use super::unit_slot::UnitSlot;
use super::worker;
use crate::config::Config;
use crate::error::Error;
use crate::event::Event;
use crate::job::Job;
use crate::schedule::{Callback, Owner};
use crate::stats::Stats;
use crate::unit::Unit;

/// An execution unit for the jobs of many callers. Cheap to clone; when the last handle, callers
/// with them, is gone, nothing new comes, and tickets that are held can still be waited for.
pub struct Queue<J: Job> {
    handle: Arc<Handle<J>>,
}

/// Closes the queue when the last of its handles is dropped.
struct Handle<J: Job> {
    shared: Arc<Shared<J>>,
}

/// Somebody whose requests wait in a line of their own: a thread, a connection, a customer. Clones
/// are the same caller.
pub struct Caller<J: Job> {
    identity: Arc<Identity<J>>,
}

struct Identity<J: Job> {
    queue: Queue<J>,
    number: usize,
}

/// How a shutdown ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShutdownReport {
    /// Requests in line that were ended with [`Error::ShutDown`] at the deadline.
    pub cancelled: usize,
    /// Whether units or callbacks still ran then; they end on their own.
    pub still_running: bool,
}

impl<J: Job> Clone for Queue<J> {
    fn clone(&self) -> Self {
        Self { handle: Arc::clone(&self.handle) }
    }
}

impl<J: Job> Clone for Caller<J> {
    fn clone(&self) -> Self {
        Self { identity: Arc::clone(&self.identity) }
    }
}

impl<J: Job> fmt::Debug for Queue<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("config", &self.shared().config).finish_non_exhaustive()
    }
}

impl<J: Job> fmt::Debug for Caller<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("number", &self.identity.number).finish_non_exhaustive()
    }
}

impl<J: Job> Queue<J> {
    /// With these units, each of which passes its self test or is quarantined. The first ones are
    /// preferred.
    ///
    /// # Errors
    ///
    /// [`Error::Config`]; [`Error::NoUnit`] if none passes.
    pub fn start(
        config: Config,
        units: impl IntoIterator<Item = Box<dyn Unit<J>>>,
    ) -> Result<Self, Error<J::Refusal>> {
        config.check().map_err(Error::Config)?;
        let room = config.capacity;
        let unit_slots = units.into_iter().map(|unit| UnitSlot::new(unit, room));
        let (mut good, bad): (Vec<_>, Vec<_>) = unit_slots
            .map(|mut unit_slot| (unit_slot.passes(), unit_slot))
            .partition(|(passes, _)| *passes);
        good.reverse(); // idle units are taken from the end
        let good: Vec<_> = good.into_iter().map(|(_, unit_slot)| unit_slot).collect();
        let none = good.is_empty();
        let shared = Arc::new(Shared::new(config, good, room));
        bad.into_iter().for_each(|(_, unit_slot)| shared.quarantine_at_start(unit_slot));
        if none {
            shared.emit(&Event::NoUnitLeft);
            return Err(Error::NoUnit);
        }
        Ok(Self { handle: Arc::new(Handle { shared }) })
    }

    pub(crate) fn shared(&self) -> &Arc<Shared<J>> {
        &self.handle.shared
    }

    /// A new caller.
    ///
    /// # Errors
    ///
    /// [`Error::Forked`].
    pub fn caller(&self) -> Result<Caller<J>, Error<J::Refusal>> {
        self.shared().check_process()?;
        let number = self.shared().lock().schedule.add_caller();
        Ok(Caller { identity: Arc::new(Identity { queue: self.clone(), number }) })
    }

    /// What it did so far.
    ///
    /// # Errors
    ///
    /// [`Error::Forked`].
    pub fn stats(&self) -> Result<Stats, Error<J::Refusal>> {
        self.shared().check_process()?;
        Ok(self.shared().lock().stats.clone())
    }

    /// Places that are not free: requests in line and running, and answers that are held.
    ///
    /// # Errors
    ///
    /// [`Error::Forked`].
    pub fn slots_in_use(&self) -> Result<usize, Error<J::Refusal>> {
        self.shared().check_process()?;
        Ok(self.shared().lock().schedule.slots_in_use())
    }

    /// Tests the units in quarantine and takes back those that pass; how many. One that panicked
    /// does not come back.
    ///
    /// # Errors
    ///
    /// [`Error::Forked`].
    pub fn readmit(&self) -> Result<usize, Error<J::Refusal>> {
        self.shared().check_process()?;
        Ok(self.shared().readmit())
    }

    /// Refuses what is new, does what is in line, and returns when that is done; at the deadline
    /// it ends what is still in line with [`Error::ShutDown`]. Answers can still be taken.
    ///
    /// # Errors
    ///
    /// [`Error::Forked`].
    pub fn shut_down(&self, within: Duration) -> Result<ShutdownReport, Error<J::Refusal>> {
        let shared = self.shared();
        shared.check_process()?;
        let deadline = Instant::now().checked_add(within); // none: as long as it takes
        let mut state = shared.lock();
        state.is_closing = true;
        let mut cancelled = 0;
        while !state.is_drained() {
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                (state, cancelled) = shared.fail_all(state, &Error::ShutDown);
                break;
            }
            state = match state.idle.pop() {
                Some(unit_slot) if state.schedule.depth() > 0 => shared.lead(state, unit_slot),
                unit_slot => {
                    state.idle.extend(unit_slot);
                    shared.sleep(&shared.drained, state, left)
                }
            };
        }
        let still_running = !state.is_drained();
        drop(state);
        shared.work.notify_all();
        Ok(ShutdownReport { cancelled, still_running })
    }
}

impl<J: Job> Drop for Handle<J> {
    fn drop(&mut self) {
        if self.shared.is_own_process() {
            self.shared.lock().is_closing = true;
            self.shared.work.notify_all();
        }
    }
}

impl<J: Job> Drop for Identity<J> {
    fn drop(&mut self) {
        if self.queue.shared().is_own_process() {
            self.queue.shared().lock().schedule.remove_caller(self.number);
        }
    }
}

impl<J: Job> Caller<J> {
    /// Queues what `fill` writes into a job, which is wiped. Never waits.
    ///
    /// A unit does it when somebody waits: for this ticket, or for another one; or polls; or when
    /// the queue has workers.
    ///
    /// # Errors
    ///
    /// [`Error::Full`] and [`Error::CallerFull`]: retry later; [`Error::Rejected`] with the error
    /// of `fill`; [`Error::NoUnit`], [`Error::ShutDown`], [`Error::Forked`], [`Error::Threads`].
    pub fn submit(
        &self,
        fill: impl FnOnce(&mut J) -> Result<(), J::Refusal>,
    ) -> Result<Ticket<J>, Error<J::Refusal>> {
        let ticket = self.submit_without_waking(fill)?;
        let shared = self.identity.queue.shared();
        if worker::start(shared)? {
            drop(shared.wake_next(shared.lock()));
        }
        Ok(ticket)
    }

    /// [`submit`](Self::submit), and then waits: as fast as the unit for one who is alone.
    ///
    /// # Errors
    ///
    /// As [`submit`](Self::submit) and [`Ticket::wait`].
    pub fn run(
        &self,
        fill: impl FnOnce(&mut J) -> Result<(), J::Refusal>,
    ) -> Result<Answer<J>, Error<J::Refusal>> {
        self.submit_without_waking(fill)?.wait_same_process()
    }

    /// Queues a request, and has `callback` called with its end, by a worker. A queue without
    /// workers does the request and calls back before this returns.
    ///
    /// A callback that panics is counted and said; nobody else notices.
    ///
    /// # Errors
    ///
    /// As [`submit`](Self::submit); then the callback is never called.
    pub fn submit_with(
        &self,
        fill: impl FnOnce(&mut J) -> Result<(), J::Refusal>,
        callback: impl FnOnce(Result<&J, Error<J::Refusal>>) + Send + 'static,
    ) -> Result<(), Error<J::Refusal>> {
        let shared = self.identity.queue.shared();
        if !worker::start(shared)? {
            let answer = self.submit_without_waking(fill)?.wait();
            shared.call(|| callback(answer.as_deref().map_err(Clone::clone)));
            return Ok(());
        }
        let callback: Callback<J> = Box::new(callback);
        let mut held = self.fill(fill)?;
        let mut state = shared.lock();
        state.check_open()?; // what is held is released behind the lock
        *state.schedule.owner(held.slot) = Owner::Callback(callback);
        let request = held.take_request();
        shared.enqueue(&mut state, held.slot, request);
        drop(shared.wake_next(state));
        Ok(())
    }

    /// Does many requests, of which `fill` writes number i and `take` gets its end, in any order;
    /// as many are in the queue at a time as it has slots for. The caller's thread leads.
    ///
    /// # Errors
    ///
    /// As [`submit`](Self::submit); then those that were not taken yet are cancelled. A lack of
    /// slots is one only if this call has nothing in the queue.
    pub fn run_many(
        &self,
        count: usize,
        mut fill: impl FnMut(usize, &mut J) -> Result<(), J::Refusal>,
        mut take: impl FnMut(usize, Result<&J, Error<J::Refusal>>),
    ) -> Result<(), Error<J::Refusal>> {
        let mut window: [Option<Ticket<J>>; WINDOW] = [const { None }; WINDOW];
        let mut next = 0;
        for first in 0..count {
            while next < count && next - first < WINDOW {
                match self.submit_without_waking(|job| fill(next, job)) {
                    Ok(ticket) => window[next % WINDOW] = Some(ticket),
                    Err(error @ Error::Rejected(_)) => take(next, Err(error)),
                    Err(Error::Full { .. } | Error::CallerFull { .. }) if next > first => break,
                    Err(error) => return Err(error),
                }
                next += 1;
            }
            if let Some(ticket) = window[first % WINDOW].take() {
                let answer = ticket.wait();
                take(first, answer.as_deref().map_err(Clone::clone));
            }
        }
        Ok(())
    }

    fn submit_without_waking(
        &self,
        fill: impl FnOnce(&mut J) -> Result<(), J::Refusal>,
    ) -> Result<Ticket<J>, Error<J::Refusal>> {
        let mut held = self.fill(fill)?;
        let shared = self.identity.queue.shared();
        let mut state = shared.lock();
        state.check_open()?; // what is held is released behind the lock
        let request = held.take_request();
        shared.enqueue(&mut state, held.slot, request);
        let is_for_workers = state.schedule.depth() > 1 && state.workers < shared.config.workers;
        drop(state);
        if is_for_workers {
            let _ = worker::start(shared); // without them, threads lead
        }
        Ok(Ticket::new(Arc::clone(shared), held.slot))
    }

    /// A slot with a filled request.
    fn fill(
        &self,
        fill: impl FnOnce(&mut J) -> Result<(), J::Refusal>,
    ) -> Result<SlotGuard<J>, Error<J::Refusal>> {
        let shared = self.identity.queue.shared();
        shared.check_process()?;
        let mut state = shared.lock();
        state.check_open()?;
        let (slot, request) = state.schedule.admit(self.identity.number).inspect_err(|_| {
            state.stats.turned_away += 1;
        })?;
        drop(state);
        let mut held = SlotGuard::new(Arc::clone(shared), slot, request);
        let request = held.request_mut();
        fill(&mut request.job).map_err(Error::Rejected)?;
        request.note_kind();
        Ok(held)
    }
}

impl<J: Job> State<J> {
    /// Whether somebody will do what comes: asked before a job is written, and again after, since
    /// the last unit may go meanwhile.
    fn check_open(&self) -> Result<(), Error<J::Refusal>> {
        if self.is_closing {
            return Err(Error::ShutDown);
        }
        if self.healthy() == 0 {
            return Err(Error::NoUnit);
        }
        Ok(())
    }
}

/// Requests of [`Caller::run_many`] in the queue at a time: more than lanes of all cores would
/// fill needs no caller who waits.
const WINDOW: usize = 64;
