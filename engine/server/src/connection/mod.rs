//! One connection: handshake, requests and responses, close.
//!
//! Every call does what is possible without waiting. A connection waits in one place only, with one
//! deadline, and gives the thread back after a bounded number of steps.

mod closing;
mod exchange;
mod handshake;
mod patient;

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::time::Instant;

use mio::net::TcpStream;
use openssl::ssl::{ErrorCode, SslStream};

use crate::config::Limits;
use crate::counters::Tally;
use crate::engine::Acceptor;
use crate::failure::End;
use crate::http::{Date, RECORD_BYTES_MAX};
use crate::log::Journal;
use crate::shared::Shared;
use exchange::Exchange;
use handshake::Session;
pub(crate) use handshake::stillborn;
pub(crate) use patient::Patient;

/// Steps that a connection may take before others have their turn: requests read, records written.
const STEPS_MAX: u32 = 32;

/// What a connection needs of its worker.
pub(crate) struct Context<'a> {
    pub(crate) now: Instant,
    pub(crate) limits: &'a Limits,
    pub(crate) tally: &'a Tally,
    pub(crate) journal: &'a mut Journal,
    pub(crate) shared: &'a Shared,
    pub(crate) acceptor: &'a Acceptor,
    pub(crate) date: &'a mut Date,
    /// Room for what is read, one record's worth.
    pub(crate) scratch: &'a mut [u8; RECORD_BYTES_MAX],
    /// Whether the server stops: responses are finished, nothing new is begun.
    pub(crate) draining: bool,
}

impl Context<'_> {
    /// Publishes what the engine has counted; before the handshake that it did it for.
    fn count_operations(&self) {
        let operations = self.acceptor.operations();
        self.tally.signatures.set(operations.signatures);
        self.tally.decryptions.set(operations.decryptions);
    }
}

/// What a connection wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Its turn came to an end, not its work.
    Again,
    /// To be dropped.
    Close,
    /// To hear of its socket, or of its deadline.
    Wait,
}

/// One step's result.
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
    /// Everything is said; waiting for the client to close.
    Lingering,
}

/// What a connection reads from and writes to, without waiting.
pub trait Transport: Read + Write {
    /// Says that nothing more will be written.
    ///
    /// # Errors
    ///
    /// The other side is gone.
    fn close_writing(&mut self) -> io::Result<()>;
}

impl Transport for TcpStream {
    fn close_writing(&mut self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }
}

/// One connection.
pub(crate) struct Connection<S> {
    stream: SslStream<Patient<S>>,
    number: u64,
    opened: Instant,
    phase: Phase,
    deadline: Instant,
    session: Option<Session>,
    exchange: Exchange,
    /// Whether its end has been counted and logged.
    concluded: bool,
    /// Whether its worker has put it down for another turn.
    pub(crate) is_due_again: bool,
    /// Whether the last step waits for room to write.
    wants_write: bool,
    /// Whether the event loop tells of room to write.
    hears_of_room: bool,
}

impl<S: Transport> Connection<S> {
    /// A connection that has just been accepted.
    pub(crate) fn new(
        stream: SslStream<Patient<S>>,
        number: u64,
        now: Instant,
        limits: &Limits,
    ) -> Self {
        Self {
            stream,
            number,
            opened: now,
            phase: Phase::Handshake,
            deadline: now + limits.handshake,
            session: None,
            exchange: Exchange::default(),
            concluded: false,
            is_due_again: false,
            wants_write: false,
            hears_of_room: false,
        }
    }

    /// Does what can be done now.
    pub(crate) fn turn(&mut self, cx: &mut Context<'_>) -> Next {
        self.wants_write = false;
        self.stream.get_mut().begin_turn();
        for _ in 0..STEPS_MAX {
            let step = match self.phase {
                Phase::Handshake => self.handshake(cx),
                Phase::Reading => self.read(cx),
                Phase::Sending => self.send(cx),
                Phase::Closing => self.close(cx),
                Phase::Lingering => self.linger(cx),
            };
            match step {
                Step::Blocked if self.stream.get_ref().is_exhausted() => return Next::Again,
                Step::Blocked => return Next::Wait,
                Step::Done => return Next::Close,
                Step::On => {}
            }
        }
        Next::Again
    }

    /// Whether it waits for room to write and would not hear of it. From now on it will.
    pub(crate) const fn begins_to_wait_for_room(&mut self) -> bool {
        let begins = self.wants_write && !self.hears_of_room;
        self.hears_of_room |= begins;
        begins
    }

    pub(crate) fn socket(&mut self) -> &mut S {
        self.stream.get_mut().inner()
    }

    /// When to call [`Self::expire`].
    pub(crate) const fn deadline(&self) -> Instant {
        self.deadline
    }

    /// What its session is, once there is one; every line of a request has it.
    const fn session(&self) -> &Session {
        self.session.as_ref().expect("the phases after the handshake have a session")
    }

    /// Sorts an error of a read or write: try again later, or the connection is broken.
    fn blocked(&mut self, error: &openssl::ssl::Error) -> bool {
        self.wants_write = error.code() == ErrorCode::WANT_WRITE;
        self.wants_write || error.code() == ErrorCode::WANT_READ
    }

    /// Counts how the connection ended, once, and logs a response that was cut.
    fn conclude(&mut self, end: End, cx: &mut Context<'_>) {
        if !self.concluded {
            self.concluded = true;
            self.cut_response(cx);
            cx.tally.ends[end as usize].add(1);
        }
    }
}
