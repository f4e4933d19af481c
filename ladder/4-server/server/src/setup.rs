//! State that the threads of a server share: read-only, except for counters and the log.

use core::sync::atomic::{AtomicBool, Ordering};
use std::io::{self, Write as _};
use std::sync::{Arc, Once};

use crate::certificate::Credentials;
use crate::config::Config;
use crate::counters::{self, Counters, Signer, Tally};
use crate::error::Error;
use crate::http::Root;
use crate::kinds::Engine;
use crate::log::Log;
use crate::sessions::{Cache, TicketKey, make_ticket_key};

/// The configuration and the state that the workers share.
pub(crate) struct Setup {
    pub(crate) config: Config,
    pub(crate) credentials: Credentials,
    pub(crate) ticket_key: TicketKey,
    pub(crate) sessions: Arc<Cache>,
    pub(crate) root: Option<Root>,
    /// One for each worker, which alone writes it.
    pub(crate) tallies: Vec<Tally>,
    pub(crate) log: Option<Log>,
    /// Set when the server stops.
    pub(crate) is_stopping: AtomicBool,
}

impl Setup {
    /// Checks the configuration, and loads all that needs no socket.
    pub(crate) fn new(config: Config) -> Result<Self, Error> {
        config.check()?;
        Ok(Self {
            credentials: Credentials::load(&config.certificate)?,
            ticket_key: make_ticket_key().map_err(Error::openssl("making a ticket key"))?,
            sessions: Arc::default(),
            root: config.root.as_deref().map(Root::open).transpose()?,
            tallies: (0..config.workers).map(|_| Tally::default()).collect(),
            log: None,
            is_stopping: AtomicBool::new(false),
            config,
        })
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    /// Returns all counters. Prints a warning if the engine did fewer operations than expected.
    pub(crate) fn counters(&self) -> Counters {
        static FALLBACK: Once = Once::new();

        // Handshakes are read first: an operation is counted before its handshake.
        let mut counters = counters::sum(&self.tallies);
        (counters.log_lines, counters.log_lines_lost) =
            self.log.as_ref().map_or((0, 0), Log::counts);
        let engine = self.config.engine;
        let operations = (engine == Engine::Tollgate).then(|| counters::operations(&self.tallies));
        counters.signer = Signer { provider: engine.provider().to_owned(), operations };
        if let Some(operations) = operations
            && operations.total() < counters.handshakes_full
        {
            warn_once(&FALLBACK, || {
                format!(
                    "{} full handshakes but {} private-key operations of the configured engine: \
                     another provider signed; do not trust this run",
                    counters.handshakes_full,
                    operations.total()
                )
            });
        }
        counters
    }
}

/// Prints a warning on standard error the first time that this process has it.
pub(crate) fn warn_once(once: &Once, text: impl FnOnce() -> String) {
    once.call_once(|| {
        // Fails if standard error is closed.
        let _ = writeln!(io::stderr(), "tollgate serve: {}", text());
    });
}
