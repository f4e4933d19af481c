//! The values that the threads of a server start from, and certificates that are replaced while it
//! runs.

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fs, io};

use crate::certificate::Credentials;
use crate::config::Config;
use crate::engine::{Acceptor, Handshakes};
use crate::error::{Error, Unavailable};
use crate::http::Root;
use crate::identities::Identities;
use crate::notice::Notices;
use crate::sessions::{Cache, Password, Remote, Store, password};
use crate::shared::Shared;
use crate::tickets::Tickets;

/// The values that every worker thread starts from.
pub(crate) struct Setup {
    pub(crate) config: Config,
    pub(crate) identities: Renewable,
    pub(crate) tickets: Arc<Tickets>,
    pub(crate) sessions: Arc<Cache>,
    /// The password of Redis.
    pub(crate) password: Option<Password>,
    pub(crate) shared: Arc<Shared>,
}

impl Setup {
    /// Checks the configuration, and loads all that needs no socket.
    pub(crate) fn new(config: Config) -> Result<Self, Error> {
        config.check()?;
        if config.kernel_tls {
            kernel_has_tls().map_err(Unavailable::system("kernel TLS"))?;
        }
        let identities = Arc::new(config.identities(None)?);
        let root = config.root.as_deref().map(Root::open).transpose()?;
        let tickets = Arc::new(Tickets::new(config.ticket_keys.as_deref())?);
        let sessions = Arc::new(Cache::new(config.sessions.sessions_max));
        let redis = config.sessions.redis.as_ref();
        let file = redis.and_then(|redis| redis.password.as_deref());
        let password = file.map(password).transpose()?;
        let notices = Arc::new(Notices::new(config.notify.clone()));
        let kind = identities.default().key.kind;
        identities.new_since(None).filter_map(Credentials::notice).for_each(|it| notices.say(&it));
        let shared = Shared::new(&config, kind, root, notices, &sessions);
        let identities = Renewable::new(identities);
        let shared = Arc::new(shared);
        Ok(Self { config, identities, tickets, sessions, password, shared })
    }

    /// Checks that the engine signs with all keys of these certificates, except for those of `old`,
    /// which were checked before.
    pub(crate) fn check(
        &self,
        identities: &Arc<Identities>,
        old: Option<&Identities>,
    ) -> Result<(), Error> {
        let acceptor = self.acceptor(identities, &self.store(None), Handshakes::MayPause)?;
        acceptor.check_new(&self.config, identities, old)
    }

    pub(crate) fn acceptor(
        &self,
        identities: &Arc<Identities>,
        store: &Arc<Store>,
        handshakes: Handshakes,
    ) -> Result<Acceptor, Error> {
        Acceptor::new(&self.config, identities, store, handshakes)
    }

    /// Returns the keys and sessions of a worker.
    pub(crate) fn store(&self, remote: Option<Remote>) -> Arc<Store> {
        Arc::new(Store::new(&self.tickets, &self.sessions, remote))
    }
}

/// The names of protocols that the kernel adds to a connection.
const UPPER_LAYERS: &str = "/proc/sys/net/ipv4/tcp_available_ulp";

/// Checks that the kernel can encrypt records.
fn kernel_has_tls() -> io::Result<()> {
    let names = fs::read_to_string(UPPER_LAYERS).map_err(|why| {
        let remedy = "let the server read it, or leave `kernel_tls` out";
        io::Error::new(why.kind(), format!("{UPPER_LAYERS}: {why}: {remedy}"))
    })?;
    if names.split_whitespace().any(|name| name == "tls") {
        return Ok(());
    }
    let why = "load its module with `modprobe tls`, or leave `kernel_tls` out";
    Err(io::Error::new(io::ErrorKind::Unsupported, why))
}

/// The certificates that workers use, and their replacement while the server runs.
pub(crate) struct Renewable {
    /// The number of replacements.
    generation: AtomicU64,
    newest: Mutex<Arc<Identities>>,
}

impl Renewable {
    fn new(identities: Arc<Identities>) -> Self {
        Self { generation: AtomicU64::new(0), newest: Mutex::new(identities) }
    }

    pub(crate) fn newest(&self) -> Arc<Identities> {
        Arc::clone(&self.newest.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn replace(&self, identities: Arc<Identities>) {
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = identities;
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// Returns the newest certificates if `seen` is another generation, and updates `seen`.
    pub(crate) fn newer(&self, seen: &mut u64) -> Option<Arc<Identities>> {
        let generation = self.generation.load(Ordering::Acquire);
        (core::mem::replace(seen, generation) != generation).then(|| self.newest())
    }
}
