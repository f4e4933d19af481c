//! The values that the threads of a server start from.

use std::sync::Arc;

use crate::certificate::Credentials;
use crate::config::Config;
use crate::error::{Error, Unavailable};
use crate::http::Root;
use crate::notice::Notices;
use crate::sessions::{Cache, TicketKey, make_ticket_key};
use crate::shared::Shared;

/// The values that every worker thread starts from.
pub(crate) struct Setup {
    pub(crate) config: Config,
    pub(crate) credentials: Credentials,
    pub(crate) ticket_key: TicketKey,
    pub(crate) sessions: Arc<Cache>,
    pub(crate) shared: Arc<Shared>,
}

impl Setup {
    /// Checks the configuration, and loads all that needs no socket.
    pub(crate) fn new(config: Config) -> Result<Self, Error> {
        config.check()?;
        let credentials = Credentials::load(&config.certificate)?;
        let root = config.root.as_deref().map(Root::open).transpose()?;
        let ticket_key = make_ticket_key().map_err(Unavailable::openssl("making a ticket key"))?;
        let notices = Arc::new(Notices::new(config.notify.clone()));
        let shared = Arc::new(Shared::new(&config, root, notices));
        Ok(Self { config, credentials, ticket_key, sessions: Arc::default(), shared })
    }
}
