//! State that the workers of a server share. The state is read-only, except for the counters, of
//! which each worker has its own set.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crate::config::Config;
use crate::counters::{self, Counters, Signer, Tally};
use crate::http::Root;
use crate::kinds::Engine;
use crate::log::LogState;
use crate::notice::{Notice, Notices};

/// State that the workers of a server share.
pub(crate) struct Shared {
    tallies: Vec<Tally>,
    engine: Engine,
    root: Option<Root>,
    log: Arc<LogState>,
    notices: Arc<Notices>,
    /// Set when the server stops: the time by which the workers must finish.
    stop: OnceLock<Instant>,
}

impl Shared {
    pub(crate) fn new(config: &Config, root: Option<Root>, notices: Arc<Notices>) -> Self {
        Self {
            tallies: (0..config.workers).map(|_| Tally::default()).collect(),
            engine: config.engine,
            root,
            log: Arc::new(LogState::new(Arc::clone(&notices))),
            notices,
            stop: OnceLock::new(),
        }
    }

    pub(crate) fn tally(&self, worker: usize) -> &Tally {
        &self.tallies[worker]
    }

    pub(crate) const fn root(&self) -> Option<&Root> {
        self.root.as_ref()
    }

    pub(crate) const fn log(&self) -> &Arc<LogState> {
        &self.log
    }

    pub(crate) fn notify(&self, notice: &Notice) {
        self.notices.notify(notice);
    }

    /// Makes the workers finish before `deadline`.
    pub(crate) fn stop(&self, deadline: Instant) {
        self.stop.set(deadline).expect("a server stops once");
    }

    /// Returns the time by which the workers must finish; `None` unless the server is stopping.
    pub(crate) fn stop_deadline(&self) -> Option<Instant> {
        self.stop.get().copied()
    }

    /// Returns all counters. Sends a notice if the engine did fewer operations than expected.
    pub(crate) fn counters(&self) -> Counters {
        // Handshakes are read first: an operation is counted before its handshake.
        let mut counters = counters::sum(&self.tallies);
        counters.log_lines = self.log.written();
        counters.log_lines_lost = self.log.lost();
        let operations = match self.engine {
            Engine::OpenSsl => None,
            Engine::Tollgate => Some(counters::operations(&self.tallies)),
        };
        counters.signer = Signer { provider: self.engine.provider().to_owned(), operations };
        if let Some(operations) = operations
            && operations.total() < counters.handshakes_full
        {
            self.notify(&Notice::SilentFallback {
                full_handshakes: counters.handshakes_full,
                private_operations: operations.total(),
            });
        }
        counters
    }
}
