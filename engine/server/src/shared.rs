//! State that the workers of a server share. The state is read-only, except for the counters, of
//! which each worker has its own set.

use core::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crate::addresses::{Addresses, Counted};
use crate::config::{Config, Resumption};
use crate::counters::{self, Counters, Signer, Tally};
use crate::failure::Failure;
use crate::http::Root;
use crate::kinds::{Engine, KeyKind};
use crate::log::LogState;
use crate::metrics;
use crate::notice::{Notice, Notices};
use crate::proxy::Backends;
use crate::sessions::Cache;

/// State that the workers of a server share.
pub(crate) struct Shared {
    tallies: Vec<Tally>,
    engine: Engine,
    key: KeyKind,
    root: Option<Root>,
    log: Arc<LogState>,
    notices: Arc<Notices>,
    backends: Arc<Backends>,
    addresses: Option<Arc<Addresses>>,
    sessions: Option<Arc<Cache>>,
    uses_redis: bool,
    /// Set when the server stops: the time by which the workers must finish.
    stop: OnceLock<Instant>,
}

impl Shared {
    pub(crate) fn new(
        config: &Config,
        key: KeyKind,
        root: Option<Root>,
        notices: Arc<Notices>,
        sessions: &Arc<Cache>,
    ) -> Self {
        let backends = config.proxy.as_ref().map(|proxy| Backends::new(&proxy.backends));
        let per_address = config.limits.connections_per_address;
        let has_cache = config.resumption == Resumption::Cache;
        Self {
            tallies: (0..config.workers).map(|_| Tally::default()).collect(),
            engine: config.engine,
            key,
            root,
            log: Arc::new(LogState::new(config.log_format, Arc::clone(&notices))),
            notices,
            backends: Arc::new(backends.unwrap_or_default()),
            addresses: per_address.map(|max| Arc::new(Addresses::new(max))),
            sessions: has_cache.then(|| Arc::clone(sessions)),
            uses_redis: config.sessions.redis.is_some(),
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

    pub(crate) const fn backends(&self) -> &Arc<Backends> {
        &self.backends
    }

    /// Counts a connection of this client; fails if its address has too many.
    pub(crate) fn enter(&self, client: IpAddr) -> Result<Option<Counted>, Failure> {
        let Some(addresses) = &self.addresses else {
            return Ok(None);
        };
        addresses.enter(client).map(Some).ok_or(Failure::TooMany)
    }

    pub(crate) const fn notices(&self) -> &Arc<Notices> {
        &self.notices
    }

    pub(crate) fn say(&self, notice: &Notice) {
        self.notices.say(notice);
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
        counters.backends = self.backends.counters();
        counters.sessions = self.sessions.as_ref().map(|it| it.counters(self.uses_redis));
        let operations = match self.engine {
            Engine::OpenSsl => None,
            Engine::Tollgate => Some(counters::operations(&self.tallies)),
        };
        counters.signer = Signer { provider: self.engine.provider().to_owned(), operations };
        if let Some(operations) = operations
            && operations.total() < counters.handshakes_full
        {
            self.say(&Notice::SilentFallback {
                full_handshakes: counters.handshakes_full,
                private_operations: operations.total(),
            });
        }
        counters
    }

    /// Returns the text of `/metrics` and its media type.
    pub(crate) fn metrics(&self) -> (&'static str, String) {
        metrics::text(self.counters(), self.engine.name(), self.key.to_string())
    }
}
