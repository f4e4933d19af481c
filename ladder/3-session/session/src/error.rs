//! Errors of a measurement.

use core::fmt;
use std::io;

use openssl::error::ErrorStack;

/// An error that prevents a figure. Its text is one line with advice.
#[derive(Debug)]
pub enum Error {
    /// The plan violates this rule.
    Plan(&'static str),
    /// The server does not start in memory.
    Server(tollgate_server::Error),
    /// The client rejected its settings, or got no random bytes.
    Client(tollgate_tls_client::Error),
    /// A libcrypto call failed.
    OpenSsl {
        /// The purpose of the call.
        doing: &'static str,
        /// OpenSSL's error stack.
        stack: ErrorStack,
    },
    /// The system refused a socket, a thread or a clock.
    System {
        /// The purpose of the call.
        doing: &'static str,
        /// The system's error.
        why: io::Error,
    },
    /// A session did not follow its protocol.
    Session {
        /// The session's subject.
        session: String,
        /// The reason.
        why: String,
    },
    /// The measurement was stopped, or a result was wrong.
    Measurement(tollgate_bench::Error),
    /// Core cycles cannot be measured on this machine.
    NoCycles,
    /// A record is not of the expected kind.
    Record {
        /// The expected kind.
        wanted: &'static str,
        /// The record's subject.
        subject: String,
    },
    /// A figure is not a number, or a name is not valid in a subject.
    Figure(String),
}

impl Error {
    pub(crate) fn openssl(doing: &'static str) -> impl FnOnce(ErrorStack) -> Self {
        move |stack| Self::OpenSsl { doing, stack }
    }

    pub(crate) fn system(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |why| Self::System { doing, why }
    }

    pub(crate) fn figure(why: impl fmt::Display) -> Self {
        Self::Figure(why.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan(rule) => write!(f, "this plan cannot be measured: {rule}"),
            Self::Server(error) => write!(f, "the server does not start in memory: {error}"),
            Self::Client(error) => write!(f, "the client in memory: {error}"),
            Self::OpenSsl { doing, stack } => {
                let text = stack.to_string();
                let line = text.lines().next().unwrap_or("no reason given");
                write!(f, "OpenSSL refused {doing} ({line}): check that OpenSSL 3 is installed")
            }
            Self::System { doing, why } => {
                write!(f, "the system refused {doing} ({why}): free what it is short of, try again")
            }
            Self::Session { session, why } => {
                write!(f, "{session} did not go as it should ({why}): please report the case")
            }
            Self::Measurement(error) => error.fmt(f),
            Self::NoCycles => f.write_str(
                "core cycles cannot be told on this machine: measure on one with a time stamp \
                 counter (x86-64)",
            ),
            Self::Record { wanted, subject } => {
                write!(f, "{subject} is not {wanted}: give the record that says it")
            }
            Self::Figure(why) => write!(f, "a figure cannot be written down: {why}"),
        }
    }
}

impl core::error::Error for Error {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Server(error) => Some(error),
            Self::Client(error) => Some(error),
            Self::OpenSsl { stack, .. } => Some(stack),
            Self::System { why, .. } => Some(why),
            Self::Measurement(error) => Some(error),
            _ => None,
        }
    }
}

impl From<tollgate_server::Error> for Error {
    fn from(error: tollgate_server::Error) -> Self {
        Self::Server(error)
    }
}

impl From<tollgate_tls_client::Error> for Error {
    fn from(error: tollgate_tls_client::Error) -> Self {
        Self::Client(error)
    }
}

impl From<tollgate_bench::Error> for Error {
    fn from(error: tollgate_bench::Error) -> Self {
        Self::Measurement(error)
    }
}
