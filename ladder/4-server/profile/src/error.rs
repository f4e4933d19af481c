//! Errors of profiling; each is one line that says what to do.

use core::fmt;
use std::io;

/// The reason why there is no profile.
#[derive(Debug)]
pub enum Error {
    /// `perf` ended with an error.
    Failed {
        /// The last line that it wrote.
        said: String,
    },
    /// A system call on a file or process failed.
    Io {
        /// The action.
        what: &'static str,
        /// The cause.
        error: io::Error,
    },
    /// `perf` is not installed.
    Missing,
    /// The kernel does not let this user sample.
    NotPermitted,
    /// The output of `perf script` has a line of unknown format.
    UnknownFormat {
        /// The line.
        line: String,
    },
}

impl Error {
    pub(crate) fn io(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Io { what, error }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { said } => write!(f, "perf failed: {said}"),
            Self::Io { what, error } => write!(f, "{what}: {error}"),
            Self::Missing => {
                f.write_str("perf is not installed; on Debian run: apt-get install linux-perf")
            }
            Self::NotPermitted => f.write_str(
                "the kernel does not let this user sample: run as root, or run: sysctl \
                 kernel.perf_event_paranoid=1",
            ),
            Self::UnknownFormat { line } => {
                write!(f, "perf script printed a line of unknown format: {line}; update perf")
            }
        }
    }
}

impl core::error::Error for Error {}
