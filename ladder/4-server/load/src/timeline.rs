//! The times of each transaction of a run.

use core::time::Duration;

use serde::{Deserialize, Serialize};

/// A completed transaction of an open loop. Both times count from the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moment {
    /// The intended start.
    pub arrived: Duration,
    /// The end, with the last byte of the last response.
    pub done: Duration,
}
