//! Times in the units of the access log.

use core::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the microseconds since 1970 by the system's clock.
pub(crate) fn now_us() -> u64 {
    // 0 if the clock is before 1970.
    micros(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// Converts to whole microseconds.
pub(crate) fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
