//! Why a server could not be looked at.

use core::fmt;
use core::net::SocketAddr;
use std::io;

/// Why there is no probe, in one line that says who must act.
#[derive(Debug)]
pub enum Error {
    /// The server may not be put under load, so it is not looked at either.
    Consent(tollgate_load::Error),
    /// It answers, but completes no handshake with this client: why.
    Handshake {
        /// Where.
        address: SocketAddr,
        /// In what words.
        why: String,
    },
    /// No address of it answers.
    Unreachable {
        /// Its host and port.
        authority: String,
        /// What was said last.
        error: io::Error,
    },
    /// Its path gives no body that can be measured.
    Path {
        /// The URL.
        url: String,
        /// Why.
        why: String,
    },
    /// What clients are to show to it is no certificate with its key.
    Shown,
    /// Its name has no address.
    Unknown {
        /// Its host.
        host: String,
        /// What the resolver said.
        why: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Consent(error) => write!(f, "{error}"),
            Self::Handshake { address, why } => write!(
                f,
                "{address} completes no handshake with this client: {why}; see that it speaks TLS \
                 1.2 or 1.3 there, and what its log says"
            ),
            Self::Unreachable { authority, error }
                if error.kind() == io::ErrorKind::ConnectionRefused =>
            {
                write!(f, "nothing listens on {authority}: start the server, or give its address")
            }
            Self::Unreachable { authority, error } => {
                write!(f, "{authority} cannot be reached: {error}; see that the server runs")
            }
            Self::Path { url, why } => write!(f, "{url}: {why}"),
            Self::Shown => f.write_str(
                "no certificate with its key: give a chain, the client's own first, and its key: \
                 RSA, P-256, P-384 or Ed25519",
            ),
            Self::Unknown { host, why } => {
                write!(f, "{host} has no address ({why}): see that the name is right")
            }
        }
    }
}

impl core::error::Error for Error {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Consent(error) => Some(error),
            Self::Unreachable { error, .. } => Some(error),
            _ => None,
        }
    }
}
