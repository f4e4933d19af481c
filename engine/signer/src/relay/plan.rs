//! The upstream signers that all workers share: their settings, certificates and counts.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

use crate::config::RelaySettings;
use crate::counters::UpstreamCounts;
use crate::error::Error;
use crate::tls::Tls;

/// The upstream signers of a policy.
pub(crate) struct Plan {
    pub(crate) settings: RelaySettings,
    pub(crate) tls: Tls,
    /// In the order of the settings.
    pub(crate) statuses: Vec<Arc<Status>>,
}

/// The state of an upstream signer. It outlives reloads.
#[derive(Default)]
pub(crate) struct Status {
    name: String,
    /// The operator has read that it is not there.
    pub(crate) is_reported: AtomicBool,
    /// Workers with a connection.
    pub(crate) connected: AtomicU64,
    pub(crate) done: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) wrong: AtomicU64,
    pub(crate) lost: AtomicU64,
}

impl Plan {
    /// Reads the certificates. Returns the old plan if nothing has changed, so that connections stay.
    pub(crate) fn load(
        settings: &RelaySettings,
        old: Option<&Arc<Self>>,
    ) -> Result<Arc<Self>, Error> {
        let tls = Tls::client(settings)?;
        if let Some(old) = old
            && old.settings == *settings
            && old.tls.files == tls.files
        {
            return Ok(Arc::clone(old));
        }
        let status = |name: &String| {
            let same = old.and_then(|old| old.statuses.iter().find(|it| it.name == *name));
            let new = || Arc::new(Status { name: name.clone(), ..Status::default() });
            same.map_or_else(new, Arc::clone)
        };
        let statuses = settings.upstreams.iter().map(|upstream| status(&upstream.name)).collect();
        Ok(Arc::new(Self { settings: settings.clone(), tls, statuses }))
    }

    pub(crate) fn counts(&self) -> Vec<UpstreamCounts> {
        self.statuses.iter().map(|status| status.read()).collect()
    }
}

impl Status {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    fn read(&self) -> UpstreamCounts {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        UpstreamCounts {
            name: self.name.clone(),
            connected: read(&self.connected),
            done: read(&self.done),
            refused: read(&self.refused),
            wrong: read(&self.wrong),
            lost: read(&self.lost),
        }
    }
}
