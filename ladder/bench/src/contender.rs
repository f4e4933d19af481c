//! A contender: a piece of code that is measured, with a check of its result.

use core::fmt;

/// A piece of code that is measured, and that checks its result.
pub struct Contender<'a> {
    pub(crate) name: String,
    pub(crate) operations_per_run: u32,
    pub(crate) run: Box<dyn FnMut() -> Result<(), Wrong> + 'a>,
}

/// A result was wrong, so the measurement is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Wrong {
    what: String,
}

impl Wrong {
    /// Describes the wrong result in a few words.
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into() }
    }
}

impl<'a> Contender<'a> {
    /// Creates a contender. `run` runs `operations_per_run` operations (8 for a batch of eight; 0
    /// counts as 1) and checks them. All figures are per operation.
    pub fn new(
        name: impl Into<String>,
        operations_per_run: u32,
        run: impl FnMut() -> Result<(), Wrong> + 'a,
    ) -> Self {
        let operations_per_run = operations_per_run.max(1);
        Self { name: name.into(), operations_per_run, run: Box::new(run) }
    }

    /// Returns the same contender with `times` runs in each run (0 counts as 1), so that each
    /// sample includes an expense of only some runs.
    #[must_use]
    pub fn repeated(self, times: u32) -> Self {
        let times = times.max(1);
        let (operations, mut run) = (self.operations_per_run * times, self.run);
        Self::new(self.name, operations, move || (0..times).try_for_each(|_| run()))
    }

    /// Returns the contender's name in errors and warnings.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Debug for Contender<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Contender")
            .field("name", &self.name)
            .field("operations_per_run", &self.operations_per_run)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_run_ends_at_the_first_wrong_result() {
        let mut count = 0;
        let run = || {
            count += 1;
            if count < 6 { Ok(()) } else { Err(Wrong::new("the sixth")) }
        };
        let mut contender = Contender::new("counts", 2, run).repeated(4);
        assert_eq!(contender.operations_per_run, 8);
        assert!((contender.run)().is_ok());
        assert!((contender.run)().is_err());
        drop(contender);
        assert_eq!(count, 6);
    }
}
