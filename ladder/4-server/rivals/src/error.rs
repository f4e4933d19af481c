//! Errors of the crate.

use std::io;

tollgate_load::messages! {
    /// The reason why there was no run, in one line. `Cannot` names the flag to change.
    #[derive(Debug)]
    Error {
        Cannot(why: String) => "{why}";
        Load(error: tollgate_load::Error) => "{error}";
        Io { what: &'static str, error: io::Error } => "cannot {what}: {error}";
        Stopped => "stopped";
    }
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

impl core::error::Error for Error {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Load(error) => Some(error),
            Self::Io { error, .. } => Some(error),
            Self::Cannot(_) | Self::Stopped => None,
        }
    }
}
