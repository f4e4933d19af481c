//! Why there was no run at all. What goes wrong within a run is counted, see [`crate::Counts`].

use core::fmt;
use core::net::SocketAddr;
use std::io;

use crate::consent::Refusal;
use crate::finding::Finding;
use crate::phase::{Cause, Failure};
use crate::ports::Ports;

/// Why there was no run, in one line that says who must act.
#[derive(Debug)]
pub enum Error {
    /// The client's settings were refused: a server name that is none.
    Client(tollgate_tls_client::Error),
    /// The target may not be put under load.
    Consent {
        /// Its address.
        address: SocketAddr,
        /// What is missing.
        why: Refusal,
    },
    /// The server's consent ends before the run would.
    ConsentEnds {
        /// Its address.
        address: SocketAddr,
        /// When.
        until: String,
    },
    /// The plan needs more file descriptors than the process may have.
    FileDescriptors {
        /// How many it needs.
        needed: u64,
        /// How many it may have.
        allowed: u64,
    },
    /// The system refused something that a run cannot do without.
    Io {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        error: io::Error,
    },
    /// A search met something that no rate is the reason of, or a server that does nothing.
    Nothing(Vec<Finding>),
    /// The plan is out of range: the rule that it breaks.
    Plan(&'static str),
    /// There is no port left to connect from; what the system says of them.
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
        /// Where it went.
        address: SocketAddr,
        /// How it failed.
        failure: Failure,
    },
    /// The server's log cannot be read.
    Referee(io::Error),
    /// The server's CPU time cannot be read.
    ServerCpu(io::Error),
    /// The caller asked to stop.
    Stopped,
}

impl Error {
    /// An error of a socket that is the fault of this process and not of the server.
    pub(crate) fn of_socket(what: &'static str, error: io::Error) -> Self {
        match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
            Some(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE) => {
                let allowed = crate::socket::descriptors_allowed();
                Self::FileDescriptors { needed: allowed + 1, allowed }
            }
            Some(rustix::io::Errno::ADDRNOTAVAIL | rustix::io::Errno::ADDRINUSE) => {
                Self::Ports(Ports::now())
            }
            _ => Self::Io { what, error },
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(error) => write!(f, "the client's settings: {error}"),
            Self::Consent { address, why } => write!(f, "{address} gets no load: {why}"),
            Self::ConsentEnds { address, until } => write!(
                f,
                "{address} gets no load: its consent ends at {until}, before the run would: its \
                 owner has to say a later day"
            ),
            Self::FileDescriptors { needed, allowed } => write!(
                f,
                "the run needs {needed} file descriptors and may have {allowed}: \
                 raise the limit (ulimit -n {needed}), or use fewer connections"
            ),
            Self::Io { what, error } => write!(f, "cannot {what}: {error}"),
            Self::Nothing(why) => match why.first() {
                Some(finding) => write!(f, "the search ended without an answer: {finding}"),
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
