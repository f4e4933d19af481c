//! One of the things that are compared.

use core::fmt;

/// Something to measure: a name, and a closure that does the work once and checks its result.
pub struct Contender<'a> {
    name: String,
    operations_per_run: u64,
    run: Box<dyn FnMut() -> Result<(), Wrong> + 'a>,
}

impl<'a> Contender<'a> {
    /// A contender of which one `run` executes `operations_per_run` operations (8 for a batch of
    /// eight). `run` answers with [`Wrong`] if its result is not what it must be; the check counts
    /// as part of the run, so keep it cheap beside the work.
    ///
    /// # Panics
    ///
    /// `operations_per_run` is 0.
    pub fn new(
        name: impl Into<String>,
        operations_per_run: u64,
        run: impl FnMut() -> Result<(), Wrong> + 'a,
    ) -> Self {
        assert!(operations_per_run > 0, "a run without operations has no cost per operation");
        Self { name: name.into(), operations_per_run, run: Box::new(run) }
    }

    /// The name, as in reports and errors.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Operations per run, at least 1.
    #[must_use]
    pub const fn operations_per_run(&self) -> u64 {
        self.operations_per_run
    }

    /// Runs `runs` times, or until a result is wrong.
    pub(crate) fn repeat(&mut self, runs: u64) -> Result<(), Wrong> {
        (0..runs).try_for_each(|_| (self.run)())
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

/// A result that is not what it must be: what is measured is broken, and its speed means nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// What is wrong with the result.
    pub message: String,
}

impl Wrong {
    /// A wrong result, in words.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for Wrong {}
