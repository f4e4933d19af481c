//! Session IDs that a server recognises, and the encryption of sessions that leave the process.
//!
//! An ID has the start of a ticket key's name, random bytes, and a MAC of both by this key. A server
//! therefore asks Redis only for sessions that a server with its keys has made, and a flood of
//! random IDs costs no question.
//!
//! A session is encrypted by AES-256-GCM with a key of its own, which depends on the ticket key and
//! on the ID: Redis cannot give a client the session of another.

use hmac::{Hmac, KeyInit as _, Mac as _};
use openssl::error::ErrorStack;
use openssl::symm::{self, Cipher};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::tickets::{TicketKey, Tickets, secret};

/// The length of an ID, in bytes: the longest of TLS 1.2.
const ID_BYTES: usize = 32;
/// The bytes of the key's name in an ID.
pub(crate) const NAME_BYTES: usize = 4;
/// The bytes of the MAC at the end of an ID.
const MAC_BYTES: usize = 8;

const NONCE_BYTES: usize = 12;
const TAG_BYTES: usize = 16;

/// The ID of a session.
pub(super) type SessionId = [u8; ID_BYTES];

/// Makes the ID of a new session.
pub(super) fn make(key: &TicketKey) -> Result<SessionId, ErrorStack> {
    let mut id = [0; ID_BYTES];
    let (start, mac) = id.split_at_mut(ID_BYTES - MAC_BYTES);
    start[..NAME_BYTES].copy_from_slice(&key[..NAME_BYTES]);
    openssl::rand::rand_bytes(&mut start[NAME_BYTES..])?;
    mac.copy_from_slice(&derive(key, b"tollgate session ID", start)[..MAC_BYTES]);
    Ok(id)
}

/// Returns the key that made this ID, if it is one of these.
pub(super) fn maker(tickets: &Tickets, id: &SessionId) -> Option<TicketKey> {
    let key = tickets.named_from(id.first_chunk::<NAME_BYTES>()?)?;
    let (start, mac) = id.split_at(ID_BYTES - MAC_BYTES);
    let expected = derive(&key, b"tollgate session ID", start);
    openssl::memcmp::eq(&expected[..MAC_BYTES], mac).then_some(key)
}

/// Encrypts a session.
pub(super) fn seal(key: &TicketKey, id: &SessionId, der: &[u8]) -> Result<Vec<u8>, ErrorStack> {
    let mut nonce = [0; NONCE_BYTES];
    openssl::rand::rand_bytes(&mut nonce)?;
    let key = derive(key, b"tollgate session", id);
    let mut tag = [0; TAG_BYTES];
    let sealed =
        symm::encrypt_aead(Cipher::aes_256_gcm(), &*key, Some(&nonce), &[], der, &mut tag)?;
    Ok([&nonce[..], &tag, &sealed].concat())
}

/// Decrypts a session. Returns `None` unless [`seal`] made it for this ID.
pub(super) fn open(key: &TicketKey, id: &SessionId, sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let (nonce, rest) = sealed.split_at_checked(NONCE_BYTES)?;
    let (tag, sealed) = rest.split_at_checked(TAG_BYTES)?;
    let key = derive(key, b"tollgate session", id);
    let opened = symm::decrypt_aead(Cipher::aes_256_gcm(), &*key, Some(nonce), &[], sealed, tag);
    opened.ok().map(Zeroizing::new)
}

/// Returns HMAC-SHA-256 of a purpose and a text.
fn derive(key: &TicketKey, purpose: &[u8], text: &[u8]) -> Zeroizing<[u8; 32]> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret(key)).expect("HMAC takes any key");
    mac.update(purpose);
    mac.update(text);
    Zeroizing::new(mac.finalize().into_bytes().into())
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn only_the_key_that_made_an_id_recognises_it_and_opens_its_session() {
        let (own, other) = (Tickets::new(None).unwrap(), Tickets::new(None).unwrap());
        let key = own.current(Instant::now()).unwrap();
        let id = make(&key).unwrap();
        assert_eq!(maker(&own, &id).as_deref(), Some(&*key));
        assert!(maker(&other, &id).is_none());
        for at in 0..ID_BYTES {
            let mut changed = id;
            changed[at] ^= 1;
            assert!(maker(&own, &changed).is_none(), "byte {at}");
        }

        let sealed = seal(&key, &id, b"a session").unwrap();
        assert_eq!(open(&key, &id, &sealed).as_deref().map(Vec::as_slice), Some(&b"a session"[..]));
        assert!(!sealed.windows(9).any(|window| window == b"a session"));
        let another = make(&key).unwrap();
        assert!(open(&key, &another, &sealed).is_none(), "under another ID");
        let other = other.current(Instant::now()).unwrap();
        assert!(open(&other, &id, &sealed).is_none(), "with another key");
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(open(&key, &id, &changed).is_none(), "byte {at}");
            assert!(open(&key, &id, &sealed[..at]).is_none(), "{at} bytes");
        }
    }
}
