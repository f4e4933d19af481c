//! The server's TLS connections without sockets, event loop and thread, to measure their cost
//! alone.
//!
//! A [`Worker`] is created from the same [`Config`] as a server and has the same TLS context.

use core::fmt;

use openssl::error::ErrorStack;
use openssl::pkey::{PKeyRef, Private};
use openssl::ssl::{Ssl, SslContextBuilder};

use crate::config::Config;
use crate::counters::SignerOperations;
use crate::engine::{Acceptor, Handshakes};
use crate::error::Error;
pub use crate::evp::Source;
pub use crate::ffi::{end_pauses, is_paused};
use crate::setup::Setup;

/// A server's worker without listener, event loop and thread.
pub struct Worker {
    setup: Setup,
    acceptor: Acceptor,
}

impl Worker {
    /// Creates a worker. Of `config`, the address, the number of workers, cores and the log are
    /// ignored. The engine may pause handshakes, as in a server.
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
        let acceptor = Acceptor::new(&setup, handshakes)?;
        Ok(Self { setup, acceptor })
    }

    /// Creates a TLS context with the certificate, the key and the library context of the
    /// connections, and with their pauses. All other settings are OpenSSL's defaults. The worker
    /// must outlive the context.
    ///
    /// # Errors
    ///
    /// OpenSSL is out of memory.
    pub fn plain_context(&self) -> Result<SslContextBuilder, ErrorStack> {
        self.acceptor.plain_context(&self.setup)
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

    /// Returns the private-key operations of all connections so far; zero for an engine that does
    /// not count.
    #[must_use]
    pub fn operations(&self) -> SignerOperations {
        self.acceptor.operations()
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

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Worker")
    }
}
