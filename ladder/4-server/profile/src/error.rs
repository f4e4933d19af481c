//! Errors of profiling; each is one line that says what to do.

use std::io;

/// The reason why there is no profile.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// `perf` ended with an error.
    #[error("perf failed: {said}")]
    Failed {
        /// The last line that it wrote.
        said: String,
    },
    /// A system call on a file or process failed.
    #[error("{what}: {error}")]
    Io {
        /// The action.
        what: &'static str,
        /// The cause.
        error: io::Error,
    },
    /// `perf` is not installed.
    #[error("perf is not installed; on Debian run: apt-get install linux-perf")]
    Missing,
    /// The kernel does not let this user sample.
    #[error(
        "the kernel does not let this user sample: run as root, or run: sysctl \
         kernel.perf_event_paranoid=1"
    )]
    NotPermitted,
    /// The output of `perf script` has a line of unknown format.
    #[error("perf script printed a line of unknown format: {line}; update perf")]
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
