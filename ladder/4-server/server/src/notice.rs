//! Notices of problems that a running server detects, for a person to read.

use core::fmt;
use core::mem::{Discriminant, discriminant};
use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use thiserror::Error;

/// A problem of a running server. Each kind is reported once; counters tell how often it occurred.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Notice {
    /// A worker has reached its limit of open connections; clients wait in the kernel's queue.
    #[error(
        "a worker has {0} connections open and takes no more until one closes: raise \
         `connections_max` or add workers"
    )]
    ConnectionsMax(usize),
    /// No file descriptors are left for new connections; accepting pauses and is retried.
    #[error("no file descriptors are left, so new connections wait: raise the limit (`ulimit -n`)")]
    Descriptors,
    /// Access-log lines could not be written, because of this error.
    #[error("access-log lines could not be written ({0}) and are counted as lost: free disk space")]
    LogFailed(String),
    /// The access log's writer is too slow; lines were lost. The log contains their number.
    #[error(
        "the access log is too slow, and lines were lost: write it to a faster disk; measurements \
         that rely on this log are invalid"
    )]
    LogLost,
    /// The configured engine did fewer private-key operations than there were full handshakes, so
    /// another provider signed.
    #[error(
        "{full_handshakes} full handshakes but {private_operations} private-key operations of the \
         configured engine: another provider signed; do not trust this run"
    )]
    SilentFallback {
        /// The number of full handshakes of this server.
        full_handshakes: u64,
        /// The number of private-key operations of the engine since the server started.
        private_operations: u64,
    },
    /// The worker with this number, from zero, panicked: its connections are lost, and the log lacks
    /// their end.
    #[error("worker {0} panicked and has stopped: report this defect, and restart the server")]
    WorkerLost(usize),
}

/// Receives notices.
#[derive(Clone)]
pub struct Notify(Arc<dyn Fn(&Notice) + Send + Sync>);

impl Notify {
    /// Calls `to` on the thread that detects the problem; it should return quickly and not panic.
    pub fn new(to: impl Fn(&Notice) + Send + Sync + 'static) -> Self {
        Self(Arc::new(to))
    }
}

/// Prints a line on standard error for each notice.
impl Default for Notify {
    fn default() -> Self {
        Self::new(|notice| {
            // Fails if standard error is closed.
            let _ = writeln!(io::stderr(), "tollgate serve: {notice}");
        })
    }
}

impl fmt::Debug for Notify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Notify")
    }
}

/// Reports each kind of notice once.
#[derive(Debug)]
pub(crate) struct Notices {
    to: Notify,
    sent: Mutex<Vec<Discriminant<Notice>>>,
}

impl Notices {
    pub(crate) const fn new(to: Notify) -> Self {
        Self { to, sent: Mutex::new(Vec::new()) }
    }

    pub(crate) fn notify(&self, notice: &Notice) {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        if !sent.contains(&discriminant(notice)) {
            sent.push(discriminant(notice));
            drop(sent);
            (self.to.0)(notice);
        }
    }
}
