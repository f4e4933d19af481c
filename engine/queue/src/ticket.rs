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

/// A place whose request is out: with a caller who fills or reads it. Dropped, it is wiped and the
/// place is free.
pub(crate) struct Held<J: Job> {
    shared: Arc<Shared<J>>,
    pub(crate) place: usize,
    request: Option<Box<Request<J>>>,
}

/// A request in the engine. Wait for it, poll it, or await it; dropped, it is cancelled: it leaves
/// the line, or its result is wiped when it comes.
///
/// As a future in an engine without workers it does jobs in `poll`, its own and those before it,
/// while a unit is idle; and each future in line is woken whenever one falls idle. For many futures
/// give the engine workers: then `poll` does nothing but look.
#[must_use = "a ticket that is dropped cancels its request"]
pub struct Ticket<J: Job> {
    shared: Arc<Shared<J>>,
    /// Until its answer is taken.
    place: Option<usize>,
}

/// What a thread that has many tickets leads for; see [`Ticket::try_take_patiently`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// A batch of more than one that has no room for more.
    Full,
    /// One that is as large as those before it, or has waited long enough:
    /// [`linger_us_max`](crate::Config::linger_us_max).
    Due,
    /// Any.
    None,
}

/// A job that was done, to be read. Dropped, it is wiped.
pub struct Answer<J: Job> {
    held: Held<J>,
}

impl<J: Job> Held<J> {
    pub(crate) fn new(shared: Arc<Shared<J>>, place: usize, request: Box<Request<J>>) -> Self {
        Self { shared, place, request: Some(request) }
    }

    pub(crate) fn request_mut(&mut self) -> &mut Request<J> {
        self.request.as_mut().expect("it is held until it is let go")
    }

    /// The request, which goes back to its place in another way.
    pub(crate) fn let_go(&mut self) -> Box<Request<J>> {
        self.request.take().expect("it is let go once")
    }
}

impl<J: Job> Drop for Held<J> {
    fn drop(&mut self) {
        let Some(mut request) = self.request.take() else {
            return;
        };
        request.wipe();
        if self.shared.is_home() {
            self.shared.lock().schedule.release(self.place, request);
        }
    }
}

impl<J: Job> fmt::Debug for Ticket<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("place", &self.place).finish_non_exhaustive()
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
    pub(crate) fn new(shared: Arc<Shared<J>>, place: usize) -> Self {
        Self { shared, place: Some(place) }
    }

    /// Waits for the answer; leads while nobody else does.
    ///
    /// # Errors
    ///
    /// How the request ended: [`Error::Rejected`], [`Error::Fault`], [`Error::NoUnit`],
    /// [`Error::ShutDown`], [`Error::UnitPanicked`]; [`Error::Forked`].
    pub fn wait(self) -> Result<Answer<J>, Error<J::Refusal>> {
        self.shared.check_process()?;
        self.wait_at_home()
    }

    /// [`wait`](Self::wait) in the process that has just submitted it.
    pub(crate) fn wait_at_home(mut self) -> Result<Answer<J>, Error<J::Refusal>> {
        let taken = self.shared.wait(self.place(), None);
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
        let taken = self.shared.wait(self.place(), Some(deadline))?;
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
    pub fn try_take_patiently(
        &mut self,
        patience: Patience,
    ) -> Option<Result<Answer<J>, Error<J::Refusal>>> {
        if let Err(error) = self.shared.check_process() {
            return Some(Err(error));
        }
        let (shared, place) = (&self.shared, self.place());
        let mut state = shared.lock();
        while state.schedule.is_queued(place) && state.is_time_to_lead(patience) {
            let Some(seat) = state.idle.pop() else {
                break;
            };
            state = shared.lead_at_once(state, seat);
        }
        let taken = state.schedule.claim(place);
        drop(shared.hand_on(state));
        taken.map(|taken| self.answer(taken))
    }

    fn poll_with(&mut self, waker: Option<&Waker>) -> Option<Result<Answer<J>, Error<J::Refusal>>> {
        let (shared, place) = (&self.shared, self.place());
        let has_workers = match shared.check_process().and_then(|()| worker::start(shared)) {
            Ok(has_workers) => has_workers,
            Err(error) => return Some(Err(error)),
        };
        let mut waker = waker.cloned();
        let mut state = shared.lock();
        while !has_workers && state.schedule.is_queued(place) {
            let Some(seat) = state.idle.pop() else {
                break;
            };
            state = shared.lead(state, seat);
        }
        let taken = state.schedule.claim(place);
        let mut owner = Owner::Nobody;
        if let (None, Some(waker)) = (&taken, waker.take()) {
            // One that is there may be another task's. It is a stranger's, and may hold tickets: it
            // goes outside of the lock.
            owner = core::mem::replace(state.schedule.owner(place), Owner::Task(waker));
        }
        drop(shared.hand_on(state));
        drop(owner);
        taken.map(|taken| self.answer(taken))
    }

    fn place(&self) -> usize {
        self.place.expect("an answer is taken once")
    }

    /// The answer of the request that was taken.
    fn answer(&mut self, (request, end): Taken<J>) -> Result<Answer<J>, Error<J::Refusal>> {
        let place = self.place.take().expect("an answer is taken once");
        let held = Held::new(Arc::clone(&self.shared), place, request);
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
        let Some(place) = self.place else {
            return;
        };
        if !self.shared.is_home() {
            return;
        }
        let mut state = self.shared.lock();
        let is_late = state.schedule.is_done(place);
        let owner = core::mem::replace(state.schedule.owner(place), Owner::Gone);
        let request = state.schedule.abandon(place);
        if !is_late {
            state.stats.cancelled += 1;
        }
        drop(state);
        drop(owner); // a stranger's waker: outside of the lock
        if let Some(request) = request {
            drop(Held::new(Arc::clone(&self.shared), place, request)); // wiped outside of the lock
        }
    }
}
