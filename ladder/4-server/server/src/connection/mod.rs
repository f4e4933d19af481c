//! One connection: handshake, requests and responses, close.
//!
//! No call blocks. A connection waits for one event at a time, with one deadline, and returns to
//! the event loop after a bounded number of steps.

mod closing;
mod exchange;
mod handshake;

use core::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use mio::net::TcpStream;
use openssl::ssl::{ErrorCode, SslStream};

use crate::counters::Tally;
use crate::engine::Acceptor;
use crate::ffi;
use crate::http::{Date, RECORD_BYTES_MAX};
use crate::log::Journal;
use crate::setup::Setup;
use exchange::Exchange;
use handshake::Session;
pub(crate) use handshake::failed_to_open;

/// The maximum number of steps of a connection in one turn. A step reads a request or writes a
/// record.
const STEPS_MAX: u32 = 32;

/// The parts of a worker that its connections use.
pub(crate) struct Context {
    /// The time of the last wake-up.
    pub(crate) now: Instant,
    /// The worker's number, from zero.
    pub(crate) worker: usize,
    pub(crate) journal: Journal,
    pub(crate) setup: Arc<Setup>,
    pub(crate) acceptor: Acceptor,
    date: Date,
    /// A buffer for one record.
    scratch: Box<[u8; RECORD_BYTES_MAX]>,
}

impl Context {
    pub(crate) fn new(worker: usize, setup: Arc<Setup>, acceptor: Acceptor) -> Self {
        Self {
            now: Instant::now(),
            worker,
            journal: Journal::new(Arc::clone(&setup)),
            setup,
            acceptor,
            date: Date::default(),
            scratch: Box::new([0; RECORD_BYTES_MAX]),
        }
    }

    pub(crate) fn tally(&self) -> &Tally {
        &self.setup.tallies[self.worker]
    }

    /// Publishes the engine's counts. Call it before counting the handshake, so that a reader never
    /// sees a handshake without its operation.
    fn count_operations(&self) {
        let operations = self.acceptor.operations();
        self.tally().signatures.set(operations.signatures);
        self.tally().decryptions.set(operations.decryptions);
        self.tally().batches.set(operations.batches);
        self.tally().batched.set(operations.batched);
    }
}

/// The next action for a connection after its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Give the connection another turn, after other connections. Its turn ended for fairness, or
    /// its handshake is paused until operations of several connections run as one batch.
    Again,
    /// Drop the connection, because it has ended or failed.
    Close,
    /// Wait until the client has sent bytes or accepts more, or until its deadline.
    Wait,
}

enum Step {
    Blocked,
    Done,
    On,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Handshake,
    Reading,
    Sending,
    /// Sending `close_notify`.
    Closing,
    /// Waiting for the client to close.
    Lingering,
}

pub(crate) struct Connection {
    stream: SslStream<TcpStream>,
    /// Unique within the server.
    number: u64,
    client: IpAddr,
    opened: Instant,
    phase: Phase,
    pub(crate) deadline: Instant,
    session: Option<Session>,
    exchange: Exchange,
    /// The client has closed its connection; it may have sent bytes before.
    pub(crate) has_client_closed: bool,
    /// The first message of the handshake was asked for.
    has_begun: bool,
    /// The worker has scheduled another turn.
    pub(crate) is_due_again: bool,
    /// The engine has paused the handshake until its batch of private-key operations runs. Until
    /// then the connection must not be dropped, because OpenSSL would leak the stack of its job.
    pub(crate) is_paused: bool,
    /// The last step waits until the socket is writable.
    wants_write: bool,
    /// The socket is registered for writable events.
    is_registered_for_writing: bool,
}

impl Connection {
    pub(crate) fn new(
        stream: SslStream<TcpStream>,
        (number, client): (u64, IpAddr),
        cx: &Context,
    ) -> Self {
        Self {
            stream,
            number,
            client,
            opened: cx.now,
            phase: Phase::Handshake,
            deadline: cx.now + cx.setup.config.time_limit,
            session: None,
            exchange: Exchange::default(),
            has_client_closed: false,
            has_begun: false,
            is_due_again: false,
            is_paused: false,
            wants_write: false,
            is_registered_for_writing: false,
        }
    }

    /// Runs until the connection would block or its turn is used up.
    pub(crate) fn turn(&mut self, cx: &mut Context) -> Turn {
        self.wants_write = false;
        for _ in 0..STEPS_MAX {
            let step = match self.phase {
                Phase::Handshake => self.handshake(cx),
                Phase::Reading => self.read(cx),
                Phase::Sending => self.send(cx),
                Phase::Closing => self.close(cx),
                Phase::Lingering => self.linger(cx),
            };
            match step {
                Step::Blocked if self.is_paused => return Turn::Again,
                Step::Blocked => return Turn::Wait,
                Step::Done => return Turn::Close,
                Step::On => {}
            }
        }
        Turn::Again
    }

    /// Returns whether the socket must be registered for writable events now.
    pub(crate) const fn begins_to_wait_for_writing(&mut self) -> bool {
        let begins = self.wants_write && !self.is_registered_for_writing;
        self.is_registered_for_writing |= begins;
        begins
    }

    pub(crate) fn socket(&mut self) -> &mut TcpStream {
        self.stream.get_mut()
    }

    /// Returns the session, after the handshake.
    const fn session(&self) -> &Session {
        self.session.as_ref().expect("the phases after the handshake have a session")
    }

    /// Returns whether a step failed only because it would block, or because it is paused.
    fn blocked(&mut self, error: &openssl::ssl::Error) -> bool {
        self.is_paused = ffi::is_paused(error);
        self.wants_write = error.code() == ErrorCode::WANT_WRITE;
        self.is_paused || self.wants_write || error.code() == ErrorCode::WANT_READ
    }
}
