//! What transactions have in common, and what they tell.

use core::time::Duration;

use tollgate_client::SavedSession;

use crate::http;
use crate::plan::{Close, Exchange, Plan};
use crate::resumption::Mechanism;
use crate::target::Target;
use crate::task::Task;

/// What the transactions of a run share.
pub(crate) struct Manner {
    exchange: Exchange,
    /// That of the plan, for what requests ask for.
    seed: u64,
    host: String,
    pub(crate) close: Close,
    /// Whether sockets that were reset serve again: not where each has a source of its own.
    pub(crate) reuse_sockets: bool,
    /// Requests of a transaction; none where it is a handshake only.
    pub(crate) requests: u32,
    /// How sessions are to be resumed.
    pub(crate) resumes_by: Option<Mechanism>,
    /// Counts handshakes that the server has not confirmed.
    #[cfg(test)]
    pub(crate) lies: bool,
}

impl Manner {
    pub(crate) fn new(plan: &Plan, target: &Target) -> Self {
        let requests = match plan.exchange {
            Exchange::Get { .. } | Exchange::Sizes(_) => plan.requests_per_connection,
            Exchange::HandshakeOnly => 0,
        };
        Self {
            exchange: plan.exchange.clone(),
            seed: plan.seed,
            host: target.host(),
            close: plan.close,
            reuse_sockets: plan.source_addresses == 0,
            requests,
            resumes_by: plan.resume.map(|resume| resume.by),
            #[cfg(test)]
            lies: false,
        }
    }

    /// Whether the first request goes with the hello, where that offers a session.
    pub(crate) fn is_early(&self) -> bool {
        self.resumes_by == Some(Mechanism::EarlyData)
    }

    /// Whether a session can be resumed as the plan says. A server that was asked for tickets may
    /// give session IDs alone, which are another load.
    pub(crate) fn takes(&self, session: &SavedSession) -> bool {
        self.resumes_by.is_some_and(|by| session.mechanism() == Some(by.saved_as()))
    }

    /// Writes a task's next request in place of another, behind which `left` are to follow, and
    /// gives the length of the body that it asks for: the task's own, or as the plan says. The last
    /// one of a connection says so.
    pub(crate) fn ask(&self, request: &mut Vec<u8>, task: &Task, left: u32) -> u64 {
        request.clear();
        let is_last = left == 0;
        let bytes = match (&self.exchange, task.bytes) {
            (Exchange::HandshakeOnly, _) => return 0,
            (Exchange::Get { path, bytes }, None) => {
                http::request(request, format_args!("{path}"), &self.host, is_last);
                return *bytes;
            }
            (Exchange::Sizes(sizes), None) => {
                let number = task.number.wrapping_mul(u64::from(self.requests));
                let place = u64::from(self.requests - 1 - left);
                sizes.drawn(self.seed, number.wrapping_add(place))
            }
            (Exchange::Get { .. } | Exchange::Sizes(_), Some(bytes)) => bytes,
        };
        http::request(request, format_args!("/bytes/{bytes}"), &self.host, is_last);
        bytes
    }
}

/// What a transaction tells while it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// The connection stands; the time since it was begun.
    Connected { connect: Duration },
    /// The client is done; the time since its `ClientHello`; whether the server asked for a second
    /// one; whether the server's signature was verified; whether a session was resumed, or offered
    /// in vain.
    ClientDone {
        handshake: Duration,
        hello_retry: bool,
        verified: bool,
        resumed: bool,
        refused: bool,
    },
    /// The server is done; the time since the client was; whether it resumed a session, and took
    /// early data.
    Confirmed { confirm: Duration, resumed: bool, early_data: bool },
    /// A response is complete; the times from its request to its first and last byte, and the bytes
    /// of its body.
    Response { first_byte: Duration, last_byte: Duration, bytes: u64 },
    /// All responses are complete; the times since the connection was begun, and since it was to
    /// begin; whether a session was resumed.
    Complete { service: Duration, response: Duration, resumed: bool },
}

/// Where a transaction stands after it was driven.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The socket is closed, everything went well.
    Closed,
    Going,
}
