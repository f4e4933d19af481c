//! Where in a transaction something went wrong, and what.

use core::fmt;
use std::io;

use tollgate_tls_client::Phase as TlsPhase;

/// The part of a transaction in which it failed.
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
    /// The handshake is done here; nothing shows yet that it is done there.
    Confirm,
    /// The server confirmed; request and body are under way.
    Data,
    /// The body is complete.
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

impl From<TlsPhase> for Phase {
    fn from(phase: TlsPhase) -> Self {
        match phase {
            TlsPhase::Hello => Self::Hello,
            TlsPhase::KeyExchange => Self::KeyExchange,
            TlsPhase::Finished => Self::Finished,
            TlsPhase::Confirm => Self::Confirm,
            TlsPhase::Data => Self::Data,
            TlsPhase::Close => Self::Close,
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What went wrong with a transaction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// The server sent this TLS alert.
    Alert(u8),
    /// The stream ended too early.
    Closed,
    /// The server says that it closes, before the last request of a connection.
    Closes,
    /// The phase lasted longer than the plan allows.
    Deadline,
    /// The system refused a call, in its own words.
    Io(String),
    /// The body has more bytes than the plan says.
    LongBody,
    /// More kinds of errors came than are told apart.
    Other,
    /// Nobody listens there.
    Refused,
    /// The server reset the connection.
    Reset,
    /// The response is none in HTTP/1.
    Response(&'static str),
    /// The response has another status than 200.
    Status(u16),
    /// The server broke TLS, in the client's words.
    Violation(String),
    /// The body has another length than the plan says.
    WrongLength {
        /// Bytes announced, or received when the stream ended.
        found_bytes: u64,
    },
}

impl Cause {
    /// The cause behind an error of a socket.
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
                "the server closes before the last request of a connection: ask for fewer on each",
            ),
            Self::Deadline => f.write_str("deadline passed"),
            Self::Io(text) => write!(f, "system error: {text}"),
            Self::LongBody => f.write_str("a body longer than the plan says"),
            Self::Other => f.write_str("other errors"),
            Self::Refused => f.write_str("connection refused"),
            Self::Reset => f.write_str("connection reset"),
            Self::Response(what) => write!(f, "not a response in HTTP/1: {what}"),
            Self::Status(status) => write!(f, "HTTP status {status}"),
            Self::Violation(text) => f.write_str(text),
            Self::WrongLength { found_bytes } => {
                write!(f, "a body of {found_bytes} bytes, not of the plan's length")
            }
        }
    }
}

/// A transaction that failed: where and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Failure {
    /// In which phase.
    pub phase: Phase,
    /// What happened.
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
