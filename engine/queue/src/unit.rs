//! What does jobs.

use core::fmt;
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use crate::job::{Class, Job, Request};

/// Something that does jobs, several of one class at once: lanes of a processor, a graphics card,
/// another machine. The queue gives it to one thread at a time.
///
/// `docs/own-unit.md` shows how to write one; [`judge`](crate::judge) says whether it is one.
pub trait Unit<J: Job>: Send {
    /// A name for people: `lanes 0`.
    fn name(&self) -> &str;

    /// How many jobs of this class one call takes without costing each of them more: at least 1.
    fn width(&self, class: Class) -> usize;

    /// Does the jobs, all of one class and at most as many as [`width`](Self::width) says, and
    /// leaves each with its outcome. One that has none afterwards counts as a fault.
    ///
    /// Boxes, requests and jobs stay where they are: a request that changed slots is no answer,
    /// and its unit does not come back.
    ///
    /// A job that faults keeps what was asked: it is done again elsewhere. A panic costs the unit
    /// its slot in the queue.
    fn run(&mut self, batch: &mut [Box<Request<J>>]);

    /// Known answers, in every form that this unit has.
    ///
    /// # Errors
    ///
    /// It gave another: it is not to be used.
    fn self_test(&mut self) -> Result<(), SelfTestFailed>;
}

/// Its width; 1 if it panics: that is asked under the queue's lock, where nothing may be left half
/// done.
pub(crate) fn width<J: Job>(unit: &dyn Unit<J>, class: Class) -> usize {
    catch_unwind(AssertUnwindSafe(|| unit.width(class))).unwrap_or(1)
}

/// A unit's self test failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelfTestFailed {
    /// What was tried, for people.
    pub what: &'static str,
}

impl core::error::Error for SelfTestFailed {}

impl fmt::Display for SelfTestFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "self test: {} did not give the known answer: test this machine's memory and processor",
            self.what
        )
    }
}
