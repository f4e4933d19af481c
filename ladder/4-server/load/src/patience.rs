//! How long clients wait.

use core::time::Duration;

use serde::{Deserialize, Serialize};

/// Clients that do not wait for ever: from their start on, or in an open loop from the time that
/// they come, in line too. Then they close the connection, by a reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Patience {
    /// How long they wait.
    pub ms: u64,
    /// How often they begin again at once, on a new connection and with new patience, as who loads
    /// a page again does; then they give up.
    pub retries: u32,
}

impl Patience {
    /// The most that a client begins again.
    pub const RETRIES_MAX: u32 = 100;

    pub(crate) const fn duration(self) -> Duration {
        Duration::from_millis(self.ms)
    }
}
