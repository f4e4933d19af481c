//! What a caller holds: a ticket for a request, and then its answer.

use core::fmt;
use core::ops::Deref;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::time::Instant;

use super::state::Shared;
use super::sync::Arc;
use super::worker;
use crate::error::Error;
use crate::job::{Job, Request};
use crate::schedule::{Owner, Taken};

/// A slot whose request is out: with a caller who fills or reads it. Dropped, it is wiped and the
/// slot is free.
pub(crate) struct SlotGuard<J: Job> {
    shared: Arc<Shared<J>>,
    pub(crate) slot: usize,
    request: Option<Box<Request<J>>>,
}

/// A request in the queue. Wait for it, poll it, or await it; dropped, it is cancelled: it leaves
/// the line, or its result is wiped when it comes.
///
/// As a future in a queue without workers it does jobs in `poll`, its own and those before it,
/// while a unit is idle; and each future in line is woken whenever one falls idle. For many futures
/// give the queue workers: then `poll` does nothing but look.
#[must_use = "a ticket that is dropped cancels its request"]
pub struct Ticket<J: Job> {
    shared: Arc<Shared<J>>,
    /// Until its answer is taken.
    slot: Option<usize>,
}

/// What a thread that has many tickets leads for; see [`Ticket::try_take_or_run`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunBatch {
    /// A batch of more than one that has no room for more.
    IfFull,
    /// One that is as large as those before it, or has waited long enough:
    /// [`linger_us_max`](crate::Config::linger_us_max).
    IfDue,
    /// Any.
    Always,
}

/// A job that was done, to be read. Dropped, it is wiped.
pub struct Answer<J: Job> {
    held: SlotGuard<J>,
}

impl<J: Job> SlotGuard<J> {
    pub(crate) fn new(shared: Arc<Shared<J>>, slot: usize, request: Box<Request<J>>) -> Self {
        Self { shared, slot, request: Some(request) }
    }

    pub(crate) fn request_mut(&mut self) -> &mut Request<J> {
        self.request.as_mut().expect("it is held until it is let go")
    }

    /// The request, which goes back to its slot in another way.
    pub(crate) fn take_request(&mut self) -> Box<Request<J>> {
        self.request.take().expect("it is let go once")
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
        &self.held.request.as_ref().expect("an answer holds its request").job
    }
}

impl<J: Job> Ticket<J> {
    pub(crate) fn new(shared: Arc<Shared<J>>, slot: usize) -> Self {
        Self { shared, slot: Some(slot) }
    }

    /// Waits for the answer; leads while nobody else does.
    ///
    /// # Errors
    ///
    /// How the request ended: [`Error::Rejected`], [`Error::Fault`], [`Error::NoUnit`],
    /// [`Error::ShutDown`], [`Error::UnitPanicked`]; [`Error::Forked`].
    pub fn wait(self) -> Result<Answer<J>, Error<J::Refusal>> {
        self.shared.check_process()?;
        self.wait_same_process()
    }

    /// [`wait`](Self::wait) in the process that has just submitted it.
    pub(crate) fn wait_same_process(mut self) -> Result<Answer<J>, Error<J::Refusal>> {
        let taken = self.shared.wait(self.slot(), None);
        self.answer(taken.expect("without a deadline it waits for the end"))
    }

    /// Waits until then; `None` if there is no answer yet. A batch that this thread leads is done
    /// to its end, so that it may come back one service time late.
    ///
    /// # Errors
    ///
    /// As [`wait`](Self::wait).
    ///
    /// # Panics
    ///
    /// If the answer was taken.
    pub fn wait_until(
        &mut self,
        deadline: Instant,
    ) -> Option<Result<Answer<J>, Error<J::Refusal>>> {
        if let Err(error) = self.shared.check_process() {
            return Some(Err(error));
        }
        let taken = self.shared.wait(self.slot(), Some(deadline))?;
        Some(self.answer(taken))
    }

    /// The answer, if it is there. Without workers, a unit that is idle does jobs first: those
    /// before it, and this one.
    ///
    /// # Errors
    ///
    /// As [`wait`](Self::wait).
    ///
    /// # Panics
    ///
    /// If the answer was taken.
    pub fn try_take(&mut self) -> Option<Result<Answer<J>, Error<J::Refusal>>> {
        self.poll_with(None)
    }

    /// The answer, if it is there, for one thread that has many tickets, comes back to each often,
    /// and must not sleep, as the loop of a server does: it leads batches on the spot once there is
    /// reason to, but waits for nobody.
    ///
    /// # Errors
    ///
    /// As [`wait`](Self::wait).
    ///
    /// # Panics
    ///
    /// If the answer was taken.
    pub fn try_take_or_run(
        &mut self,
        patience: RunBatch,
    ) -> Option<Result<Answer<J>, Error<J::Refusal>>> {
        if let Err(error) = self.shared.check_process() {
            return Some(Err(error));
        }
        let (shared, slot) = (&self.shared, self.slot());
        let mut state = shared.lock();
        while state.schedule.is_queued(slot) && state.is_time_to_lead(patience) {
            let Some(unit_slot) = state.idle.pop() else {
                break;
            };
            state = shared.lead_at_once(state, unit_slot);
        }
        let taken = state.schedule.claim(slot);
        drop(shared.wake_next(state));
        taken.map(|taken| self.answer(taken))
    }

    fn poll_with(&mut self, waker: Option<&Waker>) -> Option<Result<Answer<J>, Error<J::Refusal>>> {
        let (shared, slot) = (&self.shared, self.slot());
        let has_workers = match shared.check_process().and_then(|()| worker::start(shared)) {
            Ok(has_workers) => has_workers,
            Err(error) => return Some(Err(error)),
        };
        let mut waker = waker.cloned();
        let mut state = shared.lock();
        while !has_workers && state.schedule.is_queued(slot) {
            let Some(unit_slot) = state.idle.pop() else {
                break;
            };
            state = shared.lead(state, unit_slot);
        }
        let taken = state.schedule.claim(slot);
        let mut owner = Owner::Nobody;
        if let (None, Some(waker)) = (&taken, waker.take()) {
            // One that is there may be another task's. It is a stranger's, and may hold tickets: it
            // goes outside of the lock.
            owner = core::mem::replace(state.schedule.owner(slot), Owner::Task(waker));
        }
        drop(shared.wake_next(state));
        drop(owner);
        taken.map(|taken| self.answer(taken))
    }

    fn slot(&self) -> usize {
        self.slot.expect("an answer is taken once")
    }

    /// The answer of the request that was taken.
    fn answer(&mut self, (request, end): Taken<J>) -> Result<Answer<J>, Error<J::Refusal>> {
        let slot = self.slot.take().expect("an answer is taken once");
        let held = SlotGuard::new(Arc::clone(&self.shared), slot, request);
        end.map(|()| Answer { held })
    }
}

impl<J: Job> Future for Ticket<J> {
    type Output = Result<Answer<J>, Error<J::Refusal>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.poll_with(Some(context.waker())) {
            Some(end) => Poll::Ready(end),
            None => Poll::Pending,
        }
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
        let owner = core::mem::replace(state.schedule.owner(slot), Owner::Gone);
        let request = state.schedule.abandon(slot);
        if !is_late {
            state.stats.cancelled += 1;
        }
        drop(state);
        drop(owner); // a stranger's waker: outside of the lock
        if let Some(request) = request {
            drop(SlotGuard::new(Arc::clone(&self.shared), slot, request)); // wiped outside of the lock
        }
    }
}
