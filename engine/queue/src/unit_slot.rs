//! A unit with its batch: runs the unit and checks what it did to the requests.

use core::panic::AssertUnwindSafe;
use core::task::Waker;
use core::time::Duration;
use std::panic::catch_unwind;

use crate::event::Cause;
use crate::job::{Class, Job, Request};
use crate::schedule::{Batch, End};
use crate::unit::Unit;

/// A unit and the buffers of its batch.
pub(crate) struct UnitSlot<J: Job> {
    pub(crate) unit: Box<dyn Unit<J>>,
    pub(crate) batch: Batch<J>,
    /// The last batch, if it had more than one request.
    pub(crate) last_batch: Option<LastBatch>,
    pub(crate) notifications: Notifications<J>,
}

/// A batch of more than one request; their callers may soon submit again.
pub(crate) struct LastBatch {
    pub(crate) requests: usize,
    pub(crate) room: usize,
    pub(crate) service: Duration,
}

/// The state of a unit after a batch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnitHealth {
    /// The unit works.
    Good,
    /// The unit passed its self test, and every request that failed had failed on another unit
    /// before. So the units on which they failed first are tested again.
    Cleared,
    /// The unit is to be quarantined.
    Faulty(Cause),
}

impl UnitHealth {
    pub(crate) const fn cause(self) -> Option<Cause> {
        match self {
            Self::Faulty(cause) => Some(cause),
            Self::Good | Self::Cleared => None,
        }
    }
}

impl<J: Job> UnitSlot<J> {
    pub(crate) fn new(unit: Box<dyn Unit<J>>, room: usize) -> Self {
        let (batch, notifications) = (Batch::with_room(room), Notifications::with_room(room));
        Self { unit, batch, last_batch: None, notifications }
    }

    pub(crate) fn passes(&mut self) -> bool {
        catch_unwind(AssertUnwindSafe(|| self.unit.self_test().is_ok())).unwrap_or(false)
    }

    /// Returns the maximum number of requests of a class in a batch: the unit's width, or 1 if
    /// `width` panics, because this is called under the queue's lock.
    pub(crate) fn room(&self, class: Class) -> usize {
        let width = catch_unwind(AssertUnwindSafe(|| self.unit.width(class))).unwrap_or(1);
        width.clamp(1, self.batch.slots.capacity())
    }

    pub(crate) fn name(&self) -> String {
        self.unit.name().to_owned()
    }

    /// Runs the batch and deletes the results of failed requests.
    pub(crate) fn run(&mut self) -> UnitHealth {
        let requests = &mut self.batch.requests;
        let panicked = catch_unwind(AssertUnwindSafe(|| self.unit.run(requests))).is_err();
        let exchanged = self.batch.put_in_order();
        if panicked {
            return UnitHealth::Faulty(Cause::Panic);
        }
        if exchanged {
            for request in &mut self.batch.requests {
                request.fault();
                request.job.clear_result();
            }
            return UnitHealth::Faulty(Cause::Exchange);
        }
        let faults = || self.batch.requests.iter().filter(|request| request.is_fault());
        if faults().next().is_none() {
            return UnitHealth::Good;
        }
        let were_retries = faults().all(|request| request.is_retry);
        for request in self.batch.requests.iter_mut().filter(|request| request.is_fault()) {
            request.job.clear_result();
        }
        // The request itself is the cause if it failed on two units and this one passes its test.
        if were_retries && self.passes() {
            return UnitHealth::Cleared;
        }
        UnitHealth::Faulty(Cause::Check)
    }
}

/// Owners of ended requests, to be notified outside the lock.
pub(crate) struct Notifications<J: Job> {
    /// Slots whose threads sleep.
    pub(crate) threads: Vec<usize>,
    pub(crate) tasks: Vec<Waker>,
    /// Abandoned requests, to be wiped and freed.
    pub(crate) abandoned: Vec<(usize, Box<Request<J>>, End<J>)>,
}

impl<J: Job> Notifications<J> {
    pub(crate) fn with_room(room: usize) -> Self {
        let (threads, tasks) = (Vec::with_capacity(room), Vec::with_capacity(room));
        Self { threads, tasks, abandoned: Vec::with_capacity(room) }
    }
}
