//! Times as the access log has them.

use core::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

/// Microseconds since 1970 by the system's clock.
pub(crate) fn now_us() -> u64 {
    // A clock before 1970 is not worth an error.
    micros(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// Whole microseconds.
pub(crate) fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
