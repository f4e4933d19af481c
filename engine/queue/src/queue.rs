//! The public handles: a queue and its callers.

use core::fmt;
use core::time::Duration;
use std::time::Instant;

use super::state::{Shared, State};
use super::sync::Arc;
use super::ticket::{Answer, SlotGuard, Ticket};
use super::unit_slot::UnitSlot;
use crate::config::Config;
use crate::error::Error;
use crate::event::Event;
use crate::job::{Class, Job};
use crate::stats::Stats;
use crate::unit::Unit;

/// Runs the jobs of many callers on its units. Cloning is cheap. When the last handle is dropped,
/// including all callers, the queue accepts no new requests; existing tickets remain valid.
pub struct Queue<J: Job> {
    handle: Arc<Handle<J>>,
}

/// Closes the queue when the last of its handles is dropped.
struct Handle<J: Job> {
    shared: Arc<Shared<J>>,
}

/// A source of requests that is scheduled fairly against other callers: a thread, a connection, a
/// customer. Clones are the same caller.
pub struct Caller<J: Job> {
    identity: Arc<Identity<J>>,
}

struct Identity<J: Job> {
    queue: Queue<J>,
    number: usize,
}

/// The result of [`Queue::shut_down`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShutdownReport {
    /// Number of waiting requests that failed with [`Error::ShutDown`] at the deadline.
    pub cancelled: usize,
    /// `true` if units were still running at the deadline; they finish on their own.
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
    /// Starts a queue with these units, in order of preference. A unit that fails its self test is
    /// quarantined.
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
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        for unit in units {
            let mut unit_slot = UnitSlot::new(unit, room);
            if unit_slot.passes() { &mut good } else { &mut bad }.push(unit_slot);
        }
        good.reverse(); // idle units are taken from the end
        let none = good.is_empty();
        let shared = Arc::new(Shared::new(config, good, room));
        bad.into_iter().for_each(|unit_slot| shared.quarantine_at_start(unit_slot));
        if none {
            shared.emit(&Event::NoUnitLeft);
            return Err(Error::NoUnit);
        }
        Ok(Self { handle: Arc::new(Handle { shared }) })
    }

    pub(crate) fn shared(&self) -> &Arc<Shared<J>> {
        &self.handle.shared
    }

    /// Adds a caller.
    ///
    /// # Errors
    ///
    /// [`Error::Forked`].
    pub fn caller(&self) -> Result<Caller<J>, Error<J::Refusal>> {
        self.shared().check_process()?;
        let number = self.shared().lock().schedule.add_caller();
        Ok(Caller { identity: Arc::new(Identity { queue: self.clone(), number }) })
    }

    /// Returns the counters and histograms since the start.
    ///
    /// # Errors
    ///
    /// [`Error::Forked`].
    pub fn stats(&self) -> Result<Stats, Error<J::Refusal>> {
        self.shared().check_process()?;
        Ok(self.shared().lock().stats.clone())
    }

    /// Returns the number of slots in use: requests that wait or run, and answers not yet dropped.
    ///
    /// # Errors
    ///
    /// [`Error::Forked`].
    pub fn slots_in_use(&self) -> Result<usize, Error<J::Refusal>> {
        self.shared().check_process()?;
        Ok(self.shared().lock().schedule.slots_in_use())
    }

    /// Tests the quarantined units and returns how many were readmitted. Units that panicked or
    /// exchanged requests stay in quarantine.
    ///
    /// # Errors
    ///
    /// [`Error::Forked`].
    pub fn readmit(&self) -> Result<usize, Error<J::Refusal>> {
        self.shared().check_process()?;
        Ok(self.shared().readmit())
    }

    /// Refuses new requests and returns when all submitted ones have ended. At the deadline,
    /// requests that still wait fail with [`Error::ShutDown`]. Answers can still be taken
    /// afterwards.
    ///
    /// # Errors
    ///
    /// [`Error::Forked`].
    pub fn shut_down(&self, within: Duration) -> Result<ShutdownReport, Error<J::Refusal>> {
        let shared = self.shared();
        shared.check_process()?;
        let deadline = Instant::now().checked_add(within); // none: no limit
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
        Ok(ShutdownReport { cancelled, still_running })
    }
}

impl<J: Job> Drop for Handle<J> {
    fn drop(&mut self) {
        if self.shared.is_own_process() {
            self.shared.lock().is_closing = true;
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
    /// Submits the job that `fill` writes; `fill` gets a wiped job. Never blocks.
    ///
    /// The request runs when a caller waits for or polls this or another ticket.
    ///
    /// # Errors
    ///
    /// [`Error::Full`] and [`Error::CallerFull`]: retry later; [`Error::Rejected`] with the error
    /// of `fill`; [`Error::NoUnit`], [`Error::ShutDown`], [`Error::Forked`].
    pub fn submit(
        &self,
        fill: impl FnOnce(&mut J) -> Result<(), J::Refusal>,
    ) -> Result<Ticket<J>, Error<J::Refusal>> {
        let mut guard = self.fill(fill)?;
        let shared = self.identity.queue.shared();
        let mut state = shared.lock();
        state.check_open()?; // on error, `guard` wipes and frees the slot after unlocking
        let request = guard.take_request();
        shared.enqueue(&mut state, guard.slot, request);
        drop(state);
        Ok(Ticket::new(Arc::clone(shared), guard.slot))
    }

    /// Returns `true` if a request of this class would probably share a batch: another one waits,
    /// or recent batches had `fewest` requests or more. For a thread that runs cheap operations
    /// alone otherwise. Such operations do not count as arrivals, so try one request in a while
    /// anyway.
    ///
    /// # Errors
    ///
    /// [`Error::Forked`].
    pub fn may_share(&self, class: Class, fewest: usize) -> Result<bool, Error<J::Refusal>> {
        let shared = self.identity.queue.shared();
        shared.check_process()?;
        let state = shared.lock();
        Ok(state.arrivals.of(class).expected() >= fewest || state.schedule.next_of(class).is_some())
    }

    /// Submits a job and waits for its answer. A single caller pays no queueing cost.
    ///
    /// # Errors
    ///
    /// As [`submit`](Self::submit) and [`Ticket::wait`].
    pub fn run(
        &self,
        fill: impl FnOnce(&mut J) -> Result<(), J::Refusal>,
    ) -> Result<Answer<J>, Error<J::Refusal>> {
        self.submit(fill)?.wait_same_process()
    }

    /// Takes a slot and fills its request.
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
        let mut guard = SlotGuard::new(Arc::clone(shared), slot, request);
        let request = guard.request_mut();
        fill(&mut request.job).map_err(Error::Rejected)?;
        request.note_kind();
        Ok(guard)
    }
}

impl<J: Job> State<J> {
    /// Fails if no unit can run new requests. Checked before and after `fill`, since the last unit
    /// may be quarantined meanwhile.
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
