//! EME-OAEP (RFC 8017 §7.1) with MGF1. Decoding computes masks from every byte and reveals only
//! whether the padding is valid, as the standard requires (to know which check failed is enough for
//! Manger's attack).
//!
//! An encoded message has the length of the modulus in bytes.

use crate::eme_pkcs1v15::check_message;
use crate::error::{Error, Rejected, Unavailable};
use crate::hash::{Digest, Hash};
use crate::mask::{Mask, public_index};
use crate::mgf1;

/// The parameters of RSAES-OAEP (RFC 8017 appendix A.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Oaep<'a> {
    hash: Hash,
    mgf_hash: Hash,
    label: &'a [u8],
}

impl<'a> Oaep<'a> {
    /// Uses one hash function for the label and MGF1, and an empty label.
    pub const fn new(hash: Hash) -> Self {
        Self { hash, mgf_hash: hash, label: &[] }
    }

    /// Uses another hash function for MGF1.
    #[must_use]
    pub const fn with_mgf_hash(self, mgf_hash: Hash) -> Self {
        Self { mgf_hash, ..self }
    }

    /// Uses this label, which encryption and decryption must agree on.
    #[must_use]
    pub const fn with_label(self, label: &'a [u8]) -> Self {
        Self { label, ..self }
    }
}

/// Writes EME-OAEP of `message` with a random seed to `em`: `em := 00 maskedSeed maskedDB`.
///
/// # Errors
///
/// [`Rejected::MessageLong`]; [`Unavailable::Random`].
pub fn encode(em: &mut [u8], oaep: Oaep<'_>, message: &[u8]) -> Result<(), Error> {
    let Oaep { hash, mgf_hash, label } = oaep;
    // 1b. If mLen > k - 2hLen - 2, output "message too long".
    let overhead = 2 * hash.len() + 2;
    check_message(message, em.len(), overhead)?;
    // 2i. EM = 00 || maskedSeed || maskedDB.
    let (zero, rest) = em.split_at_mut(1);
    let (seed, db) = rest.split_at_mut(hash.len());
    zero.fill(0);
    // 2d. This comes first: if there are no random bytes, `em` must not contain the message.
    getrandom::fill(seed).map_err(|_| Unavailable::Random)?;
    // 2a. to 2c. DB = lHash || PS || 01 || M.
    db.fill(0);
    db[..hash.len()].copy_from_slice(hash.digest(label).as_ref());
    let start = db.len() - message.len();
    db[start - 1] = 0x01;
    db[start..].copy_from_slice(message);
    // 2e. to 2h. The seed masks DB, and then maskedDB masks the seed.
    mgf1::xor(db, mgf_hash, seed);
    mgf1::xor(seed, mgf_hash, db);
    Ok(())
}

/// Returns the message in `em`, which is unmasked in place. It is secret; the caller must wipe it.
///
/// # Errors
///
/// [`Rejected::DecryptionFailed`] for any invalid padding.
pub fn decode<'a>(em: &'a mut [u8], oaep: Oaep<'_>) -> Result<&'a [u8], Error> {
    decode_with_label_digest(em, &oaep.hash.digest(oaep.label), oaep.mgf_hash)
}

/// Like [`decode`], with the digest of the label. The digest of an empty label is
/// `hash.digest(b"")`.
///
/// # Errors
///
/// As [`decode`].
pub fn decode_with_label_digest<'a>(
    em: &'a mut [u8],
    label_digest: &Digest,
    mgf_hash: Hash,
) -> Result<&'a [u8], Error> {
    let l_hash = label_digest.as_ref();
    // 1c. If k < 2hLen + 2, output "decryption error".
    if em.len() < 2 * l_hash.len() + 2 {
        return Err(Rejected::DecryptionFailed.into());
    }
    // 3b. EM = Y || maskedSeed || maskedDB.
    let (y, rest) = em.split_at_mut(1);
    let (seed, db) = rest.split_at_mut(l_hash.len());
    // 3c. to 3f.
    mgf1::xor(seed, mgf_hash, db);
    mgf1::xor(db, mgf_hash, seed);
    // 3g. DB = lHash' || PS || 01 || M, and Y is zero.
    let mut good = Mask::zero(y[0].into());
    for (&byte, &expected) in db.iter().zip(l_hash) {
        good &= Mask::equal(byte, expected);
    }
    let mut found = Mask::NO;
    let mut separator = 0;
    for (i, &byte) in (0_u32..).zip(&*db).skip(l_hash.len()) {
        let here = Mask::equal(byte, 0x01_u8) & !found;
        separator = here.select(i, separator);
        found |= here;
        good &= found | Mask::zero(byte.into());
    }
    good &= found;
    if !good.publish() {
        return Err(Rejected::DecryptionFailed.into());
    }
    Ok(&db[public_index(separator) + 1..])
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn messages_round_trip_and_every_change_is_refused() {
        let failed = || Err(Rejected::DecryptionFailed.into());
        let unlabelled = Oaep::new(Hash::Sha256).with_mgf_hash(Hash::Sha1);
        let oaep = unlabelled.with_label(b"label");
        for len in [0, 1, 62] {
            let message = vec![0x01; len]; // bytes that look like separators
            let mut em = [0; 128];
            encode(&mut em, oaep, &message).unwrap();
            assert_eq!(decode(&mut em.clone(), oaep).unwrap(), message);
            assert_eq!(decode(&mut em.clone(), unlabelled), failed());
            let other = oaep.with_mgf_hash(Hash::Sha256);
            assert_eq!(decode(&mut em.clone(), other), failed());
            for at in [0, 1, 32, 33, 64] {
                let mut bad = em;
                bad[at] ^= 0x10;
                assert_eq!(decode(&mut bad, oaep), failed());
            }
        }
        assert_eq!(
            encode(&mut [0; 128], unlabelled, &[7; 63]),
            Err(Rejected::MessageLong { found_bytes: 63, limit_bytes: 62 }.into())
        );
        for len in 0..66 {
            assert_eq!(decode(&mut vec![0; len], unlabelled), failed());
            assert!(encode(&mut vec![0; len], unlabelled, b"").is_err());
        }
    }

    /// Encoded messages, each with one defect. They are changed before the masks are added.
    #[test]
    fn each_defect_below_the_masks_is_refused() {
        let hash = Hash::Sha1;
        let changes: [fn(&mut [u8]); 4] = [
            |db| db[0] ^= 1,                                        // lHash
            |db| db[20] = 2,                                        // PS
            |db| db.iter_mut().skip(20).for_each(|byte| *byte = 0), // no 01
            |db| db[20..].iter_mut().for_each(|byte| *byte |= 2),   // another byte for 01
        ];
        for change in changes {
            let mut em = [0; 64];
            encode(&mut em, Oaep::new(hash), b"message").unwrap();
            let (seed, db) = em[1..].split_at_mut(20);
            mgf1::xor(seed, hash, db);
            mgf1::xor(db, hash, seed);
            change(db);
            mgf1::xor(db, hash, seed);
            mgf1::xor(seed, hash, db);
            let failed = Err(Rejected::DecryptionFailed.into());
            assert_eq!(decode(&mut em, Oaep::new(hash)), failed);
        }
    }
}
