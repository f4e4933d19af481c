//! The result of a check.

use core::fmt;

/// A place in a file that breaks a rule, and how to correct it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    pub(crate) file: String,
    /// The line number, from 1.
    pub(crate) line: usize,
    pub(crate) what: String,
    pub(crate) remedy: String,
}

impl Finding {
    pub(crate) fn new(
        file: &str,
        line: usize,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { file: file.into(), line, what: what.into(), remedy: remedy.into() }
    }

    /// Returns a finding at the first line of a generated file that differs from what it should be.
    pub(crate) fn outdated(
        (file, text): (&str, &str),
        made: &str,
        what: String,
        remedy: &str,
    ) -> Option<Self> {
        let mut lines = text.lines().zip(made.lines());
        let line = lines.position(|(is, should)| is != should).map_or(1, |at| at + 1);
        (text != made).then(|| Self::new(file, line, what, remedy))
    }
}

/// Writes a line that an editor can follow.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, what, remedy } = self;
        write!(f, "{file}:{line}: {what}; {remedy}")
    }
}
