//! The kinds of handshakes.

use tollgate_load::Mechanism;

/// The handshake of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Handshake {
    /// A full handshake: the server presents a certificate and signs.
    #[default]
    Full,
    /// Resumes a session by its ID, from the server's cache; TLS 1.2 only.
    SessionId,
    /// Resumes a session by a ticket; in TLS 1.3 with a new key agreement.
    Ticket,
}

impl Handshake {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Full, Self::SessionId, Self::Ticket];

    /// Returns the name in options.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::SessionId => "session-id",
            Self::Ticket => "ticket",
        }
    }

    /// Returns the mechanism of resumption in this version; `None` for a full handshake.
    #[must_use]
    pub const fn resumed_by(self, is_tls13: bool) -> Option<Mechanism> {
        match self {
            Self::Full => None,
            Self::SessionId => Some(Mechanism::SessionId),
            Self::Ticket => Some(Mechanism::usual(is_tls13)),
        }
    }
}
