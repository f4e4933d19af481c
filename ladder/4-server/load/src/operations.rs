//! Operations with a server's key, as its engine counts them.

/// The operations of a server's engine so far; no number decreases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operations {
    /// The number of operations.
    pub operations: u64,
    /// The number of runs: batches, and operations that ran alone.
    pub runs: u64,
}

/// Reads the operations of a server so far.
pub type OperationsMeter<'a> = dyn FnMut() -> Operations + 'a;

impl Operations {
    /// Returns the operations between two readings; `None` if one is missing.
    pub(crate) fn between(readings: &[Self]) -> Option<Self> {
        let [before, after] = readings else { return None };
        let operations = after.operations.checked_sub(before.operations)?;
        Some(Self { operations, runs: after.runs.checked_sub(before.runs)? })
    }

    /// Returns the mean number of operations in a run; `None` without runs.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "counts of a run are far below 2^52")]
    pub fn per_run(self) -> Option<f64> {
        (self.runs > 0).then(|| self.operations as f64 / self.runs as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_needs_two_readings_and_a_run() {
        let at = |operations, runs| Operations { operations, runs };
        let mean = |readings: &[Operations]| Operations::between(readings)?.per_run();
        assert_eq!(mean(&[at(10, 10), at(30, 14)]), Some(5.0));
        assert_eq!(mean(&[at(10, 10)]), None);
        assert_eq!(mean(&[at(10, 10), at(10, 10)]), None);
        assert_eq!(mean(&[at(10, 10), at(9, 10)]), None);
    }
}
