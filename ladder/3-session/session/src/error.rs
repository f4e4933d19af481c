//! Errors of a measurement.

use std::io;

use openssl::error::ErrorStack;
use tollgate_record::{BadEstimate, BadSubject};

/// An error that prevents a figure. Its text is one line with advice.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The plan violates this rule.
    #[error("this plan cannot be measured: {0}")]
    Plan(&'static str),
    /// The server does not start in memory.
    #[error("the server does not start in memory: {0}")]
    Server(#[from] tollgate_server::Error),
    /// The client rejected its settings, or got no random bytes.
    #[error("the client in memory: {0}")]
    Client(#[from] tollgate_tls_client::Error),
    /// A libcrypto call failed.
    #[error(
        "OpenSSL refused {doing} ({}): check that OpenSSL 3 is installed",
        stack.to_string().lines().next().unwrap_or("no reason given")
    )]
    OpenSsl {
        /// The purpose of the call.
        doing: &'static str,
        /// OpenSSL's error stack.
        #[source]
        stack: ErrorStack,
    },
    /// The system refused a socket, a thread or a clock.
    #[error("the system refused {doing} ({why}): free what it is short of, try again")]
    System {
        /// The purpose of the call.
        doing: &'static str,
        /// The system's error.
        #[source]
        why: io::Error,
    },
    /// A session did not follow its protocol.
    #[error("{session} did not go as it should ({why}): please report the case")]
    Session {
        /// The session's subject.
        session: String,
        /// The reason.
        why: String,
    },
    /// The measurement was stopped, or a result was wrong.
    #[error(transparent)]
    Measurement(#[from] tollgate_bench::Error),
    /// Core cycles cannot be measured on this machine.
    #[error(
        "core cycles cannot be told on this machine: measure on one with a time stamp counter \
         (x86-64)"
    )]
    NoCycles,
    /// A record is not of the expected kind.
    #[error("{subject} is not {wanted}: give the record that says it")]
    Record {
        /// The expected kind.
        wanted: &'static str,
        /// The record's subject.
        subject: String,
    },
    /// A figure is not a number.
    #[error("a figure cannot be written down: {0}")]
    Figure(#[from] BadEstimate),
    /// A name is not valid in a subject.
    #[error("a figure cannot be written down: {0}")]
    Subject(#[from] BadSubject),
}

impl Error {
    pub(crate) fn openssl(doing: &'static str) -> impl FnOnce(ErrorStack) -> Self {
        move |stack| Self::OpenSsl { doing, stack }
    }

    pub(crate) fn system(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |why| Self::System { doing, why }
    }
}
