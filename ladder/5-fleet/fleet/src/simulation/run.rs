//! The result of a simulated run.

use super::core::Serving;
use crate::demand::as_f64;

/// The result of a simulated run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// The response time of each session in nanoseconds, in the order of the arrivals.
    pub responses: Vec<f64>,
    pub(super) busy_ns: f64,
    pub(super) wakes: u64,
    pub(super) operations: u64,
    pub(super) batches: u64,
}

impl Run {
    /// Returns the CPU time of a session in nanoseconds, with the time to wake up and the work of
    /// turns; `None` without sessions.
    #[must_use]
    pub fn cpu_ns_per_session(&self) -> Option<f64> {
        (!self.responses.is_empty()).then(|| self.busy_ns / as_f64(self.responses.len() as u64))
    }

    /// Returns the number of times that a core of the server woke up for a session; `None` without
    /// sessions.
    #[must_use]
    pub fn wakes_per_session(&self) -> Option<f64> {
        let sessions = self.responses.len() as u64;
        (sessions > 0).then(|| as_f64(self.wakes) / as_f64(sessions))
    }

    /// Adds what the cores did.
    pub(super) fn add<'a>(&mut self, cores: impl IntoIterator<Item = Serving<'a>>) {
        for core in cores {
            self.busy_ns += core.busy_ns;
            self.wakes += core.wakes;
        }
    }

    /// Returns the mean number of operations in a batch; `None` without operations.
    #[must_use]
    pub fn operations_per_batch(&self) -> Option<f64> {
        (self.batches > 0).then(|| as_f64(self.operations) / as_f64(self.batches))
    }
}
