//! What a transaction is to do, and how far it is.

use std::time::Instant;

/// What a transaction is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Task {
    /// When it is to begin. In an open loop that may be a while before it does.
    pub(crate) intended: Instant,
    /// Without TLS.
    pub(crate) is_plain: bool,
    /// Whether it is to offer a session of before.
    pub(crate) resumes: bool,
    /// Its place among all of the run: those of a closed loop are dealt out to the threads in turn,
    /// 64 at a time, as they are begun. A client that begins again keeps it.
    pub(crate) number: u64,
    /// Bytes of the body, if not those of the plan.
    pub(crate) bytes: Option<u64>,
    /// How often its client began before, and lost patience.
    pub(crate) retries: u32,
}

/// What has been reached, and told.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    pub(crate) connected: bool,
    pub(crate) client_done: bool,
    pub(crate) confirmed: bool,
    pub(crate) complete: bool,
    /// The server has resumed the session that was offered.
    pub(crate) resumed: bool,
    /// The first request is written, to go as early data if it fits, and not known to have been
    /// taken.
    pub(crate) composed: bool,
    /// The server's `close_notify` came.
    pub(crate) closed: bool,
}

/// When the steps of a transaction began or ended, all read from the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    /// Just before the socket is opened: TCP connect time and the whole transaction begin here.
    pub(crate) started: Instant,
    /// Just before the `ClientHello` is written: the connection is up, and the handshake begins.
    pub(crate) hello: Instant,
    /// The client has verified the server's Finished and queued its own last message.
    pub(crate) client_done: Instant,
    /// The request is handed to the channel.
    pub(crate) asked: Instant,
    pub(crate) first_byte: Option<Instant>,
}

impl Marks {
    pub(crate) const fn new(now: Instant) -> Self {
        Self { started: now, hello: now, client_done: now, asked: now, first_byte: None }
    }
}
