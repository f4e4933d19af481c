//! Errors of the probe.

use core::net::SocketAddr;
use std::io;

tollgate_load::messages! {
    /// The reason why a probe failed. Its text is one line with a remedy.
    #[derive(Debug)]
    Error {
        Consent(error: tollgate_load::Error) => "{error}";
        Handshake { address: SocketAddr, why: String } =>
            "{address} completes no handshake with this client: {why}";
        Unreachable { authority: String, error: io::Error } =>
            "{}", match error.kind() {
                io::ErrorKind::ConnectionRefused => format!(
                    "nothing listens on {authority}: start the server, or give its address"
                ),
                _ => format!("{authority} cannot be reached: {error}; check that the server runs"),
            };
        Path { url: String, why: String } => "{url}: {why}";
        Unknown { host: String, why: String } => "{host} has no address ({why}): check the name";
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
