//! Remarks of a running server, for a person to read: what it could not do and did not hide.

use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};
use std::io::{self, Write as _};
use std::sync::Arc;

/// Something that a running server says aloud. Each kind is said once; counters tell how often.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// A worker has as many connections open as it may; clients wait in the kernel's queue.
    ConnectionsMax {
        /// The bound, per worker.
        connections_max: usize,
    },
    /// No file descriptors are left for new connections; accepting pauses and is tried again.
    Descriptors,
    /// Access-log lines could not be written.
    LogFailed {
        /// The system's words.
        why: String,
    },
    /// The access log's writer is too slow; lines were thrown away. They are counted, and the log
    /// itself says how many.
    LogLost,
    /// The engine asked for did fewer private-key operations than there were full handshakes:
    /// another provider signed.
    SilentFallback {
        /// Full handshakes of this server.
        full_handshakes: u64,
        /// Private-key operations of the engine since the server started.
        private_operations: u64,
    },
    /// A worker panicked: its connections are gone, and the log lacks what became of them.
    WorkerLost {
        /// Its number, from zero.
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
                "no file descriptors left: new connections wait; raise the limit (`ulimit -n`)",
            ),
            Self::LogFailed { why } => write!(
                f,
                "access-log lines could not be written ({why}): make room; they are counted as lost"
            ),
            Self::LogLost => f.write_str(
                "the access log cannot keep up and lost lines, which are counted: \
                 write it to a faster place; a run refereed by this log is invalid",
            ),
            Self::SilentFallback { full_handshakes, private_operations } => write!(
                f,
                "{full_handshakes} full handshakes but {private_operations} private-key operations \
                 of the engine asked for: another provider signed; do not trust this run"
            ),
            Self::WorkerLost { worker } => write!(
                f,
                "worker {worker} panicked and serves no more: please report it, and start the \
                 server again"
            ),
        }
    }
}

/// Where notices go.
#[derive(Clone)]
pub struct Notify(Arc<dyn Fn(&Notice) + Send + Sync>);

impl Notify {
    /// Calls `to` from whichever thread has something to say; it should return quickly, and not
    /// panic.
    pub fn new(to: impl Fn(&Notice) + Send + Sync + 'static) -> Self {
        Self(Arc::new(to))
    }
}

/// One line on standard error each.
impl Default for Notify {
    fn default() -> Self {
        Self::new(|notice| {
            // Nobody is left to tell when standard error is closed.
            let _ = writeln!(io::stderr(), "tollgate serve: {notice}");
        })
    }
}

impl fmt::Debug for Notify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Notify")
    }
}

/// Says each kind of notice once.
#[derive(Debug)]
pub(crate) struct Notices {
    notify: Notify,
    said: [AtomicBool; 6],
}

impl Notices {
    pub(crate) fn new(notify: Notify) -> Self {
        Self { notify, said: Default::default() }
    }

    pub(crate) fn say(&self, notice: &Notice) {
        let kind = match notice {
            Notice::ConnectionsMax { .. } => 0,
            Notice::Descriptors => 1,
            Notice::LogFailed { .. } => 2,
            Notice::LogLost => 3,
            Notice::SilentFallback { .. } => 4,
            Notice::WorkerLost { .. } => 5,
        };
        if !self.said[kind].swap(true, Ordering::Relaxed) {
            (self.notify.0)(notice);
        }
    }
}
