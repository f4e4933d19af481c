//! The server's connections without sockets, event loop and thread, to measure the cost of the
//! connections alone.
//!
//! A [`Worker`] is created from the same [`Config`] as a server and has the same TLS context,
//! connections and access log. The owner of a [`Connection`] transfers its bytes and calls
//! [`Connection::turn`]. Deadlines are not enforced.

use core::cell::RefCell;
use core::ffi::CStr;
use core::fmt;
use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use openssl::pkey::{PKeyRef, Private};
use openssl::ssl::SslStream;

use crate::config::{Config, Limits};
use crate::connection::{self, BoundedReads, Context};
pub use crate::connection::{Transport, Turn};
use crate::engine::Acceptor;
use crate::error::{Error, Unavailable};
pub use crate::evp::Source;
use crate::log::{Journal, Writer};
use crate::shared::Shared;
use crate::workers::{Setup, start_log};

/// The maximum time for writing the access log when a worker is dropped.
const LOG_TIMEOUT: Duration = Duration::from_secs(3);

/// A server's worker without listener, event loop and thread.
pub struct Worker {
    acceptor: Acceptor,
    query: &'static CStr,
    kind: KeyKind,
    shared: Arc<Shared>,
    limits: Limits,
    state: RefCell<State>,
}

/// State that connections use one after the other.
struct State {
    journal: Option<Journal>,
    writer: Option<Writer>,
    date: Date,
    scratch: Box<[u8; RECORD_BYTES_MAX]>,
    accepted: u64,
}

impl Worker {
    /// Creates a worker. Address, number of workers and cores of `config` are ignored.
    ///
    /// # Errors
    ///
    /// As [`crate::Server::start`], without those of sockets and threads.
    pub fn new(config: &Config) -> Result<Self, Error> {
        let Setup { config, credentials, tickets, shared } =
            Setup::new(Config { workers: 1, pin: None, ..config.clone() })?;
        let acceptor = Acceptor::new(&config, &credentials, &tickets)?;
        let kind = credentials.kind;
        let (writer, to) = start_log(&config, kind, config.address, &shared)?.unzip();
        let journal = Journal::new(to, Arc::clone(shared.log()));
        let state = State {
            journal: Some(journal),
            writer,
            date: Date::default(),
            scratch: Box::new([0; RECORD_BYTES_MAX]),
            accepted: 0,
        };
        Ok(Self {
            acceptor,
            query: config.engine.query(),
            kind,
            shared,
            limits: config.limits,
            state: RefCell::new(state),
        })
    }

    /// Creates a connection over `transport`, before its handshake.
    ///
    /// # Errors
    ///
    /// OpenSSL is out of memory.
    pub fn accept<S: Transport>(&self, transport: S) -> Result<Connection<'_, S>, Error> {
        let doing = || Unavailable::openssl("making a connection");
        let ssl = self.acceptor.connection().map_err(doing())?;
        let stream = SslStream::new(ssl, BoundedReads::new(transport)).map_err(doing())?;
        let mut state = self.state.borrow_mut();
        state.accepted += 1;
        self.shared.tally(0).connections.add(1);
        let number = state.accepted;
        let inner = connection::Connection::new(stream, number, Instant::now(), &self.limits);
        Ok(Connection { inner, worker: self })
    }

    /// Returns the library context of the connections.
    #[must_use]
    pub fn source(&self) -> Source<'_> {
        Source { library: self.acceptor.library(), query: self.query }
    }

    /// Returns the private key of the connections, in their library context.
    #[must_use]
    pub fn key(&self) -> &PKeyRef<Private> {
        self.acceptor.key()
    }
}

/// Writes the rest of the access log.
impl Drop for Worker {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        let deadline = Instant::now() + LOG_TIMEOUT;
        if let Some(journal) = state.journal.take() {
            journal.finish(deadline);
        }
        if let Some(writer) = state.writer.take() {
            writer.finish(deadline);
        }
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// A connection of the server. Its owner acts as the event loop.
pub struct Connection<'w, S> {
    inner: connection::Connection<S>,
    worker: &'w Worker,
}

impl<S: Transport> Connection<'_, S> {
    /// Runs until the connection would block: handshake, request, response, close.
    ///
    /// # Panics
    ///
    /// If the transport calls this method of another connection of the same worker.
    pub fn turn(&mut self) -> Turn {
        let mut state = self.worker.state.borrow_mut();
        let State { journal, date, scratch, .. } = &mut *state;
        let shared = &self.worker.shared;
        let journal = journal.as_mut().expect("the journal lives until the worker is dropped");
        let now = Instant::now();
        let mut cx = Context {
            now,
            limits: &self.worker.limits,
            tally: shared.tally(0),
            journal,
            shared,
            acceptor: &self.worker.acceptor,
            date,
            scratch,
            draining: false,
        };
        let turn = self.inner.turn(&mut cx);
        cx.journal.tick(now);
        turn
    }

    /// Returns the transport.
    pub fn transport(&mut self) -> &mut S {
        self.inner.socket()
    }
}

impl<S> fmt::Debug for Connection<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connection")
    }
}
