//! What transactions have in common, and what they tell.

use core::time::Duration;
use std::time::Instant;

use tollgate_tls_client::SavedSession;

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
    /// Requests of a transaction in the mean; none where it is a handshake only.
    requests: f64,
    /// From then on the next request of a connection is its last one: a run ends, however many
    /// requests a connection has to come.
    pub(crate) asks_until: Option<Instant>,
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
            Exchange::HandshakeOnly => 0.0,
        };
        Self {
            exchange: plan.exchange.clone(),
            seed: plan.seed,
            host: target.host(),
            close: plan.close,
            reuse_sockets: plan.source_addresses == 0,
            requests,
            asks_until: None,
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

    /// Whether transactions ask for anything.
    pub(crate) fn asks(&self) -> bool {
        self.requests > 0.0
    }

    /// Requests of a task.
    pub(crate) fn requests(&self, task: &Task) -> u32 {
        let [before, with] =
            [task.number, task.number.wrapping_add(1)].map(|number| self.requests_before(number));
        u32::try_from(with.saturating_sub(before)).unwrap_or(u32::MAX)
    }

    /// Requests of all tasks with smaller numbers: as near to the mean as whole numbers are,
    /// however many tasks that is.
    fn requests_before(&self, number: u64) -> u64 {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            clippy::cast_sign_loss,
            reason = "numbers of a run are far below 2^52, and requests are not negative"
        )]
        let before = (number as f64 * self.requests) as u64;
        before
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
                let behind = self.requests_before(task.number.wrapping_add(1));
                sizes.drawn(self.seed, behind.wrapping_sub(1).wrapping_sub(u64::from(left)))
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
    /// The TCP connection is up; the time since the socket was opened.
    Connected { connect: Duration },
    /// The client has finished the handshake: the time since its `ClientHello`; whether the server
    /// asked for a second one; whether the server's signature was verified; whether a session was
    /// resumed, or offered and refused.
    ClientDone {
        client_finished: Duration,
        hello_retry: bool,
        verified: bool,
        resumed: bool,
        refused: bool,
    },
    /// The server has confirmed the handshake: the time since the `ClientHello`, and the part of it
    /// after the client finished; whether the server resumed a session, and accepted early data.
    Confirmed { handshake: Duration, confirm: Duration, resumed: bool, early_data: bool },
    /// A response is complete; the times from its request to its first and last byte, and the bytes
    /// of its body.
    Response { first_byte: Duration, last_byte: Duration, bytes: u64 },
    /// All responses are complete: the times since the socket was opened and since the intended
    /// start; whether a session was resumed.
    Complete { service: Duration, response: Duration, resumed: bool },
}

/// Where a transaction stands after it was driven.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The socket is closed, everything went well.
    Closed,
    Going,
    /// There may be more to read, and nobody will say so: others go first.
    More,
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::plan::Protocol;

    #[test]
    fn requests_have_their_mean_and_differ_by_one_at_most() {
        let sizes = serde_json::from_str("[1, 2, 3, 4, 5]").unwrap();
        let plan = Plan { exchange: Exchange::Sizes(sizes), ..Plan::new(Protocol::Tls13) };
        for (requests_per_connection, first) in
            [(1.0, [1, 1, 1, 1]), (2.5, [2, 3, 2, 3]), (1.25, [1, 1, 1, 2]), (1e6, [1_000_000; 4])]
        {
            let plan = Plan { requests_per_connection, ..plan.clone() };
            let manner = Manner::new(&plan, &Target::new(([127, 0, 0, 1], 1).into()).unwrap());
            let task = |number| Task {
                intended: Instant::now(),
                is_plain: false,
                resumes: false,
                number,
                bytes: None,
                retries: 0,
            };
            assert_eq!([0, 1, 2, 3].map(|number| manner.requests(&task(number))), first);
            // of five requests in a row each asks for another size, whoever makes them
            let mut asked = Vec::new();
            for task in (0..20).map(task) {
                let all = manner.requests(&task).min(100);
                asked.extend((0..all).rev().map(|left| manner.ask(&mut Vec::new(), &task, left)));
            }
            if requests_per_connection < 100.0 {
                let rows = asked.chunks_exact(5).map(|row| row.iter().sum::<u64>());
                assert!(asked.len() >= 20 && rows.into_iter().all(|sum| sum == 15), "{asked:?}");
            }
        }
    }
}
