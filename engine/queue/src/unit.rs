//! Units: implementations that run jobs.

use core::fmt;

use crate::job::{Class, Job, Request};

/// Runs jobs, several of one class at once: the lanes of a processor, a graphics card, another
/// machine. Only one thread at a time uses a unit.
///
/// `docs/own-unit.md` shows how to write one.
pub trait Unit<J: Job>: Send {
    /// Returns the display name, such as `lanes 0`.
    fn name(&self) -> &str;

    /// Returns the maximum batch size for this class, at least 1. In a batch of this size, a job
    /// must cost no more than alone.
    fn width(&self, class: Class) -> usize;

    /// Runs the jobs, all of one class and at most [`width`](Self::width) of them, and sets the
    /// outcome of each. A request without outcome counts as a fault.
    ///
    /// The implementation must not move requests or jobs between boxes; a unit that does is
    /// quarantined for good.
    ///
    /// A job that faults must keep its input: another unit runs it again. A unit that panics is
    /// quarantined for good.
    fn run(&mut self, batch: &mut [Box<Request<J>>]);

    /// Tests known answers, in every form of operation that this unit has.
    ///
    /// # Errors
    ///
    /// An answer was wrong; the unit must not be used.
    fn self_test(&mut self) -> Result<(), SelfTestFailed>;
}

/// A unit's self test failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelfTestFailed {
    /// The failed test, for people.
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
