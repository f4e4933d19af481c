//! What one thread of a client did, whichever client it is.

use core::time::Duration;

/// The count of a thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// Sessions whose body came whole.
    pub(crate) transactions: u64,
    /// Others.
    pub(crate) failed: u64,
    /// Why the first of them failed.
    pub(crate) first_failure: Option<String>,
    /// CPU time of the thread.
    pub(crate) cpu: Duration,
}

impl Tally {
    /// Counts one more.
    pub(crate) fn count(&mut self, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => self.transactions += 1,
            Err(why) => {
                self.failed += 1;
                self.first_failure.get_or_insert(why);
            }
        }
    }

    /// Adds those of another thread.
    pub(crate) fn add(&mut self, other: Self) {
        self.transactions += other.transactions;
        self.failed += other.failed;
        self.cpu += other.cpu;
        self.first_failure = self.first_failure.take().or(other.first_failure);
    }
}
