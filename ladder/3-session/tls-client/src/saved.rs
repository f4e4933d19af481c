//! Sessions that a server may resume, and those that a connection keeps for its owner.

use core::fmt;
use core::time::Duration;

use crate::hash::Secret;
use crate::suite::Suite;

/// The longest ticket that is kept, in bytes: a `ClientHello` with it is to fit a record.
pub(crate) const TICKET_BYTES_MAX: usize = 4096;

/// Sessions of one connection that are kept; a server that gives more wastes them.
const KEPT_MAX: usize = 4;

/// How a server finds the session that is to be resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mechanism {
    /// TLS 1.2: by its session ID, in the server's memory (RFC 5246 §7.3).
    SessionId,
    /// TLS 1.2: the ticket holds it (RFC 5077).
    Ticket,
    /// TLS 1.3: by the pre-shared key of a ticket, with a new key agreement (`psk_dhe_ke`).
    Psk,
    /// TLS 1.3: by the pre-shared key of a ticket alone (`psk_ke`).
    PskAlone,
}

impl Mechanism {
    /// Every mechanism.
    pub const ALL: [Self; 4] = [Self::SessionId, Self::Ticket, Self::Psk, Self::PskAlone];

    /// In one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SessionId => "session-id",
            Self::Ticket => "ticket",
            Self::Psk => "psk",
            Self::PskAlone => "psk-ke",
        }
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a server calls a session by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    SessionId,
    /// Of TLS 1.2 or 1.3, as the suite says.
    Ticket,
}

/// A session that its server may resume: what [`Connection::save`](crate::Connection::save) fills
/// in, and [`Connection::resume`](crate::Connection::resume) offers. Its secret is wiped when it is
/// dropped.
///
/// A new one is empty. One that was used before is filled again in the same memory.
#[derive(Default)]
pub struct SavedSession {
    pub(crate) of: Option<(Suite, Name)>,
    /// The session ID or the ticket.
    pub(crate) identity: Vec<u8>,
    /// TLS 1.2: the master secret; TLS 1.3: the pre-shared key.
    pub(crate) secret: Secret,
    /// TLS 1.2: how the master secret was made.
    pub(crate) extended_master_secret: bool,
    /// What the server said, in seconds; TLS 1.2: 0 for nothing.
    pub(crate) lifetime_s: u32,
    /// TLS 1.3: what is added to the age of the ticket.
    pub(crate) age_add: u32,
    pub(crate) early_data_bytes_max: u32,
}

impl SavedSession {
    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.of.is_none()
    }

    /// How the server would find it; none if it is empty. In TLS 1.3 the settings say whether the
    /// key is used alone.
    pub fn mechanism(&self) -> Option<Mechanism> {
        self.of.map(|(suite, name)| match name {
            _ if suite.is_tls13() => Mechanism::Psk,
            Name::SessionId => Mechanism::SessionId,
            Name::Ticket => Mechanism::Ticket,
        })
    }

    /// For how long the server keeps it, as it says; none if it does not say, as with session IDs.
    pub fn lifetime(&self) -> Option<Duration> {
        let tls13 = self.of.is_some_and(|(suite, _)| suite.is_tls13());
        let told = tls13 || self.lifetime_s > 0;
        told.then(|| Duration::from_secs(self.lifetime_s.into()))
    }

    /// Whether it may be offered once only: so are tickets of TLS 1.3 (RFC 8446 §C.4).
    pub fn is_single_use(&self) -> bool {
        self.of.is_some_and(|(suite, _)| suite.is_tls13())
    }

    /// TLS 1.3: the most early data that the server takes with it; 0 for none.
    pub const fn early_data_bytes_max(&self) -> u32 {
        self.early_data_bytes_max
    }

    /// Makes it a copy, in the same memory.
    pub(crate) fn copy(&mut self, other: &Self) {
        let Self { of, extended_master_secret, lifetime_s, age_add, .. } = *other;
        self.identity.clone_from(&other.identity);
        self.secret.clone_from(&other.secret);
        (self.of, self.extended_master_secret) = (of, extended_master_secret);
        (self.lifetime_s, self.age_add) = (lifetime_s, age_add);
        self.early_data_bytes_max = other.early_data_bytes_max;
    }

    /// Empties it, and wipes the secret.
    pub(crate) fn clear(&mut self) {
        self.of = None;
        self.identity.clear();
        self.secret = Secret::default();
        self.early_data_bytes_max = 0;
    }
}

/// What it is: neither the secret nor the ticket.
impl fmt::Debug for SavedSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SavedSession")
            .field("mechanism", &self.mechanism())
            .field("identity_bytes", &self.identity.len())
            .field("lifetime", &self.lifetime())
            .finish_non_exhaustive()
    }
}

/// The sessions of one connection that its owner has not taken yet.
#[derive(Default)]
pub(crate) struct Kept {
    /// The first `count` are whole, the one behind them is being filled in; the rest is memory.
    sessions: Vec<SavedSession>,
    count: usize,
}

impl Kept {
    pub(crate) fn clear(&mut self) {
        self.sessions.iter_mut().for_each(SavedSession::clear);
        self.count = 0;
    }

    /// The one that is being filled in; none if enough are kept.
    pub(crate) fn next(&mut self) -> Option<&mut SavedSession> {
        if self.count == KEPT_MAX {
            return None;
        }
        if self.sessions.len() == self.count {
            self.sessions.push(SavedSession::default());
        }
        self.sessions.get_mut(self.count)
    }

    /// The one that was being filled in is whole.
    pub(crate) const fn keep(&mut self) {
        self.count += 1;
    }

    /// Gives one away, for the memory of another.
    pub(crate) fn take(&mut self, into: &mut SavedSession) -> bool {
        let Some(last) = self.count.checked_sub(1) else {
            return false;
        };
        self.count = last;
        core::mem::swap(into, &mut self.sessions[last]);
        self.sessions[last].clear();
        true
    }
}
