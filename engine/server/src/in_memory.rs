//! The server's connections without sockets, loop and thread: for who measures what they cost.
//!
//! A [`Worker`] is made from the same [`Config`] as a server and has the same TLS context, the same
//! connections and the same access log. Whoever owns a [`Connection`] moves its bytes and says
//! when it has a turn. Deadlines are not looked at.

use core::cell::RefCell;
use core::ffi::CStr;
use core::fmt;
use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use openssl::pkey::{PKeyRef, Private};
use openssl::ssl::SslStream;

use crate::certificate::{Credentials, KeyKind};
use crate::config::{Config, Limits};
pub use crate::connection::Transport;
use crate::connection::{self, Context, Next, Patient};
use crate::crew::start_log;
use crate::engine::Acceptor;
use crate::error::{Error, Unavailable};
pub use crate::evp::Source;
use crate::http::{Date, RECORD_BYTES_MAX, Root};
use crate::log::{Journal, Writer};
use crate::notice::Notices;
use crate::server::ticket_keys;
use crate::shared::Shared;

/// How long the access log may take to be written when a worker is dropped.
const LOG_PATIENCE: Duration = Duration::from_secs(3);

/// A server's worker without listener, event loop and thread.
pub struct Worker {
    acceptor: Acceptor,
    query: &'static CStr,
    kind: KeyKind,
    shared: Shared,
    limits: Limits,
    belongings: RefCell<Belongings>,
}

/// What connections use in turn.
struct Belongings {
    journal: Option<Journal>,
    writer: Option<Writer>,
    date: Date,
    scratch: Box<[u8; RECORD_BYTES_MAX]>,
    accepted: u64,
}

impl Worker {
    /// A worker with everything that one of the server has. Address, number of workers and cores
    /// play no part.
    ///
    /// # Errors
    ///
    /// As [`crate::Server::start`], without those of sockets and threads.
    pub fn new(config: &Config) -> Result<Self, Error> {
        config.check()?;
        let credentials = Credentials::load(&config.certificate)?;
        let root = config.root.as_deref().map(Root::open).transpose()?;
        let tickets = ticket_keys()?;
        let acceptor = Acceptor::new(config, &credentials, &tickets)?;
        let notices = Arc::new(Notices::new(config.notify.clone()));
        let kind = credentials.kind;
        let shared = Shared::new(1, config.engine, kind, root, notices);
        let (writer, to) = start_log(config, kind, config.address, &shared)?.unzip();
        let journal = Journal::new(to, Arc::clone(shared.log()));
        let belongings = Belongings {
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
            belongings: RefCell::new(belongings),
        })
    }

    /// A connection over `transport`, before its handshake.
    ///
    /// # Errors
    ///
    /// No memory.
    pub fn accept<S: Transport>(&self, transport: S) -> Result<Connection<'_, S>, Error> {
        let doing = || Unavailable::openssl("making a connection");
        let ssl = self.acceptor.connection().map_err(doing())?;
        let stream = SslStream::new(ssl, Patient::new(transport)).map_err(doing())?;
        let mut belongings = self.belongings.borrow_mut();
        belongings.accepted += 1;
        self.shared.tally(0).connections.add(1);
        let number = belongings.accepted;
        let inner = connection::Connection::new(stream, number, Instant::now(), &self.limits);
        Ok(Connection { inner, worker: self })
    }

    /// Where its connections fetch everything from.
    #[must_use]
    pub fn source(&self) -> Source<'_> {
        Source { library: self.acceptor.library(), query: self.query }
    }

    /// The key that its connections sign or decrypt with, in its library context.
    #[must_use]
    pub fn key(&self) -> &PKeyRef<Private> {
        self.acceptor.key()
    }

    /// The kind of that key.
    #[must_use]
    pub const fn key_kind(&self) -> KeyKind {
        self.kind
    }
}

/// Writes what is left of the access log.
impl Drop for Worker {
    fn drop(&mut self) {
        let belongings = self.belongings.get_mut();
        let deadline = Instant::now() + LOG_PATIENCE;
        if let Some(journal) = belongings.journal.take() {
            journal.finish(deadline);
        }
        if let Some(writer) = belongings.writer.take() {
            writer.finish(deadline);
        }
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// A connection of the server; whoever owns it is the event loop.
pub struct Connection<'w, S> {
    inner: connection::Connection<S>,
    worker: &'w Worker,
}

/// What a connection wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Another turn: only fairness to other connections ended this one.
    Again,
    /// To be dropped: it is done, or broken.
    Close,
    /// Bytes from the client, or room for its own.
    Wait,
}

impl<S: Transport> Connection<'_, S> {
    /// Does all that can be done without waiting: handshake, request, response, close.
    ///
    /// # Panics
    ///
    /// If the transport gives another connection of the same worker a turn.
    pub fn turn(&mut self) -> Turn {
        let mut belongings = self.worker.belongings.borrow_mut();
        let Belongings { journal, date, scratch, .. } = &mut *belongings;
        let shared = &self.worker.shared;
        let journal = journal.as_mut().expect("a worker has its journal until it is dropped");
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
        let next = self.inner.turn(&mut cx);
        cx.journal.tick(now);
        match next {
            Next::Again => Turn::Again,
            Next::Close => Turn::Close,
            Next::Wait => Turn::Wait,
        }
    }

    /// Its transport.
    pub fn transport(&mut self) -> &mut S {
        self.inner.socket()
    }
}

impl<S> fmt::Debug for Connection<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connection")
    }
}
