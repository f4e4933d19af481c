//! Notices of problems that a running server detects, for a person to read.

use core::fmt;
use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, Ordering};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

/// A problem of a running server. If not stated otherwise, each kind is reported once; counters
/// tell how often it occurred.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// A check of a back end had another result than the last one. Each change is reported.
    Backend {
        /// Its address.
        address: SocketAddr,
        /// It passed the check.
        is_up: bool,
    },
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
    /// The access log could not be opened again; the old file stays in use. Each time is reported.
    LogNotReopened {
        /// The system's error.
        why: String,
    },
    /// The OCSP response beside a chain is not sent. Each reload that reads it reports it.
    NotStapled {
        /// The file of the chain.
        chain: PathBuf,
        /// The reason.
        why: String,
    },
    /// A worker could not use new certificates, and goes on with the old ones.
    OldCertificates {
        /// The error.
        why: String,
    },
    /// Redis answers again, or has begun not to. Each change is reported.
    Redis {
        /// Its address.
        address: SocketAddr,
        /// The reason why it is not used; `None` if it is used again.
        failure: Option<String>,
    },
    /// The configured engine did fewer private-key operations than there were full handshakes, so
    /// another provider signed.
    SilentFallback {
        /// The number of full handshakes of this server.
        full_handshakes: u64,
        /// The number of private-key operations of the engine since the server started.
        private_operations: u64,
    },
    /// A worker's load is above its limit, so new connections are passed on or closed.
    Spill {
        /// Where they are passed on to; `None` if they are closed.
        to: Option<SocketAddr>,
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
            Self::Backend { address, is_up: true } => write!(f, "back end {address} is up"),
            Self::Backend { address, is_up: false } => write!(
                f,
                "back end {address} is down and gets no requests until it passes a check: look at \
                 its log"
            ),
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
            Self::LogNotReopened { why } => write!(
                f,
                "the access log could not be opened again ({why}), so its old file stays in use: \
                 correct its path or mode, then ask again"
            ),
            Self::NotStapled { chain, why } => write!(
                f,
                "{}.ocsp is not sent ({why}): get a new response from the authority, and reload",
                chain.display()
            ),
            Self::OldCertificates { why } => write!(
                f,
                "a worker goes on with its old certificates ({why}): reload them again, or restart"
            ),
            Self::Redis { address, failure: None } => {
                write!(f, "Redis at {address} answers again: sessions are shared")
            }
            Self::Redis { address, failure: Some(why) } => write!(
                f,
                "Redis at {address} is not used ({why}), so sessions of other servers get full \
                 handshakes until it answers: check that it runs, and its address and password"
            ),
            Self::SilentFallback { full_handshakes, private_operations } => write!(
                f,
                "{full_handshakes} full handshakes but {private_operations} private-key operations \
                 of the configured engine: another provider signed; do not trust this run"
            ),
            Self::Spill { to: Some(to) } => write!(
                f,
                "the load is above the limits of [spill], so new connections are passed on to {to}: \
                 add workers or servers if this lasts"
            ),
            Self::Spill { to: None } => f.write_str(
                "the load is above the limits of [spill], so new connections are closed: add \
                 workers or servers if this lasts",
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
    said: [AtomicBool; 8],
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
            Notice::OldCertificates { .. } => 4,
            Notice::SilentFallback { .. } => 5,
            Notice::WorkerLost { .. } => 6,
            Notice::Spill { .. } => 7,
            Notice::Backend { .. }
            | Notice::LogNotReopened { .. }
            | Notice::NotStapled { .. }
            | Notice::Redis { .. } => return (self.notify.0)(notice),
        };
        if !self.said[kind].swap(true, Ordering::Relaxed) {
            (self.notify.0)(notice);
        }
    }
}
