//! Errors that prevent a run. Failures within a run are counted, see [`crate::Counts`].

use core::fmt;
use core::net::SocketAddr;
use std::io;

use crate::consent::Refusal;
use crate::finding::Finding;
use crate::phase::{Cause, Failure};
use crate::ports::Ports;

/// Why there was no run, in one line that says what to do.
#[derive(Debug)]
pub enum Error {
    /// The TLS client refused its settings, such as an invalid server name.
    Client(tollgate_tls_client::Error),
    /// The target may not be put under load.
    Consent {
        /// The server's address.
        address: SocketAddr,
        /// The missing permission.
        why: Refusal,
    },
    /// The server's consent ends before the run.
    ConsentEnds {
        /// The server's address.
        address: SocketAddr,
        /// The end of the consent.
        until: String,
    },
    /// The plan needs more file descriptors than the process may have.
    FileDescriptors {
        /// Needed descriptors.
        needed: u64,
        /// Allowed descriptors.
        allowed: u64,
    },
    /// A system call failed.
    Io {
        /// The action that failed.
        what: &'static str,
        /// The system's error.
        error: io::Error,
    },
    /// A search ended because of these findings, which do not depend on the rate; empty if the
    /// server completes nothing.
    Nothing(Vec<Finding>),
    /// The plan is invalid; the violated rule.
    Plan(&'static str),
    /// No port is left to connect from.
    Ports(Ports),
    /// The plan has more connections than there are ports to connect from.
    PortsShort {
        /// Connections.
        needed: u64,
        /// Ports of all source addresses.
        ports: u64,
    },
    /// The first transaction, done alone before the load, failed.
    Probe {
        /// The server's address.
        address: SocketAddr,
        /// The failure.
        failure: Failure,
    },
    /// The server's log cannot be read.
    Referee(io::Error),
    /// The server's CPU time cannot be read.
    ServerCpu(io::Error),
    /// The caller stopped the run.
    Stopped,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(error) => write!(f, "the client's settings are invalid: {error}"),
            Self::Consent { address, why } => write!(f, "{address} gets no load: {why}"),
            Self::ConsentEnds { address, until } => write!(
                f,
                "{address} gets no load: its consent ends at {until}, before the run: its \
                 owner must set a later day"
            ),
            Self::FileDescriptors { needed, allowed } => write!(
                f,
                "the run needs {needed} file descriptors and may have {allowed}: \
                 raise the limit (ulimit -n {needed}), or use fewer connections"
            ),
            Self::Io { what, error } => write!(f, "cannot {what}: {error}"),
            Self::Nothing(why) => match why.first() {
                Some(finding) => write!(f, "the search ended without a result: {finding}"),
                None => f.write_str(
                    "the server completed nothing in a closed loop: there is no rate to search for",
                ),
            },
            Self::Plan(rule) => write!(f, "the plan cannot be run: {rule}"),
            Self::Ports(ports) => write!(
                f,
                "no port is left to connect from ({ports}): close with rst-after-confirm, use more \
                 source addresses, or wait a minute for the ports in TIME_WAIT"
            ),
            Self::PortsShort { needed, ports } => write!(
                f,
                "the plan has {needed} connections and there are {ports} ports to connect from: \
                 give fewer, use more source addresses, or widen net.ipv4.ip_local_port_range"
            ),
            Self::Probe { address, failure } if failure.cause == Cause::Refused => {
                write!(f, "nothing listens on {address}: start the server, or give its address")
            }
            Self::Probe { address, failure } => write!(
                f,
                "the first transaction with {address} failed, and no load was sent: {failure}"
            ),
            Self::Referee(error) => write!(
                f,
                "the server's log cannot be read ({error}): give its path, or run without referee"
            ),
            Self::ServerCpu(error) => write!(
                f,
                "the server's CPU time cannot be read ({error}): check its process id, or run \
                 without"
            ),
            Self::Stopped => f.write_str("stopped before the run was done"),
        }
    }
}

impl core::error::Error for Error {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Client(error) => Some(error),
            Self::Io { error, .. } | Self::Referee(error) | Self::ServerCpu(error) => Some(error),
            _ => None,
        }
    }
}
