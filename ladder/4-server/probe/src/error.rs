//! Errors of the probe.

use core::fmt;
use core::net::SocketAddr;
use std::io;

/// The reason why a probe failed. Its text is one line with a remedy.
#[derive(Debug)]
pub enum Error {
    /// The server has not consented to load, so it is not probed either.
    Consent(tollgate_load::Error),
    /// The server answers, but completes no handshake with this client.
    Handshake {
        /// The server's address.
        address: SocketAddr,
        /// The reason.
        why: String,
    },
    /// No address of the host answers.
    Unreachable {
        /// The server's host and port.
        authority: String,
        /// The error of the last address.
        error: io::Error,
    },
    /// The response of the path cannot be measured.
    Path {
        /// The URL.
        url: String,
        /// The reason.
        why: String,
    },
    /// The client certificate and key are invalid or do not belong together.
    ClientCertificate,
    /// The host name has no address.
    Unknown {
        /// The host.
        host: String,
        /// The resolver's error.
        why: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Consent(error) => write!(f, "{error}"),
            Self::Handshake { address, why } => write!(
                f,
                "{address} completes no handshake with this client: {why}; check that it supports \
                 TLS 1.2 or 1.3 on this port, and read its log"
            ),
            Self::Unreachable { authority, error }
                if error.kind() == io::ErrorKind::ConnectionRefused =>
            {
                write!(f, "nothing listens on {authority}: start the server, or give its address")
            }
            Self::Unreachable { authority, error } => {
                write!(f, "{authority} cannot be reached: {error}; check that the server runs")
            }
            Self::Path { url, why } => write!(f, "{url}: {why}"),
            Self::ClientCertificate => f.write_str(
                "client certificate and key do not fit: give a chain, the client's own first, and \
                 its key: RSA, P-256, P-384 or Ed25519",
            ),
            Self::Unknown { host, why } => {
                write!(f, "{host} has no address ({why}): check the name")
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
