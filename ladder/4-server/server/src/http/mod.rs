//! The subset of HTTP/1.1 (RFC 9110, RFC 9112) of a server of deterministic bodies and files.

mod body;
mod date;
mod files;
mod request;
mod response;

pub use body::{BODY_BYTES_MAX, BODY_PERIOD};
pub(crate) use body::{Body, RECORD_BYTES_MAX};
pub(crate) use date::Date;
pub(crate) use files::Root;
pub(crate) use request::{Parsed, Request, loggable_path, parse};
pub(crate) use response::{Response, Status};
