//! Notices of problems that a running server detects, for a person to read.

use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};
use std::io::{self, Write as _};
use std::sync::Arc;

/// A problem of a running server. Each kind is reported once; counters tell how often it occurred.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// A worker has reached its limit of open connections; clients wait in the kernel's queue.
    ConnectionsMax {
        /// The limit of one worker.
        connections_max: usize,
    },
    /// No file descriptors are left for new connections; accepting pauses and is retried.
    Descriptors,
    /// Access-log lines could not be written.
    LogFailed {
        /// The system's error.
        why: String,
    },
    /// The access log's writer is too slow; lines were lost. The log contains their number.
    LogLost,
    /// The configured engine did fewer private-key operations than there were full handshakes, so
    /// another provider signed.
    SilentFallback {
        /// The number of full handshakes of this server.
        full_handshakes: u64,
        /// The number of private-key operations of the engine since the server started.
        private_operations: u64,
    },
    /// A worker panicked: its connections are lost, and the log lacks their end.
    WorkerLost {
        /// The worker's number, from zero.
        worker: usize,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ConnectionsMax { connections_max } => write!(
                f,
                "a worker has {connections_max} connections open and takes no more until one \
                 closes: raise `connections_max` or add workers"
            ),
            Self::Descriptors => f.write_str(
                "no file descriptors are left, so new connections wait: raise the limit (`ulimit -n`)",
            ),
            Self::LogFailed { why } => write!(
                f,
                "access-log lines could not be written ({why}) and are counted as lost: free disk \
                 space"
            ),
            Self::LogLost => f.write_str(
                "the access log is too slow, and lines were lost: write it to a faster disk; \
                 measurements that rely on this log are invalid",
            ),
            Self::SilentFallback { full_handshakes, private_operations } => write!(
                f,
                "{full_handshakes} full handshakes but {private_operations} private-key operations \
                 of the configured engine: another provider signed; do not trust this run"
            ),
            Self::WorkerLost { worker } => write!(
                f,
                "worker {worker} panicked and has stopped: report this defect, and restart the \
                 server"
            ),
        }
    }
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
    notify: Notify,
    sent: [AtomicBool; 6],
}

impl Notices {
    pub(crate) fn new(notify: Notify) -> Self {
        Self { notify, sent: Default::default() }
    }

    pub(crate) fn notify(&self, notice: &Notice) {
        let kind = match notice {
            Notice::ConnectionsMax { .. } => 0,
            Notice::Descriptors => 1,
            Notice::LogFailed { .. } => 2,
            Notice::LogLost => 3,
            Notice::SilentFallback { .. } => 4,
            Notice::WorkerLost { .. } => 5,
        };
        if !self.sent[kind].swap(true, Ordering::Relaxed) {
            (self.notify.0)(notice);
        }
    }
}
