//! The end of a run that cannot go on.

use core::fmt;
use std::process::ExitCode;

use crate::output;

/// Why the program stops, in one line: what is wrong, where, and what to do. Exit code 2.
#[derive(Debug)]
pub(crate) struct Stop(String);

impl Stop {
    /// With this reason; line feeds become spaces.
    pub(crate) fn new(why: impl fmt::Display) -> Self {
        let lines = why.to_string();
        let words: Vec<&str> =
            lines.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        Self(words.join(" "))
    }

    /// With the message of an error.
    pub(crate) fn from_error(error: impl core::error::Error) -> Self {
        Self::new(error)
    }

    /// Says it on standard error.
    pub(crate) fn report(&self) -> ExitCode {
        output::say(&format!("tollgate: {self}"));
        ExitCode::from(2)
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for Stop {}
