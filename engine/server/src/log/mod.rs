//! The access log: one line of JSON per handshake and per request. Load generators
//! are checked against it.
//!
//! The format is described in `docs/access-log.md`. [`read()`] reads it back.

mod journal;
mod line;
mod read;
mod writer;

pub(crate) use journal::Journal;
pub use line::{HandshakeLine, Line, LostLine, Outcome, RequestLine, SCHEMA, StartLine, StopLine};
pub use read::{Problem, ReadError, Reader, read};
pub(crate) use writer::{Batches, LogState, Writer};
