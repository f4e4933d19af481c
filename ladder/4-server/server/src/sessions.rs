//! Sessions in memory, which all workers share, and the key of tickets.

use core::time::Duration;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use openssl::error::ErrorStack;
use openssl::ssl::{SslContextBuilder, SslRef, SslSession, SslSessionCacheMode, SslSessionRef};
use zeroize::Zeroizing;

/// The maximum number of sessions in memory.
const SESSIONS_MAX: usize = 20_000;
/// How long a session is kept: as long as OpenSSL accepts it by default.
const LIFETIME: Duration = Duration::from_secs(2 * 60 * 60);
/// The length of a key of tickets: its name, a key of HMAC-SHA-256 and a key of AES-256-CBC.
pub(crate) const TICKET_KEY_BYTES: usize = 80;

/// The key of tickets.
pub(crate) type TicketKey = Zeroizing<[u8; TICKET_KEY_BYTES]>;

/// A session in DER, a secret.
type Session = Arc<Zeroizing<Vec<u8>>>;

pub(crate) fn make_ticket_key() -> Result<TicketKey, ErrorStack> {
    let mut key = Zeroizing::new([0; TICKET_KEY_BYTES]);
    openssl::rand::rand_priv_bytes(&mut *key)?;
    Ok(key)
}

/// The sessions in memory. A new one replaces the oldest one.
#[derive(Debug, Default)]
pub(crate) struct Cache(Mutex<Sessions>);

#[derive(Debug, Default)]
struct Sessions {
    by_id: HashMap<Vec<u8>, (Session, Instant)>,
    /// The oldest first. IDs are random, so none is there twice; that of a removed session stays
    /// until its turn.
    ids: VecDeque<Vec<u8>>,
}

impl Sessions {
    fn put(&mut self, id: Vec<u8>, session: Session, now: Instant) {
        if self.ids.len() >= SESSIONS_MAX
            && let Some(oldest) = self.ids.pop_front()
        {
            self.by_id.remove(&oldest);
        }
        self.ids.push_back(id.clone());
        self.by_id.insert(id, (session, now));
    }

    fn find(&mut self, id: &[u8], now: Instant) -> Option<Session> {
        let (session, since) = self.by_id.get(id)?;
        if now.duration_since(*since) <= LIFETIME {
            return Some(Arc::clone(session));
        }
        self.by_id.remove(id);
        None
    }
}

impl Cache {
    fn with<T>(&self, act: impl FnOnce(&mut Sessions) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn keep(&self, session: &SslSessionRef) {
        if let Ok(der) = session.to_der().map(Zeroizing::new) {
            let id = session.id().to_vec();
            self.with(|sessions| sessions.put(id, Arc::new(der), Instant::now()));
        }
    }

    fn find(&self, id: &[u8]) -> Option<SslSession> {
        let der = self.with(|sessions| sessions.find(id, Instant::now()))?;
        SslSession::from_der(&der).ok()
    }

    /// Forgets the session of a connection that has broken a rule of TLS (RFC 5246 §7.2.2).
    pub(crate) fn forget(&self, ssl: &SslRef) {
        if let Some(session) = ssl.session() {
            self.with(|sessions| drop(sessions.by_id.remove(session.id())));
        }
    }
}

/// Lets a context keep its sessions in this cache: of TLS 1.2, and of TLS 1.3, whose tickets are
/// then IDs.
#[allow(unsafe_code, reason = "a callback of libssl that returns sessions")]
pub(crate) fn use_cache(context: &mut SslContextBuilder, cache: &Arc<Cache>) {
    context.set_session_cache_mode(SslSessionCacheMode::SERVER | SslSessionCacheMode::NO_INTERNAL);
    let keeps = Arc::clone(cache);
    context.set_new_session_callback(move |_, session| keeps.keep(&session));
    let finds = Arc::clone(cache);
    // SAFETY: the callback decodes a new session each time, which no context owns yet.
    unsafe { context.set_get_session_callback(move |_, id| finds.find(id)) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_session_makes_room_and_old_ones_are_forgotten() {
        let (mut sessions, now) = (Sessions::default(), Instant::now());
        let id = |number: usize| number.to_be_bytes().to_vec();
        for number in 0..SESSIONS_MAX {
            sessions.put(id(number), Arc::default(), now);
        }
        assert!(sessions.find(&id(0), now).is_some());
        sessions.put(id(SESSIONS_MAX), Arc::default(), now);
        assert!(sessions.find(&id(0), now).is_none() && sessions.find(&id(1), now).is_some());
        assert_eq!(sessions.by_id.len(), SESSIONS_MAX);
        let later = now + LIFETIME + Duration::from_secs(1);
        assert!(sessions.find(&id(1), later).is_none());
        assert_eq!(sessions.by_id.len(), SESSIONS_MAX - 1);
    }
}
