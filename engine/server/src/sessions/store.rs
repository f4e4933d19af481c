//! The sessions of a worker's TLS context: libssl's callbacks.
#![allow(unsafe_code, reason = "callbacks of libssl for session IDs and sessions")]

use core::ffi::{c_int, c_uchar, c_uint};
use core::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use foreign_types::ForeignTypeRef as _;
use openssl::error::ErrorStack;
use openssl::ex_data::Index;
use openssl::ssl::{
    Ssl, SslContext, SslContextBuilder, SslRef, SslSession, SslSessionCacheMode, SslSessionRef,
};
use openssl_sys as sys;
use zeroize::Zeroizing;

use super::cache::{Cache, SESSION_BYTES_MAX, count};
use super::identifier::{self, SessionId};
use super::redis::{Owner, Remote};
use crate::ffi::{self, check};
use crate::tickets::Tickets;

/// `TLSEXT_TYPE_psk` of `openssl/tls1.h`: `pre_shared_key`.
const PRE_SHARED_KEY: c_uint = 41;
/// The maximum number of sessions of a TLS 1.3 client that are considered. Clients offer one.
const OFFERS_MAX: usize = 4;

/// The keys and sessions of one worker.
pub(crate) struct Store {
    pub(crate) tickets: Arc<Tickets>,
    cache: Arc<Cache>,
    /// One thread uses it; libssl's callbacks ask for a lock.
    remote: Option<Mutex<Remote>>,
}

/// The question of a connection.
struct Question {
    owner: Owner,
    state: AtomicU8,
}

const UNASKED: u8 = 0;
const ASKED: u8 = 1;
const ANSWERED: u8 = 2;

/// Where a connection has its question.
static QUESTION: LazyLock<Option<Index<Ssl, Question>>> =
    LazyLock::new(|| Ssl::new_ex_index().ok());

/// Where a context has its store, for the callback that makes IDs.
static STORE: LazyLock<Option<Index<SslContext, Arc<Store>>>> =
    LazyLock::new(|| SslContext::new_ex_index().ok());

unsafe extern "C" {
    fn SSL_CTX_set_generate_session_id(
        context: *mut sys::SSL_CTX,
        callback: extern "C" fn(*mut sys::SSL, *mut c_uchar, *mut c_uint) -> c_int,
    ) -> c_int;
}

/// Lets a connection wait for sessions of Redis.
pub(crate) fn own(ssl: &mut SslRef, owner: Owner) {
    if let Some(index) = *QUESTION {
        ssl.set_ex_data(index, Question { owner, state: AtomicU8::new(UNASKED) });
    }
}

fn question(ssl: &SslRef) -> Option<&Question> {
    (*QUESTION).and_then(|index| ssl.ex_data(index))
}

/// Ends the wait of a connection.
pub(crate) fn answered(ssl: &SslRef) {
    if let Some(question) = question(ssl) {
        question.state.store(ANSWERED, Ordering::Relaxed);
    }
}

impl Store {
    pub(crate) fn new(tickets: &Arc<Tickets>, cache: &Arc<Cache>, remote: Option<Remote>) -> Self {
        let (tickets, cache) = (Arc::clone(tickets), Arc::clone(cache));
        Self { tickets, cache, remote: remote.map(Mutex::new) }
    }

    /// Returns the connection to Redis, if the server uses it.
    pub(crate) fn remote(&self) -> Option<MutexGuard<'_, Remote>> {
        let remote = self.remote.as_ref()?;
        Some(remote.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Keeps a new session, here and in Redis.
    fn keep(&self, session: &SslSessionRef) {
        let (Some(id), Ok(der)) = (of(session), session.to_der().map(Zeroizing::new)) else {
            return;
        };
        if der.len() > SESSION_BYTES_MAX {
            return;
        }
        if let Some(mut remote) = self.remote()
            && let Some(key) = identifier::maker(&self.tickets, &id)
        {
            remote.store(&key, &id, &der, session.timeout());
        }
        self.cache.put(id, Arc::new(der), Instant::now());
        count(&self.cache.counts.stored);
    }

    fn find(&self, id: &[u8]) -> Option<SslSession> {
        let id = id.try_into().ok()?;
        // A session ends with its key. IDs of other servers and random ones say nothing about this
        // cache.
        identifier::maker(&self.tickets, &id)?;
        let Some(der) = self.cache.find(&id, Instant::now()) else {
            count(&self.cache.counts.absent);
            return None;
        };
        count(&self.cache.counts.found);
        SslSession::from_der(&der).ok()
    }

    /// Forgets the session of a connection that has broken a rule of TLS (RFC 5246 §7.2.2).
    pub(crate) fn forget(&self, ssl: &SslRef) {
        let Some(id) = ssl.session().and_then(of) else {
            return;
        };
        if identifier::maker(&self.tickets, &id).is_some() {
            self.cache.remove(&id);
            if let Some(mut remote) = self.remote() {
                remote.remove(&id);
            }
        }
    }

    /// Returns whether the handshake must wait for Redis. Asks it at the first call. Valid only
    /// within the callback for the `ClientHello`.
    pub(crate) fn must_wait(&self, ssl: &SslRef) -> bool {
        let (Some(mut remote), Some(question)) = (self.remote(), question(ssl)) else {
            return false;
        };
        if question.state.load(Ordering::Relaxed) == UNASKED {
            let ours = |id: &SessionId| identifier::maker(&self.tickets, id).is_some();
            let asks = offered(ssl).into_iter().find(ours).is_some_and(|id| {
                !self.cache.contains(&id) && remote.ask(&id, question.owner, Instant::now())
            });
            question.state.store(if asks { ASKED } else { ANSWERED }, Ordering::Relaxed);
        }
        question.state.load(Ordering::Relaxed) == ASKED
    }
}

fn of(session: &SslSessionRef) -> Option<SessionId> {
    session.id().try_into().ok()
}

/// Returns the IDs that a client offers: of TLS 1.3, and of TLS 1.2.
fn offered(ssl: &SslRef) -> Vec<SessionId> {
    let psk = ffi::client_hello_extension(ssl, PRE_SHARED_KEY).unwrap_or_default();
    let of_tls12 = ssl.client_hello_session_id().and_then(|id| id.try_into().ok());
    identities(psk).into_iter().chain(of_tls12).collect()
}

/// Returns the identities with the length of an ID in `pre_shared_key` (RFC 8446 §4.2.11).
fn identities(psk: &[u8]) -> Vec<SessionId> {
    let mut found = Vec::new();
    let Some((mut list, _)) = split(psk) else {
        return found;
    };
    while found.len() < OFFERS_MAX
        && let Some((identity, rest)) = split(list)
        && let Some(rest) = rest.get(size_of::<u32>()..)
    {
        found.extend(SessionId::try_from(identity));
        list = rest;
    }
    found
}

/// Splits bytes after a part that begins with its length, of two bytes.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))
}

/// Lets a context keep its sessions in this store: of TLS 1.2, and of TLS 1.3, whose tickets are
/// then IDs.
pub(crate) fn use_cache(
    context: &mut SslContextBuilder,
    store: &Arc<Store>,
) -> Result<(), ErrorStack> {
    context.set_session_cache_mode(SslSessionCacheMode::SERVER | SslSessionCacheMode::NO_INTERNAL);
    let index = (*STORE).ok_or_else(ErrorStack::get)?;
    context.set_ex_data(index, Arc::clone(store));
    // SAFETY: a valid context, and a function of the type that libssl calls.
    check(unsafe { SSL_CTX_set_generate_session_id(context.as_ptr(), make_id) })?;
    let keeps = Arc::clone(store);
    context.set_new_session_callback(move |_, session| keeps.keep(&session));
    let finds = Arc::clone(store);
    // SAFETY: the callback decodes a new session each time, which no context owns yet.
    unsafe { context.set_get_session_callback(move |_, id| finds.find(id)) };
    Ok(())
}

extern "C" fn make_id(ssl: *mut sys::SSL, id: *mut c_uchar, length: *mut c_uint) -> c_int {
    // SAFETY: libssl passes a valid connection, which nobody else uses during the call.
    let ssl = unsafe { SslRef::from_ptr(ssl) };
    let store = (*STORE).and_then(|index| ssl.ssl_context().ex_data(index));
    let key = store.and_then(|store| store.tickets.current(Instant::now()).ok());
    let Some(made) = key.and_then(|key| identifier::make(&key).ok()) else {
        return 0;
    };
    // SAFETY: libssl passes the length of its room, 32 bytes in TLS.
    let length = unsafe { &mut *length };
    let Ok(used) = c_uint::try_from(made.len()) else {
        return 0;
    };
    if *length < used {
        return 0;
    }
    *length = used;
    // SAFETY: the room has this length, as checked above.
    unsafe { id.copy_from_nonoverlapping(made.as_ptr(), made.len()) };
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_are_read_up_to_the_first_cut() {
        let identity = |bytes: &[u8]| {
            let length = u16::try_from(bytes.len()).unwrap().to_be_bytes();
            [&length[..], bytes, &[1, 2, 3, 4]].concat()
        };
        let list = [identity(&[7; 32]), identity(&[8; 200]), identity(&[9; 32])].concat();
        let length = u16::try_from(list.len()).unwrap().to_be_bytes();
        let psk = [&length[..], &list, &[0, 33, 32]].concat();
        assert_eq!(identities(&psk), [[7; 32], [9; 32]]);
        for cut in 0..psk.len() - 3 {
            assert!(identities(&psk[..cut]).is_empty(), "{cut} bytes");
        }
        let many = identity(&[7; 32]).repeat(9);
        let length = u16::try_from(many.len()).unwrap().to_be_bytes();
        assert_eq!(identities(&[&length[..], &many].concat()).len(), OFFERS_MAX);
        let lying = [&200_u16.to_be_bytes()[..], &identity(&[7; 32])].concat();
        assert!(identities(&lying).is_empty());
    }
}
