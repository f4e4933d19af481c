//! Resumable sessions.

use core::fmt;
use core::time::Duration;

use crate::hash::Secret;
use crate::suite::Suite;

/// Maximum length of a ticket, in bytes: a `ClientHello` with the ticket must fit a record.
pub(crate) const TICKET_BYTES_MAX: usize = 4096;

/// Maximum number of sessions that a connection keeps until they are saved.
const KEPT_MAX: usize = 4;

/// The kind of a session. The kind determines how the server finds the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SessionKind {
    /// TLS 1.2: by the session ID, in the server's memory (RFC 5246 §7.3).
    SessionId,
    /// TLS 1.2: by a ticket that contains the session (RFC 5077).
    Ticket,
    /// TLS 1.3: by the pre-shared key of a ticket, with a new key agreement (`psk_dhe_ke`).
    Psk,
}

/// The identifier of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    SessionId,
    /// A ticket of TLS 1.2 or 1.3. The suite determines the version.
    Ticket,
}

/// A resumable session: [`Connection::save`](crate::Connection::save) fills it in, and
/// [`Connection::resume`](crate::Connection::resume) offers it. Dropping it wipes its secret.
///
/// A new value is empty. Saving into a used value reuses its memory.
#[derive(Default)]
pub struct SavedSession {
    pub(crate) of: Option<(Suite, Name)>,
    /// The session ID or the ticket.
    pub(crate) identity: Vec<u8>,
    /// TLS 1.2: the master secret; TLS 1.3: the pre-shared key.
    pub(crate) secret: Secret,
    /// TLS 1.2: true if the master secret is extended (RFC 7627).
    pub(crate) extended_master_secret: bool,
    /// Lifetime that the server specified, in seconds. In TLS 1.2, 0 means unspecified.
    pub(crate) lifetime_s: u32,
    /// TLS 1.3: `ticket_age_add`.
    pub(crate) age_add: u32,
    pub(crate) early_data_bytes_max: u32,
}

impl SavedSession {
    /// Returns whether there is no session.
    pub const fn is_empty(&self) -> bool {
        self.of.is_none()
    }

    /// Returns the kind of the session; `None` if there is none. In TLS 1.3 the settings determine
    /// whether the key is used alone.
    pub fn kind(&self) -> Option<SessionKind> {
        self.of.map(|(suite, name)| match name {
            _ if suite.is_tls13() => SessionKind::Psk,
            Name::SessionId => SessionKind::SessionId,
            Name::Ticket => SessionKind::Ticket,
        })
    }

    /// Returns the lifetime of the session; `None` if the server specified none. Servers specify
    /// none with a session ID.
    pub fn lifetime(&self) -> Option<Duration> {
        let tls13 = self.of.is_some_and(|(suite, _)| suite.is_tls13());
        let told = tls13 || self.lifetime_s > 0;
        told.then(|| Duration::from_secs(self.lifetime_s.into()))
    }

    /// Returns whether the session may be offered only once, like tickets of TLS 1.3 (RFC 8446
    /// §C.4).
    pub fn is_single_use(&self) -> bool {
        self.of.is_some_and(|(suite, _)| suite.is_tls13())
    }

    /// Returns the maximum bytes of early data in TLS 1.3; 0 if the server does not allow early
    /// data.
    pub const fn early_data_bytes_max(&self) -> u32 {
        self.early_data_bytes_max
    }

    /// Begins a new session with its identifier, reusing the memory.
    pub(crate) fn begin(&mut self, suite: Suite, name: Name, identity: &[u8], lifetime_s: u32) {
        self.of = Some((suite, name));
        self.identity.clear();
        self.identity.extend_from_slice(identity);
        self.lifetime_s = lifetime_s;
    }

    /// Copies another session, reusing the memory.
    pub(crate) fn copy(&mut self, other: &Self) {
        let Self { of, extended_master_secret, lifetime_s, age_add, .. } = *other;
        self.identity.clone_from(&other.identity);
        self.secret.clone_from(&other.secret);
        (self.of, self.extended_master_secret) = (of, extended_master_secret);
        (self.lifetime_s, self.age_add) = (lifetime_s, age_add);
        self.early_data_bytes_max = other.early_data_bytes_max;
    }

    /// Empties the session, and wipes the secret.
    pub(crate) fn clear(&mut self) {
        self.of = None;
        self.identity.clear();
        self.secret = Secret::default();
        self.early_data_bytes_max = 0;
    }
}

/// Prints neither secret nor ticket.
impl fmt::Debug for SavedSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SavedSession")
            .field("mechanism", &self.kind())
            .field("identity_bytes", &self.identity.len())
            .field("lifetime", &self.lifetime())
            .finish_non_exhaustive()
    }
}

/// The sessions of a connection that were not saved yet.
#[derive(Default)]
pub(crate) struct Kept {
    /// The first `count` sessions are complete. The next session is being filled in. The others are
    /// unused memory.
    sessions: Vec<SavedSession>,
    count: usize,
}

impl Kept {
    pub(crate) fn clear(&mut self) {
        self.sessions.iter_mut().for_each(SavedSession::clear);
        self.count = 0;
    }

    /// Returns the session that is being filled in; `None` if the maximum is reached.
    pub(crate) fn next(&mut self) -> Option<&mut SavedSession> {
        if self.count == KEPT_MAX {
            return None;
        }
        if self.sessions.len() == self.count {
            self.sessions.push(SavedSession::default());
        }
        self.sessions.get_mut(self.count)
    }

    /// Completes the session that is being filled in.
    pub(crate) const fn keep(&mut self) {
        self.count += 1;
    }

    /// Swaps a session with unused memory.
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
