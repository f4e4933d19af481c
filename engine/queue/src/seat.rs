//! A unit and its batch: what it may do with requests, and what comes of it if it does more.

use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::panic::catch_unwind;

use super::state::Told;
use crate::event::Cause;
use crate::job::{Class, Job};
use crate::schedule::Batch;
use crate::unit::{Unit, width};

/// A unit and the room for its batch.
pub(crate) struct Seat<J: Job> {
    pub(crate) unit: Box<dyn Unit<J>>,
    pub(crate) batch: Batch<J>,
    /// Of its last batch, unless it had one request.
    pub(crate) company: Option<Company>,
    pub(crate) told: Told<J>,
}

/// A batch of more than one request: those whom it served may come again.
pub(crate) struct Company {
    pub(crate) requests: usize,
    pub(crate) room: usize,
    pub(crate) service: Duration,
}

/// What a batch says about its unit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is in order.
    Sound,
    /// It is, by its self test: requests failed that failed elsewhere before. So the units that
    /// they failed on deserve a test too.
    Acquitted,
    /// It is to be taken out.
    Condemned(Cause),
}

impl Verdict {
    pub(crate) const fn cause(self) -> Option<Cause> {
        match self {
            Self::Condemned(cause) => Some(cause),
            Self::Sound | Self::Acquitted => None,
        }
    }
}

impl<J: Job> Seat<J> {
    pub(crate) fn new(unit: Box<dyn Unit<J>>, room: usize) -> Self {
        let (batch, told) = (Batch::with_room(room), Told::with_room(room));
        Self { unit, batch, company: None, told }
    }

    pub(crate) fn passes(&mut self) -> bool {
        catch_unwind(AssertUnwindSafe(|| self.unit.self_test().is_ok())).unwrap_or(false)
    }

    /// How many requests of a class its batch takes.
    pub(crate) fn room(&self, class: Class) -> usize {
        width(&*self.unit, class).clamp(1, self.batch.places.capacity())
    }

    pub(crate) fn name(&self) -> String {
        self.unit.name().to_owned()
    }

    /// Runs the batch. What failed keeps no result.
    pub(crate) fn run(&mut self) -> Verdict {
        let requests = &mut self.batch.requests;
        let panicked = catch_unwind(AssertUnwindSafe(|| self.unit.run(requests))).is_err();
        let exchanged = self.batch.put_in_order();
        if panicked {
            return Verdict::Condemned(Cause::Panic);
        }
        if exchanged {
            for request in &mut self.batch.requests {
                request.fault();
                request.job.clear_result();
            }
            return Verdict::Condemned(Cause::Exchange);
        }
        let faults = || self.batch.requests.iter().filter(|request| request.is_fault());
        if faults().next().is_none() {
            return Verdict::Sound;
        }
        let were_retries = faults().all(|request| request.is_retry);
        for request in self.batch.requests.iter_mut().filter(|request| request.is_fault()) {
            request.job.clear_result();
        }
        // What failed on two units is itself to blame, if this one passes its test.
        if were_retries && self.passes() {
            return Verdict::Acquitted;
        }
        Verdict::Condemned(Cause::Check)
    }
}
