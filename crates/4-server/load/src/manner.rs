//! What transactions have in common, and what they tell.

use core::time::Duration;

use crate::plan::{Close, Exchange, Plan};

/// What the transactions of a run share.
pub(crate) struct Manner {
    pub(crate) request: Vec<u8>,
    pub(crate) close: Close,
    /// Whether sockets that were reset serve again: not where each has a source of its own.
    pub(crate) reuse_sockets: bool,
    /// The length of the body; none without a request.
    pub(crate) expected_bytes: Option<u64>,
}

impl Manner {
    pub(crate) fn new(plan: &Plan, request: Vec<u8>) -> Self {
        let expected_bytes = match plan.exchange {
            Exchange::Get { bytes, .. } => Some(bytes),
            Exchange::HandshakeOnly => None,
        };
        Self {
            request,
            close: plan.close,
            reuse_sockets: plan.source_addresses == 0,
            expected_bytes,
        }
    }
}

/// What a transaction tells while it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// The client is done; the time since its `ClientHello`; whether the server asked for a second
    /// one; whether the server's signature was verified.
    ClientDone { handshake: Duration, hello_retry: bool, verified: bool },
    /// The server is done.
    Confirmed,
    /// The whole body has arrived; the time since the connection was begun.
    Complete { transaction: Duration },
}

/// Where a transaction stands after it was driven.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The socket is closed, everything went well.
    Closed,
    Going,
}
