//! The lines of the access log.

use core::net::IpAddr;
use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// The version of the format that this program writes, and the only one that it reads.
pub const SCHEMA: u64 = 2;

/// One line of the access log; `docs/access-log.md` says what each field means.
///
/// Names of protocols, suites and groups are those of the IANA registries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Line {
    /// A connection's handshake completed or failed: exactly one per accepted connection.
    Handshake(HandshakeLine),
    /// Lines before this one were lost.
    Lost(LostLine),
    /// A response was sent, completely or in part: exactly one per response.
    Request(RequestLine),
    /// The server started; the first line of each run.
    Start(StartLine),
    /// The server stopped after everything was written. A run without this line was cut off.
    Stop(StopLine),
}

/// The outcome of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The handshake failed.
    Failed,
    /// The handshake completed with a private-key operation.
    Full,
    /// The handshake completed by resuming a session.
    Resumed,
}

/// See [`Line::Handshake`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandshakeLine {
    /// The time at which the handshake ended, in microseconds since 1970.
    pub time_us: u64,
    /// The connection's number.
    pub connection: u64,
    /// The client's address.
    pub client: IpAddr,
    /// The outcome of the handshake.
    pub outcome: Outcome,
    /// "TLSv1.2" or "TLSv1.3"; absent if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Cow<'static, str>>,
    /// The cipher suite; absent if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<Cow<'static, str>>,
    /// The group; absent if it failed, and with RSA key exchange.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Cow<'static, str>>,
    /// The reason if it failed, a word of [`crate::Failure`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Cow<'static, str>>,
    /// The alert that the client sent, if that is the reason: RFC 8446 §6.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alert: Option<u8>,
    /// The time from accepting the connection to the end of the handshake, in microseconds.
    pub took_us: u64,
}

/// See [`Line::Request`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestLine {
    /// The time at which the response ended, in microseconds since 1970.
    pub time_us: u64,
    /// The connection's number.
    pub connection: u64,
    /// The client's address.
    pub client: IpAddr,
    /// The request's number within its connection, from one.
    pub request: u64,
    /// The connection's protocol.
    pub protocol: Cow<'static, str>,
    /// The connection's cipher suite.
    pub suite: Cow<'static, str>,
    /// The connection's group; absent with RSA key exchange.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Cow<'static, str>>,
    /// The connection resumed a session.
    pub resumed: bool,
    /// The method; "-" if the input was not a request.
    pub method: Cow<'static, str>,
    /// The target without its query, at most 256 bytes; "-" if the input was not a request.
    pub target: Cow<'static, str>,
    /// The version of HTTP: "1.0" or "1.1"; absent if the input was not a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<Cow<'static, str>>,
    /// The status of the response.
    pub status: u16,
    /// The number of bytes of the response's body that were sent.
    pub bytes: u64,
    /// The whole response was sent.
    pub complete: bool,
    /// The time from reading the request's head to the end of the response, in microseconds.
    pub took_us: u64,
}

/// See [`Line::Lost`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LostLine {
    /// The time at which this line was written, in microseconds since 1970.
    pub time_us: u64,
    /// The number of missing lines.
    pub lines: u64,
}

/// See [`Line::Start`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartLine {
    /// The time, in microseconds since 1970.
    pub time_us: u64,
    /// The version of this format, [`SCHEMA`].
    pub schema: u64,
    /// The address that the server listens on.
    pub address: String,
    /// The configured engine.
    pub engine: String,
    /// The OpenSSL provider that signs with the key.
    pub provider: String,
    /// The kind of the key, "rsa-2048".
    pub key: String,
    /// The number of worker threads.
    pub workers: u64,
    /// The version of OpenSSL.
    pub openssl: String,
}

/// See [`Line::Stop`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StopLine {
    /// The time, in microseconds since 1970.
    pub time_us: u64,
    /// The number of handshake and request lines written since the start.
    pub lines: u64,
    /// The number of handshake and request lines lost since the start.
    pub lost: u64,
}
