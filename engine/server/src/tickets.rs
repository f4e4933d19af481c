//! Keys of session tickets (RFC 5077 §4) and of the cache of sessions, which all workers share.
//!
//! The first key encrypts; older ones only decrypt, and their tickets are replaced. A server makes
//! its own keys and rotates them, or reads them from a file that several servers share.
#![allow(unsafe_code, reason = "the callback of libssl for ticket keys")]

use core::ffi::{c_char, c_int, c_uchar, c_void};
use core::ptr;
use core::time::Duration;
use std::path::Path;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};
use std::time::Instant;

use foreign_types::ForeignTypeRef as _;
use openssl::cipher::Cipher;
use openssl::cipher_ctx::CipherCtxRef;
use openssl::error::ErrorStack;
use openssl::ex_data::Index;
use openssl::lib_ctx::LibCtxRef;
use openssl::ssl::{SslContext, SslContextBuilder, SslRef, SslVersion};
use openssl_sys as sys;
use zeroize::Zeroizing;

use crate::certificate::read;
use crate::error::{Error, Rejected, Unavailable};
use crate::ffi::check;

/// How long a key encrypts. Tickets are valid for two hours, OpenSSL's default, so each is accepted
/// as long as it is valid.
const ROTATION: Duration = Duration::from_secs(60 * 60);

/// The number of keys that are kept.
const KEYS_MAX: usize = 3;

const NAME_BYTES: usize = 16;
const MAC_BYTES: usize = 32;
const KEY_BYTES: usize = NAME_BYTES + MAC_BYTES + 32;

/// A name, a key of HMAC-SHA-256 and a key of AES-256-CBC.
pub(crate) type TicketKey = Zeroizing<[u8; KEY_BYTES]>;

/// The keys of a server.
pub(crate) struct Tickets(RwLock<Ring>);

struct Ring {
    /// The one that encrypts first.
    keys: Vec<TicketKey>,
    /// When the server makes the next key; `None` if the keys are from a file.
    next: Option<Instant>,
}

impl Tickets {
    /// Reads the keys from a file, or makes one.
    pub(crate) fn new(file: Option<&Path>) -> Result<Self, Error> {
        let ring = match file {
            Some(path) => Ring { keys: read_keys(path)?, next: None },
            None => {
                let key = make_key().map_err(Unavailable::openssl("making a ticket key"))?;
                // with room for all, because a vector that grows leaves copies of keys behind
                let mut keys = Vec::with_capacity(KEYS_MAX + 1);
                keys.push(key);
                Ring { keys, next: Some(Instant::now() + ROTATION) }
            }
        };
        Ok(Self(RwLock::new(ring)))
    }

    /// Reads the keys from their file again.
    pub(crate) fn reload(&self, file: &Path) -> Result<(), Error> {
        let keys = read_keys(file)?;
        self.0.write().unwrap_or_else(PoisonError::into_inner).keys = keys;
        Ok(())
    }

    /// Returns the key that encrypts. Makes a new one if it is time.
    pub(crate) fn current(&self, now: Instant) -> Result<TicketKey, ErrorStack> {
        let ring = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if ring.next.is_none_or(|next| now < next) {
            return Ok(ring.keys[0].clone());
        }
        drop(ring);
        let mut ring = self.0.write().unwrap_or_else(PoisonError::into_inner);
        // another worker may have been first
        if ring.next.is_some_and(|next| now >= next) {
            ring.keys.insert(0, make_key()?);
            ring.keys.truncate(KEYS_MAX);
            ring.next = Some(now + ROTATION);
        }
        Ok(ring.keys[0].clone())
    }

    /// Returns the key with this name, and whether it is the one that encrypts.
    fn named(&self, name: &[u8; NAME_BYTES]) -> Option<(TicketKey, bool)> {
        let ring = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let at = ring.keys.iter().position(|key| key.starts_with(name))?;
        Some((ring.keys[at].clone(), at == 0))
    }

    /// Returns the key whose name begins with these bytes.
    pub(crate) fn named_from(&self, start: &[u8]) -> Option<TicketKey> {
        let ring = self.0.read().unwrap_or_else(PoisonError::into_inner);
        ring.keys.iter().find(|key| key.starts_with(start)).cloned()
    }
}

fn make_key() -> Result<TicketKey, ErrorStack> {
    let mut key = Zeroizing::new([0; KEY_BYTES]);
    openssl::rand::rand_priv_bytes(&mut *key)?;
    Ok(key)
}

fn read_keys(path: &Path) -> Result<Vec<TicketKey>, Error> {
    let bytes = read("the ticket keys", path)?;
    let (keys, rest) = bytes.as_chunks::<KEY_BYTES>();
    if !rest.is_empty() || !(1..=KEYS_MAX).contains(&keys.len()) {
        return Err(Rejected::TicketKeys { path: path.to_owned(), bytes: bytes.len() }.into());
    }
    Ok(keys.iter().map(|key| Zeroizing::new(*key)).collect())
}

/// The data of the callback.
struct Sealing {
    tickets: Arc<Tickets>,
    cipher: Cipher,
}

/// Where a context has the data of its callback.
static SEALING: LazyLock<Option<Index<SslContext, Sealing>>> =
    LazyLock::new(|| SslContext::new_ex_index().ok());

unsafe extern "C" {
    fn SSL_CTX_set_tlsext_ticket_key_evp_cb(ctx: *mut sys::SSL_CTX, callback: Callback) -> c_int;
    fn EVP_MAC_CTX_set_params(ctx: *mut c_void, params: *const sys::OSSL_PARAM) -> c_int;
}

type Callback = extern "C" fn(
    *mut sys::SSL,
    *mut c_uchar,
    *mut c_uchar,
    *mut sys::EVP_CIPHER_CTX,
    *mut c_void,
    c_int,
) -> c_int;

/// Lets a context encrypt its tickets with these keys.
pub(crate) fn use_tickets(
    context: &mut SslContextBuilder,
    library: &LibCtxRef,
    tickets: &Arc<Tickets>,
) -> Result<(), ErrorStack> {
    let cipher = Cipher::fetch(Some(library), "AES-256-CBC", None)?;
    let index = (*SEALING).ok_or_else(ErrorStack::get)?;
    context.set_ex_data(index, Sealing { tickets: Arc::clone(tickets), cipher });
    // SAFETY: a valid context, and a function of the type that libssl calls.
    check(unsafe { SSL_CTX_set_tlsext_ticket_key_evp_cb(context.as_ptr(), callback) })
}

/// The results of the callback: `SSL_CTX_set_tlsext_ticket_key_evp_cb(3)`.
mod answer {
    pub(super) const FAILED: i32 = -1;
    /// Do not use the ticket.
    pub(super) const UNKNOWN: i32 = 0;
    pub(super) const READY: i32 = 1;
    /// Use the ticket, and give the client a new one. In TLS 1.3, where a client should use a ticket
    /// once (RFC 8446 §C.4), this is the answer to every ticket.
    pub(super) const REPLACE: i32 = 2;
}

extern "C" fn callback(
    ssl: *mut sys::SSL,
    name: *mut c_uchar,
    iv: *mut c_uchar,
    cipher: *mut sys::EVP_CIPHER_CTX,
    mac: *mut c_void,
    encrypts: c_int,
) -> c_int {
    // SAFETY: libssl passes a valid connection, which nobody else uses during the call.
    let ssl = unsafe { SslRef::from_ptr(ssl) };
    let Some(sealing) = (*SEALING).and_then(|index| ssl.ssl_context().ex_data(index)) else {
        return answer::FAILED;
    };
    // SAFETY: libssl passes 16 bytes for the name; they are written only here.
    let name = unsafe { &mut *name.cast::<[u8; NAME_BYTES]>() };
    // SAFETY: libssl passes room for the longest IV, EVP_MAX_IV_LENGTH = 16.
    let iv = unsafe { &mut *iv.cast::<[u8; 16]>() };
    // SAFETY: libssl passes a valid cipher context, which nobody else uses during the call.
    let cipher = unsafe { CipherCtxRef::from_ptr_mut(cipher) };
    let done = if encrypts == 1 {
        sealing.seal(name, iv, cipher, mac)
    } else {
        let is_used_once = ssl.version2() == Some(SslVersion::TLS1_3);
        sealing.open(name, iv, cipher, mac, is_used_once)
    };
    done.unwrap_or(answer::FAILED)
}

impl Sealing {
    /// Prepares both contexts to encrypt and authenticate a ticket.
    fn seal(
        &self,
        name: &mut [u8; NAME_BYTES],
        iv: &mut [u8; 16],
        cipher: &mut CipherCtxRef,
        mac: *mut c_void,
    ) -> Result<c_int, ErrorStack> {
        let key = self.tickets.current(Instant::now())?;
        let (key_name, mac_key, cipher_key) = parts(&key);
        name.copy_from_slice(key_name);
        openssl::rand::rand_bytes(iv)?;
        cipher.encrypt_init(Some(&self.cipher), Some(cipher_key), Some(iv))?;
        set_mac_key(mac, mac_key)?;
        Ok(answer::READY)
    }

    /// Prepares both contexts to verify and decrypt a ticket. `replaces` gives the client a new one even
    /// if the key is current.
    fn open(
        &self,
        name: &[u8; NAME_BYTES],
        iv: &[u8; 16],
        cipher: &mut CipherCtxRef,
        mac: *mut c_void,
        is_used_once: bool,
    ) -> Result<c_int, ErrorStack> {
        let Some((key, is_current)) = self.tickets.named(name) else {
            return Ok(answer::UNKNOWN);
        };
        let (_, mac_key, cipher_key) = parts(&key);
        set_mac_key(mac, mac_key)?;
        cipher.decrypt_init(Some(&self.cipher), Some(cipher_key), Some(iv))?;
        Ok(if is_current && !is_used_once { answer::READY } else { answer::REPLACE })
    }
}

/// Returns the 64 secret bytes of a key.
pub(crate) fn secret(key: &TicketKey) -> &[u8] {
    &key[NAME_BYTES..]
}

/// Returns the name, the key of the MAC and the key of the cipher.
fn parts(key: &TicketKey) -> (&[u8], &[u8], &[u8]) {
    let (name, keys) = key.split_at(NAME_BYTES);
    let (mac, cipher) = keys.split_at(MAC_BYTES);
    (name, mac, cipher)
}

fn set_mac_key(mac: *mut c_void, key: &[u8]) -> Result<(), ErrorStack> {
    /// `OSSL_PARAM_UTF8_STRING` and `OSSL_PARAM_OCTET_STRING` of `openssl/core.h`.
    const UTF8_STRING: u32 = 4;
    const OCTET_STRING: u32 = 5;

    let param = |name: *const c_char, data_type, data: *const c_void, data_size| sys::OSSL_PARAM {
        key: name,
        data_type,
        data: data.cast_mut(),
        data_size,
        return_size: usize::MAX,
    };
    let params = [
        param(c"key".as_ptr(), OCTET_STRING, key.as_ptr().cast(), key.len()),
        param(c"digest".as_ptr(), UTF8_STRING, c"SHA256".as_ptr().cast(), 6),
        param(ptr::null(), 0, ptr::null(), 0),
    ];
    // SAFETY: libssl has passed a valid MAC context; the parameters end with a NULL key, and what
    // they point to is only read.
    check(unsafe { EVP_MAC_CTX_set_params(mac, params.as_ptr()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_rotate_and_three_are_kept() {
        let tickets = Tickets::new(None).unwrap();
        let begun = Instant::now();
        let at = |hours: u32| tickets.current(begun + ROTATION * hours).unwrap();
        let name = |key: &TicketKey| *key.first_chunk().unwrap();
        let keys = [at(0), at(2), at(4), at(6)];
        assert_eq!(at(6), keys[3], "the same for an hour");
        assert_eq!(tickets.named(&name(&keys[3])).map(|(_, is_current)| is_current), Some(true));
        assert_eq!(tickets.named(&name(&keys[2])).map(|(_, is_current)| is_current), Some(false));
        assert_eq!(tickets.named(&name(&keys[1])).map(|(key, _)| key), Some(keys[1].clone()));
        assert!(tickets.named(&name(&keys[0])).is_none());
    }
}
