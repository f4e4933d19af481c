//! Phases of a transaction, and causes of failures.

use core::fmt;
use std::io;

use tollgate_tls_client::SessionPhase;

/// A phase of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// The TCP connection.
    Connect,
    /// From the `ClientHello` to the `ServerHello`.
    Hello,
    /// The server's flight: certificate, key exchange, signature.
    KeyExchange,
    /// Waiting for the server's Finished.
    Finished,
    /// The client has finished the handshake; the server has not confirmed it yet.
    Confirm,
    /// After confirmation: request and response.
    Data,
    /// After the last body.
    Close,
}

impl Phase {
    /// Every phase, in order.
    pub const ALL: [Self; 7] = [
        Self::Connect,
        Self::Hello,
        Self::KeyExchange,
        Self::Finished,
        Self::Confirm,
        Self::Data,
        Self::Close,
    ];

    /// One or two words, for tables and records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Hello => "hello",
            Self::KeyExchange => "key exchange",
            Self::Finished => "finished",
            Self::Confirm => "confirm",
            Self::Data => "data",
            Self::Close => "close",
        }
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

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The cause of a failure.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// The server sent this TLS alert.
    Alert(u8),
    /// The stream ended too early.
    Closed,
    /// The server announced a close before the last request of a connection.
    Closes,
    /// The phase exceeded the plan's limit.
    Deadline,
    /// A system call failed; the system's message.
    Io(String),
    /// The body has more bytes than the plan says.
    LongBody,
    /// One of too many distinct errors.
    Other,
    /// The connection was refused.
    Refused,
    /// The server reset the connection.
    Reset,
    /// The response is not HTTP/1.
    Response(&'static str),
    /// The status is not 200.
    Status(u16),
    /// The server violated TLS; the TLS client's message.
    Violation(String),
    /// The body does not have the plan's length.
    WrongLength {
        /// Bytes announced, or received when the stream ended.
        found_bytes: u64,
    },
}

impl Cause {
    /// The cause for a socket error.
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

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alert(number) => {
                write!(f, "alert {}", tollgate_tls_client::AlertDescription(*number))
            }
            Self::Closed => f.write_str("the server closed too early"),
            Self::Closes => f.write_str(
                "the server closes before the last request of a connection: send fewer on each",
            ),
            Self::Deadline => f.write_str("deadline passed"),
            Self::Io(text) => write!(f, "system error: {text}"),
            Self::LongBody => f.write_str("a body longer than the plan says"),
            Self::Other => f.write_str("other errors"),
            Self::Refused => f.write_str("connection refused"),
            Self::Reset => f.write_str("connection reset"),
            Self::Response(what) => write!(f, "not an HTTP/1 response: {what}"),
            Self::Status(status) => write!(f, "HTTP status {status}"),
            Self::Violation(text) => f.write_str(text),
            Self::WrongLength { found_bytes } => {
                write!(f, "a body of {found_bytes} bytes, not of the plan's length")
            }
        }
    }
}

/// A failed transaction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
