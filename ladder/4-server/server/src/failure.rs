//! Reasons of failed handshakes, as in counters and the access log.

use core::fmt;
use std::io;

use openssl::error::ErrorStack;
use openssl::ssl::ErrorCode;

/// The reason of a failed handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// The client sent a fatal alert; the log has its number.
    Alert,
    /// The client closed or reset the connection.
    Closed,
    /// The private-key operation, or something else on the server's side, failed.
    Internal,
    /// The server stopped.
    Stopped,
    /// The handshake took longer than the limit.
    Timeout,
    /// The client has nothing in common with the server, or broke a rule of TLS.
    Violation,
}

impl Failure {
    /// All reasons, with their words in counters and logs.
    pub const ALL: [(Self, &str); 6] = [
        (Self::Alert, "alert"),
        (Self::Closed, "closed"),
        (Self::Internal, "internal"),
        (Self::Stopped, "stopped"),
        (Self::Timeout, "timeout"),
        (Self::Violation, "violation"),
    ];

    /// Returns the word in counters and logs.
    #[must_use]
    pub const fn word(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// `SSL_R_UNEXPECTED_EOF_WHILE_READING` of `openssl/sslerr.h`.
const UNEXPECTED_EOF: i32 = 294;
/// `ERR_LIB_SSL` of `openssl/err.h`.
const LIB_SSL: i32 = 20;
/// Reasons from here on are common to all libraries, `ERR_R_FATAL` and so on: memory, internal.
const COMMON_REASONS: i32 = 1 << 18;
/// The reason of a received alert is this offset plus the alert's number: `SSL_AD_REASON_OFFSET`.
const ALERT_REASONS: i32 = 1000;

/// The failure of a connection, from an error of OpenSSL or the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) failure: Failure,
    /// The number of the alert that the client sent, RFC 8446 §6.
    pub(crate) alert: Option<u8>,
}

impl Broken {
    pub(crate) const fn by(failure: Failure) -> Self {
        Self { failure, alert: None }
    }

    /// Classifies an error of libssl other than "would block".
    pub(crate) fn new(error: &openssl::ssl::Error) -> Self {
        if let Some(stack) = error.ssl_error() {
            return Self::of_stack(stack);
        }
        match error.io_error().map(io::Error::kind) {
            None | Some(io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe) => {
                Self::by(Failure::Closed)
            }
            Some(_) if error.code() == ErrorCode::SYSCALL => Self::by(Failure::Closed),
            Some(_) => Self::by(Failure::Internal),
        }
    }

    fn of_stack(stack: &ErrorStack) -> Self {
        // Errors of libcrypto precede the error of libssl. The error of libssl decides. For a point
        // that is not on its curve, libssl's error blames the client; for a failed signature, it
        // blames the server.
        let verdict = stack.errors().iter().find(|error| error.library_code() == LIB_SSL);
        let Some(verdict) = verdict else {
            return Self::by(Failure::Internal);
        };
        let reason = verdict.reason_code();
        if let Ok(alert) = u8::try_from(reason - ALERT_REASONS) {
            return Self { failure: Failure::Alert, alert: Some(alert) };
        }
        Self::by(match reason {
            UNEXPECTED_EOF => Failure::Closed,
            _ if reason >= COMMON_REASONS => Failure::Internal,
            _ => Failure::Violation,
        })
    }
}
