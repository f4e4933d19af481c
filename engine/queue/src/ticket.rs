//! The caller's handles of a request: first a ticket, then an answer.

use core::fmt;
use core::ops::Deref;
use core::pin::Pin;
use core::task::{Context, Poll};

use super::state::Shared;
use super::sync::Arc;
use crate::error::Error;
use crate::job::{Job, Request};
use crate::schedule::{Owner, Taken};

/// A slot whose request is with a caller, who fills or reads it. Dropping it wipes the request and
/// frees the slot.
pub(crate) struct SlotGuard<J: Job> {
    shared: Arc<Shared<J>>,
    pub(crate) slot: usize,
    request: Option<Box<Request<J>>>,
}

/// A submitted request. Wait for it, poll it, or await it. Dropping the ticket cancels the request:
/// it is not run, or its result is wiped.
///
/// `poll` of this future runs waiting jobs while a unit is idle, and every waiting future is woken
/// whenever a unit becomes idle.
#[must_use = "a ticket that is dropped cancels its request"]
pub struct Ticket<J: Job> {
    shared: Arc<Shared<J>>,
    /// `None` after the answer was taken.
    slot: Option<usize>,
}

/// The condition under which a polling thread with many tickets runs a batch; see
/// [`Ticket::try_take_or_run`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunBatch {
    /// If the batch is full and has more than one request.
    IfFull,
    /// If the batch is as large as those before it, or has waited for the maximum
    /// [`linger_us_max`](crate::Config::linger_us_max).
    IfDue,
    /// Always.
    Always,
}

/// The answer to a request: a completed job. Dropping it wipes the job.
pub struct Answer<J: Job> {
    guard: SlotGuard<J>,
}

impl<J: Job> SlotGuard<J> {
    pub(crate) fn new(shared: Arc<Shared<J>>, slot: usize, request: Box<Request<J>>) -> Self {
        Self { shared, slot, request: Some(request) }
    }

    pub(crate) fn request_mut(&mut self) -> &mut Request<J> {
        self.request.as_mut().expect("a guard has its request until it is taken")
    }

    /// Takes the request out; the caller returns it to its slot.
    pub(crate) fn take_request(&mut self) -> Box<Request<J>> {
        self.request.take().expect("the request is taken once")
    }
}

impl<J: Job> Drop for SlotGuard<J> {
    fn drop(&mut self) {
        let Some(mut request) = self.request.take() else {
            return;
        };
        request.wipe();
        if self.shared.is_own_process() {
            self.shared.lock().schedule.release(self.slot, request);
        }
    }
}

impl<J: Job> fmt::Debug for Ticket<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("slot", &self.slot).finish_non_exhaustive()
    }
}

impl<J: Job> fmt::Debug for Answer<J> {
    /// Shows no job: it may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").finish_non_exhaustive()
    }
}

impl<J: Job> Deref for Answer<J> {
    type Target = J;

    fn deref(&self) -> &J {
        &self.guard.request.as_ref().expect("an answer holds its request").job
    }
}

impl<J: Job> Ticket<J> {
    pub(crate) fn new(shared: Arc<Shared<J>>, slot: usize) -> Self {
        Self { shared, slot: Some(slot) }
    }

    /// Waits for the answer. This thread leads batches while no other thread does.
    ///
    /// # Errors
    ///
    /// The error of the request: [`Error::Rejected`], [`Error::Fault`], [`Error::NoUnit`],
    /// [`Error::ShutDown`], [`Error::UnitPanicked`]; [`Error::Forked`].
    pub fn wait(self) -> Result<Answer<J>, Error<J::Refusal>> {
        self.shared.check_process()?;
        self.wait_same_process()
    }

    /// Waits as [`wait`](Self::wait) does, but without the fork check: this process has just
    /// submitted the request.
    pub(crate) fn wait_same_process(mut self) -> Result<Answer<J>, Error<J::Refusal>> {
        let taken = self.shared.wait(self.slot());
        self.answer(taken)
    }

    /// Returns the answer if it is ready, and runs no batch.
    /// [`try_take_or_run`](Self::try_take_or_run) needs more stack.
    ///
    /// # Errors
    ///
    /// As [`wait`](Self::wait).
    ///
    /// # Panics
    ///
    /// If the answer was taken before.
    pub fn try_take_done(&mut self) -> Option<Result<Answer<J>, Error<J::Refusal>>> {
        if let Err(error) = self.shared.check_process() {
            return Some(Err(error));
        }
        let taken = self.shared.lock().schedule.claim(self.slot())?;
        Some(self.answer(taken))
    }

    /// Returns the answer if it is ready. For a thread that polls many tickets often and must not
    /// sleep, such as a server's event loop: it runs batches of this request's class itself, as
    /// `run_batch` says, and never waits.
    ///
    /// # Errors
    ///
    /// As [`wait`](Self::wait).
    ///
    /// # Panics
    ///
    /// If the answer was taken before.
    pub fn try_take_or_run(
        &mut self,
        run_batch: RunBatch,
    ) -> Option<Result<Answer<J>, Error<J::Refusal>>> {
        if let Err(error) = self.shared.check_process() {
            return Some(Err(error));
        }
        let (shared, slot) = (&self.shared, self.slot());
        let mut state = shared.lock();
        let class = state.schedule.class(slot);
        while state.schedule.is_queued(slot) && state.is_time_to_lead(class, run_batch) {
            let Some(unit_slot) = state.idle.pop() else {
                break;
            };
            state.busy += 1;
            state = shared.lead_gathered(state, unit_slot, class);
        }
        let taken = state.schedule.claim(slot);
        drop(shared.wake_next(state));
        taken.map(|taken| self.answer(taken))
    }

    fn slot(&self) -> usize {
        self.slot.expect("an answer is taken once")
    }

    /// Makes the answer from a taken request.
    fn answer(&mut self, (request, end): Taken<J>) -> Result<Answer<J>, Error<J::Refusal>> {
        let slot = self.slot.take().expect("an answer is taken once");
        let guard = SlotGuard::new(Arc::clone(&self.shared), slot, request);
        end.map(|()| Answer { guard })
    }
}

impl<J: Job> Future for Ticket<J> {
    type Output = Result<Answer<J>, Error<J::Refusal>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let (shared, slot) = (&self.shared, self.slot());
        if let Err(error) = shared.check_process() {
            return Poll::Ready(Err(error));
        }
        let waker = context.waker().clone();
        let mut state = shared.lock();
        while state.schedule.is_queued(slot) {
            let Some(unit_slot) = state.idle.pop() else {
                break;
            };
            state = shared.lead(state, unit_slot);
        }
        let Some(taken) = state.schedule.claim(slot) else {
            // The replaced waker may be another task's. It is foreign code and may own tickets, so
            // it is dropped outside the lock.
            let owner = core::mem::replace(state.schedule.owner(slot), Owner::Task(waker));
            drop(shared.wake_next(state));
            drop(owner);
            return Poll::Pending;
        };
        drop(shared.wake_next(state));
        Poll::Ready(self.answer(taken))
    }
}

impl<J: Job> Drop for Ticket<J> {
    fn drop(&mut self) {
        let Some(slot) = self.slot else {
            return;
        };
        if !self.shared.is_own_process() {
            return;
        }
        let mut state = self.shared.lock();
        let is_late = state.schedule.is_done(slot);
        let owner = core::mem::replace(state.schedule.owner(slot), Owner::Abandoned);
        let request = state.schedule.abandon(slot);
        if !is_late {
            state.stats.cancelled += 1;
        }
        drop(state);
        drop(owner); // foreign code: outside the lock
        if let Some(request) = request {
            drop(SlotGuard::new(Arc::clone(&self.shared), slot, request)); // wiped outside the lock
        }
    }
}
