//! The subset of HTTP/1.1 (RFC 9110, RFC 9112) for a proxy and a server of deterministic bodies and
//! files, and its mapping to HTTP/2 (RFC 9113).

mod body;
mod date;
mod fields;
mod files;
mod framing;
mod heads;
mod mapping;
mod request;
mod response;
mod route;

pub use body::{BODY_BYTES_MAX, BODY_PERIOD};
pub(crate) use body::{Body, RECORD_BYTES_MAX};
pub(crate) use date::Date;
pub(crate) use fields::loggable_path;
pub(crate) use files::Root;
pub(crate) use framing::{Framing, LAST_CHUNK, Malformed};
pub(crate) use heads::{Answer, ParsedAnswer, parse_answer, write_answer_head, write_request_head};
pub(crate) use mapping::{Mapped, map_answer, map_request};
pub(crate) use request::{Parsed, Request, Status, host, parse};
pub(crate) use response::{Head, Response, own_head};
