//! The access log: one line of JSON per handshake and per request. Load generators are checked
//! against it.
//!
//! `docs/access-log.md` describes the format. [`read()`] reads JSON back.

mod journal;
mod line;
mod read;
mod writer;

use core::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) use journal::Journal;
pub use line::{HandshakeLine, Line, LostLine, Outcome, RequestLine, SCHEMA, StartLine, StopLine};
pub use read::{Problem, ReadError, Reader, read};
pub(crate) use writer::{Batches, LogState, Writer};

/// Returns the microseconds since 1970 by the system's clock.
pub(crate) fn now_us() -> u64 {
    // 0 if the clock is before 1970.
    micros(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

pub(crate) fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
