//! Errors of the crate.

use core::fmt;
use std::io;

/// The reason why there was no run, in one line.
#[derive(Debug)]
pub enum Error {
    /// The client cannot run the plan; the text names the flag to change.
    Cannot(String),
    /// The load generator's own error.
    Load(tollgate_load::Error),
    /// A system call failed.
    Io {
        /// The action that failed.
        what: &'static str,
        /// The system's error.
        error: io::Error,
    },
    /// The caller stopped the run.
    Stopped,
}

impl Error {
    pub(crate) fn io(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Io { what, error }
    }
}

impl From<tollgate_load::Error> for Error {
    fn from(error: tollgate_load::Error) -> Self {
        match error {
            tollgate_load::Error::Stopped => Self::Stopped,
            other => Self::Load(other),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cannot(why) => f.write_str(why),
            Self::Load(error) => error.fmt(f),
            Self::Io { what, error } => write!(f, "cannot {what}: {error}"),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

impl core::error::Error for Error {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Load(error) => Some(error),
            Self::Io { error, .. } => Some(error),
            Self::Cannot(_) | Self::Stopped => None,
        }
    }
}
