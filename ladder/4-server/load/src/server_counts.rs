//! The counts that a server makes itself.

/// The counts of a server so far; no number decreases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerCounts {
    /// The number of operations with its key that its engine counted.
    pub operations: u64,
    /// The number of runs of these operations: batches, and operations that ran alone.
    pub runs: u64,
}

/// Reads the counts of a server so far.
pub type CountsMeter<'a> = dyn FnMut() -> ServerCounts + 'a;

impl ServerCounts {
    /// Returns the counts between two readings; `None` if one is missing.
    pub(crate) fn between(readings: &[Self]) -> Option<Self> {
        let [before, after] = readings else { return None };
        Some(Self {
            operations: after.operations.checked_sub(before.operations)?,
            runs: after.runs.checked_sub(before.runs)?,
        })
    }

    /// Returns the mean number of operations in a run of them; `None` without runs.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "counts of a run are far below 2^52")]
    pub fn operations_per_run(self) -> Option<f64> {
        (self.runs > 0).then(|| self.operations as f64 / self.runs as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_needs_two_readings_and_a_run() {
        let at = |operations, runs| ServerCounts { operations, runs };
        let between = |readings: &[ServerCounts]| ServerCounts::between(readings);
        let mean = |readings: &[ServerCounts]| between(readings)?.operations_per_run();
        assert_eq!(mean(&[at(10, 10), at(30, 14)]), Some(5.0));
        assert_eq!(mean(&[at(10, 10)]), None);
        assert_eq!(mean(&[at(10, 10), at(10, 10)]), None);
        assert_eq!(mean(&[at(10, 10), at(9, 10)]), None);
    }
}
