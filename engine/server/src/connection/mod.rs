//! One connection: handshake, requests and responses, close.
//!
//! No call blocks. A connection waits for one event at a time, with one deadline, and returns to
//! the event loop after a bounded number of steps.

mod bounded_reads;
mod closing;
mod exchange;
mod forward;
mod handshake;
mod multiplex;
mod preface;
mod proxy_header;
mod relay;

use core::net::IpAddr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::time::Instant;

use mio::net::TcpStream;
use openssl::ssl::{ErrorCode, SslStream};
use rustix::fs::sendfile;

use crate::addresses::Counted;
use crate::config::Limits;
use crate::counters::Tally;
use crate::engine::Acceptor;
use crate::failure::End;
use crate::ffi;
use crate::http::{Date, RECORD_BYTES_MAX};
use crate::log::Journal;
use crate::proxy::Upstreams;
use crate::sessions::{self, Store};
use crate::shared::Shared;
pub(crate) use bounded_reads::BoundedReads;
use exchange::Exchange;
use forward::Forward;
use handshake::Session;
pub(crate) use handshake::failed_to_open;
use multiplex::Streams;

/// The maximum number of steps of a connection in one turn. A step reads a request or writes a
/// record.
const STEPS_MAX: u32 = 32;

/// The parts of a worker that its connections use.
pub(crate) struct Context {
    /// The time of the last wake-up.
    pub(crate) now: Instant,
    pub(crate) limits: Limits,
    /// The worker's number, from zero.
    pub(crate) worker: usize,
    pub(crate) journal: Journal,
    pub(crate) shared: Arc<Shared>,
    pub(crate) acceptor: Arc<Acceptor>,
    pub(crate) store: Arc<Store>,
    date: Date,
    /// The connections to back ends, if the server is a proxy.
    pub(crate) upstreams: Option<Upstreams>,
    /// The number of handshakes that have begun and not ended.
    pub(crate) handshakes: usize,
    /// The number of requests of connections with HTTP/2 now.
    streams: usize,
    /// A buffer for one record.
    scratch: Box<[u8; RECORD_BYTES_MAX]>,
    /// Set when the server stops: it then accepts no new requests, and must finish its responses by
    /// this time.
    pub(crate) draining: Option<Instant>,
}

impl Context {
    /// Creates the context of a worker. Its journal discards all lines.
    pub(crate) fn new(
        worker: usize,
        limits: Limits,
        shared: Arc<Shared>,
        acceptor: Arc<Acceptor>,
        store: Arc<Store>,
    ) -> Self {
        Self {
            now: Instant::now(),
            limits,
            worker,
            journal: Journal::new(None, Arc::clone(shared.log())),
            shared,
            acceptor,
            store,
            date: Date::default(),
            upstreams: None,
            handshakes: 0,
            streams: 0,
            scratch: Box::new([0; RECORD_BYTES_MAX]),
            draining: None,
        }
    }

    pub(crate) fn tally(&self) -> &Tally {
        self.shared.tally(self.worker)
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
pub enum Turn {
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
    /// Waiting for the header of a load balancer.
    Preface,
    Handshake,
    Reading,
    Sending,
    /// Passing a request on to a back end, and its response to the client.
    Forwarding,
    /// Serving many requests at once, with HTTP/2.
    Multiplexing,
    /// Sending `close_notify`.
    Closing,
    /// Waiting for the client to close.
    Lingering,
}

/// A non-blocking byte stream.
pub trait Transport: Read + Write {
    /// Closes the stream for writing.
    ///
    /// # Errors
    ///
    /// The other side has closed the stream.
    fn close_writing(&mut self) -> io::Result<()>;

    /// Sends bytes of a file, which the kernel encrypts, and returns their number: 0 if the file is
    /// shorter.
    ///
    /// # Errors
    ///
    /// It would block, the other side has closed the stream, the file cannot be read, or the stream is
    /// not a socket.
    fn send_file(&self, _file: &File, _at: u64, _bytes: usize) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Transport for TcpStream {
    fn close_writing(&mut self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }

    fn send_file(&self, file: &File, mut at: u64, bytes: usize) -> io::Result<usize> {
        Ok(sendfile(self, file, Some(&mut at), bytes)?)
    }
}

/// A connection that a worker has just accepted.
pub(crate) struct Opened {
    /// Unique within the server.
    pub(crate) number: u64,
    /// The connection's key in its worker.
    pub(crate) key: usize,
    pub(crate) client: IpAddr,
    pub(crate) counted: Option<Counted>,
    /// A header with the address of the client comes first, in the PROXY protocol.
    pub(crate) has_preface: bool,
    pub(crate) now: Instant,
}

pub(crate) struct Connection<S> {
    stream: SslStream<BoundedReads<S>>,
    number: u64,
    /// The connection's key in its worker.
    key: usize,
    client: IpAddr,
    /// Until the connection is dropped, its address has one more.
    counted: Option<Counted>,
    opened: Instant,
    phase: Phase,
    deadline: Instant,
    session: Option<Session>,
    exchange: Exchange,
    forward: Option<Box<Forward>>,
    streams: Option<Box<Streams>>,
    /// The next turn is due to a back end, not to the client.
    is_due_to_backend: bool,
    /// The client has closed its connection; it may have sent bytes before.
    has_client_closed: bool,
    /// The first message of the handshake was asked for.
    has_begun: bool,
    /// The end of the connection was counted and logged.
    concluded: bool,
    /// The worker has scheduled another turn.
    pub(crate) is_due_again: bool,
    /// The engine has paused the handshake until its batch of private-key operations runs.
    is_paused: bool,
    /// The kernel encrypts, so it can send files.
    kernel_encrypts: bool,
    /// The last step waits until the socket is writable.
    wants_write: bool,
    /// The socket is registered for writable events.
    is_registered_for_writing: bool,
}

impl<S: Transport> Connection<S> {
    pub(crate) fn new(
        stream: SslStream<BoundedReads<S>>,
        Opened { number, key, client, counted, has_preface, now }: Opened,
        limits: &Limits,
    ) -> Self {
        Self {
            stream,
            number,
            key,
            client,
            counted,
            opened: now,
            phase: if has_preface { Phase::Preface } else { Phase::Handshake },
            deadline: now + limits.handshake,
            session: None,
            exchange: Exchange::default(),
            forward: None,
            streams: None,
            is_due_to_backend: false,
            has_client_closed: false,
            has_begun: false,
            concluded: false,
            is_due_again: false,
            is_paused: false,
            kernel_encrypts: false,
            wants_write: false,
            is_registered_for_writing: false,
        }
    }

    /// Runs until the connection would block or its turn is used up.
    pub(crate) fn turn(&mut self, cx: &mut Context) -> Turn {
        self.wants_write = false;
        self.stream.get_mut().begin_turn();
        if let Some(streams) = &mut self.streams
            && !core::mem::take(&mut self.is_due_to_backend)
        {
            streams.wake_reading();
        }
        for _ in 0..STEPS_MAX {
            let step = match self.phase {
                Phase::Preface => self.preface(cx),
                Phase::Handshake => self.handshake(cx),
                Phase::Reading => self.read(cx),
                Phase::Sending => self.send(cx),
                Phase::Forwarding => self.forward(cx),
                Phase::Multiplexing => self.multiplex(cx),
                Phase::Closing => self.close(cx),
                Phase::Lingering => self.linger(cx),
            };
            match step {
                Step::Blocked if self.is_paused || self.stream.get_ref().is_exhausted() => {
                    return Turn::Again;
                }
                Step::Blocked => return Turn::Wait,
                Step::Done => return Turn::Close,
                Step::On => {}
            }
        }
        Turn::Again
    }

    /// The client has closed its connection.
    pub(crate) const fn client_has_closed(&mut self) {
        self.has_client_closed = true;
    }

    /// The next turn is due to the back end of this request.
    pub(crate) fn wake(&mut self, stream: usize) {
        if let Some(streams) = &mut self.streams {
            streams.wake(stream);
            self.is_due_to_backend = true;
        }
    }

    /// Returns whether the socket must be registered for writable events now.
    pub(crate) const fn begins_to_wait_for_writing(&mut self) -> bool {
        let begins = self.wants_write && !self.is_registered_for_writing;
        self.is_registered_for_writing |= begins;
        begins
    }

    pub(crate) fn socket(&mut self) -> &mut S {
        self.stream.get_mut().inner_mut()
    }

    pub(crate) const fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Returns the session, after the handshake.
    const fn session(&self) -> &Session {
        self.session.as_ref().expect("the phases after the handshake have a session")
    }

    /// Returns whether a step failed only because it would block, because it is paused, or because
    /// it waits for a session of Redis.
    fn blocked(&mut self, error: &openssl::ssl::Error) -> bool {
        self.is_paused = ffi::is_paused(error);
        self.wants_write = error.code() == ErrorCode::WANT_WRITE;
        let waits = [ErrorCode::WANT_READ, ErrorCode::WANT_CLIENT_HELLO_CB];
        self.is_paused || self.wants_write || waits.contains(&error.code())
    }

    /// Ends the wait for a session of Redis.
    pub(crate) fn session_answered(&self) {
        sessions::answered(self.stream.ssl());
    }

    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    /// Returns whether a turn may complete a paused handshake. Until then the connection must not
    /// be dropped, because OpenSSL would leak the stack of its job.
    pub(crate) const fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Counts the end of the connection, once, and logs incomplete responses.
    fn conclude(&mut self, end: End, cx: &mut Context) {
        if !self.concluded {
            self.concluded = true;
            self.cut_responses(cx);
            if end == End::Violation {
                cx.store.forget(self.stream.ssl());
            }
            cx.tally().ends[end as usize].add(1);
        }
    }
}
