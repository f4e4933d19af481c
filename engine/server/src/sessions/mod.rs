//! Sessions that clients resume: a cache in memory, which all workers share, and Redis, which
//! several servers share.
//!
//! libssl asks for a session by a callback that must answer at once. So a worker looks into Redis
//! before: the callback for the `ClientHello` reads the ID that the client offers, and suspends the
//! handshake until Redis has answered or is late. The answer goes into the cache in memory, where
//! libssl's callback finds it.

mod cache;
mod counters;
mod identifier;
mod redis;
mod resp;
mod store;

use core::net::SocketAddr;
use core::time::Duration;
use std::path::PathBuf;

pub(crate) use cache::Cache;
pub use counters::{RedisCounters, SessionCounters};
pub(crate) use redis::{Owner, Password, Remote, password};
pub(crate) use store::{Store, answered, own, use_cache};

use crate::error::{Misuse, SESSIONS_MAX};

/// The cache of sessions, if [`Resumption::Cache`](crate::Resumption::Cache) is chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sessions {
    /// The maximum number of sessions in memory, 1 to [`SESSIONS_MAX`]. A new one replaces the one
    /// that was not used for the longest time.
    pub sessions_max: usize,
    /// Where several servers share sessions, if anywhere. They need the same
    /// [ticket keys](crate::Config::ticket_keys).
    pub redis: Option<Redis>,
}

impl Default for Sessions {
    fn default() -> Self {
        Self { sessions_max: 20_000, redis: None }
    }
}

/// A server of Redis. Sessions are encrypted and authenticated before they are sent to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redis {
    /// Its address.
    pub address: SocketAddr,
    /// The name of the user; `None` is Redis' default user.
    pub user: Option<String>,
    /// A file with the user's password, if Redis requires one.
    pub password: Option<PathBuf>,
    /// The longest time for an answer. Later ones count as none, and the worker does without Redis
    /// for a second.
    pub limit: Duration,
}

impl Redis {
    /// Connects to this address, without a password.
    #[must_use]
    pub const fn at(address: SocketAddr) -> Self {
        Self { address, user: None, password: None, limit: Duration::from_millis(50) }
    }
}

impl Sessions {
    pub(crate) fn check(&self) -> Result<(), Misuse> {
        if !(1..=SESSIONS_MAX).contains(&self.sessions_max) {
            return Err(Misuse::SessionsMax(self.sessions_max));
        }
        let limit = self.redis.as_ref().map(|redis| ("sessions.redis.limit", redis.limit));
        Misuse::of_times(limit.as_slice())
    }
}
