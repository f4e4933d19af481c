//! The timeout of clients.

use core::time::Duration;

use serde::{Deserialize, Serialize};

/// The timeout of clients. It begins with the connection. In an open loop it begins with the
/// arrival and includes the wait in the queue. After the timeout the client resets the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientTimeout {
    /// The timeout in milliseconds.
    pub ms: u64,
    /// Retries, each at once, on a new connection and with the full timeout.
    pub retries: u32,
}

impl ClientTimeout {
    /// The maximum number of retries.
    pub const RETRIES_MAX: u32 = 100;

    pub(crate) const fn duration(self) -> Duration {
        Duration::from_millis(self.ms)
    }
}
