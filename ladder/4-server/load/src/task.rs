//! The task of a transaction, and its progress.

use std::time::Instant;

/// The task of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Task {
    /// The intended start; in an open loop it may begin later.
    pub(crate) intended: Instant,
    /// True for a transaction without TLS.
    pub(crate) is_plain: bool,
    /// True if an earlier session is offered.
    pub(crate) resumes: bool,
    /// The task's number in the run; a retry keeps it. In a closed loop, threads take 64
    /// consecutive numbers each, in turn.
    pub(crate) number: u64,
    /// Number of earlier attempts that timed out.
    pub(crate) retries: u32,
}

impl Task {
    /// Returns the first attempt of a secure transaction with a full handshake and the plan's body.
    pub(crate) const fn new(intended: Instant, number: u64) -> Self {
        Self { intended, is_plain: false, resumes: false, number, retries: 0 }
    }
}

/// Steps that a transaction has completed and reported.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    pub(crate) connected: bool,
    pub(crate) client_done: bool,
    pub(crate) confirmed: bool,
    pub(crate) complete: bool,
    /// The server has resumed the session that was offered.
    pub(crate) resumed: bool,
    /// The first request is written as early data if it fits. The server has not accepted it yet.
    pub(crate) composed: bool,
    /// The server's `close_notify` was received.
    pub(crate) closed: bool,
}

/// The times at which the steps of a transaction began or ended, all read from the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    /// Just before the socket is opened: TCP connect time and the whole transaction begin here.
    pub(crate) started: Instant,
    /// Just before the `ClientHello` is written: the connection is up, and the handshake begins.
    pub(crate) hello: Instant,
    /// The client has verified the server's Finished and queued its own last message.
    pub(crate) client_done: Instant,
}

impl Marks {
    pub(crate) const fn new(now: Instant) -> Self {
        Self { started: now, hello: now, client_done: now }
    }
}
