//! The server's connections without sockets, event loop and thread, to measure the cost of the
//! connections alone.
//!
//! A [`Worker`] is created from the same [`Config`] as a server and has the same TLS context,
//! connections and access log. The owner of a [`Connection`] transfers its bytes and calls
//! [`Connection::turn`]. Deadlines are not enforced.

use core::cell::RefCell;
use core::fmt;
use core::net::Ipv4Addr;
use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use openssl::error::ErrorStack;
use openssl::pkey::{PKeyRef, Private};
use openssl::ssl::{Ssl, SslContextBuilder, SslStream, SslVerifyMode};

use crate::config::Config;
use crate::connection::{self, Context};
pub use crate::connection::{Transport, Turn};
use crate::counters::SignerOperations;
use crate::engine::{Acceptor, Handshakes};
use crate::error::{Error, Unavailable};
pub use crate::evp::Source;
pub use crate::ffi::{end_pauses, is_paused};
use crate::issued::Issued;
use crate::log::{Journal, Writer};
use crate::setup::Setup;
use crate::workers::start_log;

/// The maximum time for writing the access log when a worker is dropped.
const LOG_TIMEOUT: Duration = Duration::from_secs(3);

/// A server's worker without listener, event loop and thread.
pub struct Worker {
    setup: Setup,
    writer: Option<Writer>,
    /// Connections use it one after the other.
    cx: RefCell<Context>,
    acceptor: Arc<Acceptor>,
}

impl Worker {
    /// Creates a worker. Of `config`, the address, the number of workers and cores are ignored. The
    /// engine may pause handshakes, as in a server: such a connection asks for another turn.
    ///
    /// # Errors
    ///
    /// Those of [`crate::Server::start`], except errors of sockets and threads.
    pub fn new(config: &Config) -> Result<Self, Error> {
        Self::create(config, Handshakes::MayPause)
    }

    /// Creates a worker whose handshakes never pause, as those of most servers.
    ///
    /// # Errors
    ///
    /// As [`Self::new`].
    pub fn without_pauses(config: &Config) -> Result<Self, Error> {
        Self::create(config, Handshakes::RunAtOnce)
    }

    fn create(config: &Config, handshakes: Handshakes) -> Result<Self, Error> {
        let setup = Setup::new(Config { workers: 1, pin: None, ..config.clone() })?;
        let acceptor = Arc::new(Acceptor::new(&setup, handshakes)?);
        let (writer, to) = start_log(&setup, setup.config.address)?.unzip();
        let mut cx = Context::new(0, &setup, Arc::clone(&acceptor));
        cx.journal = Journal::new(to, Arc::clone(setup.shared.log()));
        Ok(Self { setup, writer, cx: RefCell::new(cx), acceptor })
    }

    /// Creates a connection over `transport`, before its handshake.
    ///
    /// # Errors
    ///
    /// OpenSSL is out of memory.
    pub fn accept<S: Transport>(&self, transport: S) -> Result<Connection<'_, S>, Error> {
        let doing = || Unavailable::openssl("making a connection");
        let ssl = self.acceptor.connection().map_err(doing())?;
        let stream = SslStream::new(ssl, transport).map_err(doing())?;
        let cx = self.cx.borrow();
        cx.tally().connections.add(1);
        let number = cx.tally().connections.read();
        let client = Ipv4Addr::LOCALHOST.into();
        let now = Instant::now();
        let inner = connection::Connection::new(stream, (number, client), now, &cx.limits);
        Ok(Connection { inner, worker: self })
    }

    /// Creates a TLS context with the certificate, the key and the library context of the
    /// connections, and with their pauses. All other settings are OpenSSL's defaults. The worker must
    /// outlive the context.
    ///
    /// # Errors
    ///
    /// OpenSSL is out of memory.
    pub fn plain_context(&self) -> Result<SslContextBuilder, ErrorStack> {
        let mut context = self.acceptor.plain_context(Some(&self.setup.credentials))?;
        self.acceptor.let_pause(&mut context)?;
        Ok(context)
    }

    /// Creates a TLS connection with the settings of this server's connections, for callers that
    /// drive libssl themselves. The worker must outlive it. If its handshake is paused
    /// ([`is_paused`]), call it again; [`end_pauses`] must follow the handshake.
    ///
    /// # Errors
    ///
    /// OpenSSL is out of memory.
    pub fn connection(&self) -> Result<Ssl, ErrorStack> {
        self.acceptor.connection()
    }

    /// Returns the private-key operations of all connections so far; zero for an engine that does not
    /// count.
    #[must_use]
    pub fn operations(&self) -> SignerOperations {
        self.acceptor.operations()
    }

    /// Creates a TLS context for clients in the library context of the connections. It verifies
    /// chains up to the root of `server`, and presents `own`. The worker must outlive the context.
    ///
    /// # Errors
    ///
    /// OpenSSL is out of memory.
    pub fn client_context(
        &self,
        server: &Issued,
        own: Option<&Issued>,
    ) -> Result<SslContextBuilder, Error> {
        let doing = || Unavailable::openssl("making a TLS context of clients");
        let credentials = own.map(Issued::credentials).transpose()?;
        let mut context = self.acceptor.plain_context(credentials.as_ref()).map_err(doing())?;
        let root = server.trust_anchor().clone();
        context.cert_store_mut().add_cert(root).map_err(doing())?;
        context.set_verify(SslVerifyMode::PEER);
        Ok(context)
    }

    /// Returns the library context of the connections.
    #[must_use]
    pub fn source(&self) -> Source<'_> {
        Source { library: self.acceptor.library(), query: self.setup.config.engine.query() }
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
        let cx = self.cx.get_mut();
        let deadline = Instant::now() + LOG_TIMEOUT;
        let none = Journal::new(None, Arc::clone(cx.shared.log()));
        core::mem::replace(&mut cx.journal, none).finish(deadline);
        if let Some(writer) = self.writer.take() {
            writer.finish(deadline);
        }
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Worker")
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
        let cx = &mut *self.worker.cx.borrow_mut();
        cx.now = Instant::now();
        let turn = self.inner.turn(cx);
        cx.journal.tick(cx.now);
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
