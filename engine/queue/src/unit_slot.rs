//! A unit and its batch: what it may do with requests, and what comes of it if it does more.

use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::panic::catch_unwind;

use super::state::Notifications;
use crate::event::Cause;
use crate::job::{Class, Job};
use crate::schedule::Batch;
use crate::unit::{Unit, width};

/// A unit and the room for its batch.
pub(crate) struct UnitSlot<J: Job> {
    pub(crate) unit: Box<dyn Unit<J>>,
    pub(crate) batch: Batch<J>,
    /// Of its last batch, unless it had one request.
    pub(crate) last_batch: Option<LastBatch>,
    pub(crate) notifications: Notifications<J>,
}

/// A batch of more than one request: those whom it served may come again.
pub(crate) struct LastBatch {
    pub(crate) requests: usize,
    pub(crate) room: usize,
    pub(crate) service: Duration,
}

/// What a batch says about its unit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnitHealth {
    /// It is in order.
    Good,
    /// It is, by its self test: requests failed that failed elsewhere before. So the units that
    /// they failed on deserve a test too.
    Cleared,
    /// It is to be taken out.
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

    /// How many requests of a class its batch takes.
    pub(crate) fn room(&self, class: Class) -> usize {
        width(&*self.unit, class).clamp(1, self.batch.slots.capacity())
    }

    pub(crate) fn name(&self) -> String {
        self.unit.name().to_owned()
    }

    /// Runs the batch. What failed keeps no result.
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
        // What failed on two units is itself to blame, if this one passes its test.
        if were_retries && self.passes() {
            return UnitHealth::Cleared;
        }
        UnitHealth::Faulty(Cause::Check)
    }
}
