//! Phases of a transaction, and causes of failures.

use core::fmt;
use std::borrow::Cow;
use std::io;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use tollgate_tls_client::{AlertDescription, SessionPhase};

use crate::messages::{messages, words};

words! {
    /// A phase of a transaction.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    Phase {
        /// The TCP connection.
        Connect = "connect",
        /// From the `ClientHello` to the `ServerHello`.
        Hello = "hello",
        /// The server's flight: certificate, key exchange, signature.
        KeyExchange = "key exchange",
        /// Waiting for the server's Finished.
        Finished = "finished",
        /// The client has finished the handshake; the server has not confirmed it yet.
        Confirm = "confirm",
        /// After confirmation: request and response.
        Data = "data",
        /// After the last body.
        Close = "close",
    }
}

impl From<SessionPhase> for Phase {
    fn from(phase: SessionPhase) -> Self {
        match phase {
            SessionPhase::Hello => Self::Hello,
            SessionPhase::KeyExchange => Self::KeyExchange,
            SessionPhase::Finished => Self::Finished,
            SessionPhase::Confirm => Self::Confirm,
            SessionPhase::Data => Self::Data,
            SessionPhase::Close => Self::Close,
        }
    }
}

messages! {
    /// The cause of a failure.
    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case", deny_unknown_fields)]
    Cause {
        Alert(number: u8) => "alert {}", AlertDescription(*number);
        Closed => "the server closed too early";
        Closes =>
            "the server closes before the last request of a connection: send fewer on each";
        Deadline => "deadline passed";
        Io(text: String) => "system error: {text}";
        LongBody => "a body longer than the plan says";
        Other => "other errors";
        Refused => "connection refused";
        Reset => "connection reset";
        Response(what: Cow<'static, str>) => "not an HTTP/1 response: {what}";
        Status(status: u16) => "HTTP status {status}";
        Violation(text: String) => "{text}";
        WrongLength { found_bytes: u64 } =>
            "a body of {found_bytes} bytes, not of the plan's length";
    }
}

impl Cause {
    /// Returns the cause for a socket error.
    pub(crate) fn of_io(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::Refused,
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Self::Reset,
            io::ErrorKind::TimedOut => Self::Deadline,
            io::ErrorKind::UnexpectedEof => Self::Closed,
            _ => Self::Io(error.to_string()),
        }
    }
}

/// A failed transaction.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The phase.
    pub phase: Phase,
    /// The cause.
    pub cause: Cause,
}

impl Failure {
    pub(crate) const fn new(phase: Phase, cause: Cause) -> Self {
        Self { phase, cause }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (phase {})", self.cause, self.phase)
    }
}
