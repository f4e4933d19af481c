//! The requests of a run's transactions, and the events of a transaction.

use core::time::Duration;
use std::time::Instant;

use tollgate_tls_client::{Group, SavedSession};

use crate::plan::{Close, Exchange, Plan};
use crate::request_form::RequestForm;
use crate::resumption::Mechanism;
use crate::target::Target;
use crate::task::Task;

/// The requests that the transactions of a run send.
pub(crate) struct RequestSpec {
    exchange: Exchange,
    form: RequestForm,
    /// The plan's seed, for the sizes of bodies.
    seed: u64,
    host: String,
    pub(crate) close: Close,
    /// Mean number of requests of a transaction; 0 for handshakes only.
    requests: f64,
    /// After this time, the next request of a connection is its last one. The run can then end.
    pub(crate) asks_until: Option<Instant>,
    pub(crate) resumes_by: Option<Mechanism>,
}

impl RequestSpec {
    pub(crate) fn new(plan: &Plan, target: &Target) -> Self {
        let requests = match plan.exchange {
            Exchange::Get { .. } | Exchange::Sizes(_) => plan.requests_per_connection,
            Exchange::HandshakeOnly => 0.0,
        };
        Self {
            exchange: plan.exchange.clone(),
            form: plan.request.clone(),
            seed: plan.seed,
            host: target.host(),
            close: plan.close,
            requests,
            asks_until: None,
            resumes_by: plan.resume.map(|resume| resume.by),
        }
    }

    /// Returns whether the first request is early data if the `ClientHello` offers a session.
    pub(crate) fn is_early(&self) -> bool {
        self.resumes_by == Some(Mechanism::EarlyData)
    }

    /// Returns whether a session can be resumed as planned. A server may give session IDs although
    /// tickets were requested; resuming by session ID is a different load.
    pub(crate) fn takes(&self, session: &SavedSession) -> bool {
        self.resumes_by.is_some_and(|by| session.kind() == Some(by.saved_as()))
    }

    pub(crate) fn asks(&self) -> bool {
        self.requests > 0.0
    }

    pub(crate) fn requests(&self, task: &Task) -> u32 {
        let [before, with] =
            [task.number, task.number.wrapping_add(1)].map(|number| self.requests_before(number));
        u32::try_from(with.saturating_sub(before)).unwrap_or(u32::MAX)
    }

    /// Returns the total number of requests of all tasks whose numbers are smaller, computed from
    /// the mean and rounded down.
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

    /// Writes a task's next request; `left` more requests follow it. Returns the expected length of
    /// the response's body.
    pub(crate) fn ask(&self, request: &mut Vec<u8>, task: &Task, left: u32) -> u64 {
        request.clear();
        let is_last = left == 0;
        let bytes = match &self.exchange {
            Exchange::HandshakeOnly => return 0,
            Exchange::Get { path, bytes } => {
                self.form.write(request, format_args!("{path}"), &self.host, is_last);
                return *bytes;
            }
            Exchange::Sizes(sizes) => {
                let behind = self.requests_before(task.number.wrapping_add(1));
                sizes.drawn(self.seed, behind.wrapping_sub(1).wrapping_sub(u64::from(left)))
            }
        };
        self.form.write(request, format_args!("/bytes/{bytes}"), &self.host, is_last);
        bytes
    }
}

/// An event of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransactionEvent {
    /// The TCP connection is up. Contains the time since the socket was opened.
    Connected { connect: Duration },
    /// The client has finished the handshake. States the group of its key agreement, whether the
    /// server asked for a second `ClientHello`, whether the client verified the server's signature,
    /// and whether an offered session was refused.
    ClientDone { group: Option<Group>, hello_retry: bool, verified: bool, refused: bool },
    /// The server has confirmed the handshake. Contains the time since the `ClientHello`, and
    /// whether the server resumed a session and accepted early data.
    Confirmed { handshake: Duration, resumed: bool, early_data: bool },
    /// A response is complete. Contains the length of its body in bytes.
    Response { bytes: u64 },
    /// All responses are complete. Contains the times since the socket was opened and since the
    /// intended start, and whether a session was resumed.
    Complete { service: Duration, response: Duration, resumed: bool },
}

/// The parameters of driving a transaction.
pub(crate) struct Drive<'a> {
    pub(crate) spec: &'a RequestSpec,
    pub(crate) now: Instant,
    /// The server has closed its side of the connection, or there was an error.
    pub(crate) read_closed: bool,
    pub(crate) on_event: &'a mut dyn FnMut(TransactionEvent, Instant),
}

/// The state of a transaction after it was driven.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The transaction succeeded, and the socket is closed.
    Closed,
    Going,
    /// There may be more bytes to read, although no event will announce them. The caller must drive
    /// this transaction again after the others.
    More,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offer::Protocol;

    #[test]
    fn numbers_of_requests_have_the_mean_and_differ_by_at_most_one() {
        let sizes = serde_json::from_str("[1, 2, 3, 4, 5]").unwrap();
        let plan = Plan { exchange: Exchange::Sizes(sizes), ..Plan::new(Protocol::Tls13) };
        for (requests_per_connection, first) in
            [(1.0, [1, 1, 1, 1]), (2.5, [2, 3, 2, 3]), (1.25, [1, 1, 1, 2]), (1e6, [1_000_000; 4])]
        {
            let plan = Plan { requests_per_connection, ..plan.clone() };
            let spec = RequestSpec::new(&plan, &Target::new(([127, 0, 0, 1], 1).into()).unwrap());
            let task = |number| Task::new(Instant::now(), number);
            assert_eq!([0, 1, 2, 3].map(|number| spec.requests(&task(number))), first);
            // five consecutive requests have five sizes, regardless of their tasks
            let mut asked = Vec::new();
            for task in (0..20).map(task) {
                let all = spec.requests(&task).min(100);
                asked.extend((0..all).rev().map(|left| spec.ask(&mut Vec::new(), &task, left)));
            }
            if requests_per_connection < 100.0 {
                let rows = asked.chunks_exact(5).map(|row| row.iter().sum::<u64>());
                assert!(asked.len() >= 20 && rows.into_iter().all(|sum| sum == 15), "{asked:?}");
            }
        }
    }
}
