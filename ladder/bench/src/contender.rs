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
