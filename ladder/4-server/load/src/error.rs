//! Errors that prevent a run. Failures within a run are counted, see [`crate::Counts`].

use core::net::SocketAddr;
use std::io;

use crate::consent::Refusal;
use crate::finding::Finding;
use crate::messages::messages;
use crate::phase::{Cause, Failure};
use crate::ports::Ports;

messages! {
    /// The reason why there was no run, in one line that says what to do.
    #[derive(Debug)]
    Error {
        Agent { agent: String, why: String } => "{agent}: {why}";
        Client(error: tollgate_tls_client::Error) => "the client's settings are invalid: {error}";
        Consent { address: SocketAddr, why: Refusal } => "{address} gets no load: {why}";
        ConsentEnds { address: SocketAddr, until: String } =>
            "{address} gets no load: its consent ends at {until}, before the run: its owner must \
             set a later day";
        FileDescriptors { needed: u64, allowed: u64 } =>
            "the run needs {needed} file descriptors and may have {allowed}: raise the limit \
             (ulimit -n {needed}), or use fewer connections";
        Io { what: &'static str, error: io::Error } => "cannot {what}: {error}";
        Nothing(why: Vec<Finding>) => "{}", match why.first() {
            Some(finding) => format!("the search ended without a result: {finding}"),
            None => "the server completed nothing in a closed loop: there is no rate to search for"
                .to_owned(),
        };
        Plan(rule: &'static str) => "the plan cannot be run: {rule}";
        Ports(ports: Ports) =>
            "no port is left to connect from ({ports}): close with rst-after-confirm, give fewer \
             connections, widen net.ipv4.ip_local_port_range, or wait a minute for the ports in \
             TIME_WAIT";
        Probe { address: SocketAddr, failure: Failure } => "{}", match failure.cause {
            Cause::Refused => {
                format!("nothing listens on {address}: start the server, or give its address")
            }
            _ => format!(
                "the first transaction with {address} failed, and no load was sent: {failure}; {}",
                failure.advice().unwrap_or("see the server's log")
            ),
        };
        Referee(error: io::Error) =>
            "the server's log cannot be read ({error}): give its path, or run without a referee";
        ServerCpu(error: io::Error) =>
            "the server's CPU time cannot be read ({error}): check its process ID, or do not \
             measure it";
        Stopped => "stopped before the run was done";
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
