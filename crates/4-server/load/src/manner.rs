//! What transactions have in common, and what they tell.

use core::time::Duration;

use crate::http;
use crate::plan::{Close, Exchange, Plan};
use crate::target::Target;

/// What the transactions of a run share.
pub(crate) struct Manner {
    exchange: Exchange,
    host: String,
    pub(crate) close: Close,
    /// Whether sockets that were reset serve again: not where each has a source of its own.
    pub(crate) reuse_sockets: bool,
    /// Requests of a transaction; none where it is a handshake only.
    pub(crate) requests: u32,
}

impl Manner {
    pub(crate) fn new(plan: &Plan, target: &Target) -> Self {
        let host = target.server_name().map_or_else(|| target.address().to_string(), str::to_owned);
        let requests = match plan.exchange {
            Exchange::Get { .. } => plan.requests_per_connection,
            Exchange::HandshakeOnly => 0,
        };
        Self {
            exchange: plan.exchange.clone(),
            host,
            close: plan.close,
            reuse_sockets: plan.source_addresses == 0,
            requests,
        }
    }

    /// Writes a request in place of another, for a body of `bytes` or as the plan says, and gives
    /// the length of the body. The last one of a connection says so.
    pub(crate) fn ask(&self, request: &mut Vec<u8>, bytes: Option<u64>, is_last: bool) -> u64 {
        request.clear();
        match (&self.exchange, bytes) {
            (Exchange::HandshakeOnly, _) => 0,
            (Exchange::Get { .. }, Some(bytes)) => {
                http::request(request, format_args!("/bytes/{bytes}"), &self.host, is_last);
                bytes
            }
            (Exchange::Get { path, bytes }, None) => {
                http::request(request, format_args!("{path}"), &self.host, is_last);
                *bytes
            }
        }
    }
}

/// What a transaction tells while it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// The connection stands; the time since it was begun.
    Connected { connect: Duration },
    /// The client is done; the time since its `ClientHello`; whether the server asked for a second
    /// one; whether the server's signature was verified.
    ClientDone { handshake: Duration, hello_retry: bool, verified: bool },
    /// The server is done; the time since the client was.
    Confirmed { confirm: Duration },
    /// A response is complete; the times from its request to its first and last byte, and the bytes
    /// of its body.
    Response { first_byte: Duration, last_byte: Duration, bytes: u64 },
    /// All responses are complete; the times since the connection was begun, and since it was to
    /// begin.
    Complete { service: Duration, response: Duration },
}

/// Where a transaction stands after it was driven.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The socket is closed, everything went well.
    Closed,
    Going,
}
