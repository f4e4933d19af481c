//! EMSA-PSS (RFC 8017 §9.1) with MGF1 (appendix B.2.1), the randomised padding of signatures.
//!
//! An encoded message is right-aligned in a buffer of the modulus' length k. If modBits = 1 (mod
//! 8), the message is one byte shorter, and the first byte of the buffer is zero.

use crate::error::{Error, MODULUS_BYTES_MAX, Misuse, Rejected, Unavailable};
use crate::mgf1;

mod keys;
mod parameters;
#[cfg(test)]
mod tests;

pub use keys::{SigningKey, VerifyingKey};
pub use parameters::{Pss, Salt};

crate::encoded::signature! {
    /// An RSASSA-PSS signature, not verified.
}

/// Writes EMSA-PSS of `digest` with a random salt of the operating system to `em`.
///
/// `em` has ceil(`mod_bits` / 8) bytes. Does not allocate.
///
/// # Errors
///
/// As [`encode`] and [`Pss::salt_len_to_sign`]; [`Unavailable::Random`].
pub fn encode_random(em: &mut [u8], mod_bits: usize, pss: Pss, digest: &[u8]) -> Result<(), Error> {
    let mut buffer = [0; MODULUS_BYTES_MAX];
    let len = pss.salt_len_to_sign(mod_bits)?;
    let salt = buffer.get_mut(..len).ok_or(Rejected::Size { bits: mod_bits })?;
    // 4. Generate a random octet string salt of length sLen.
    getrandom::fill(salt).map_err(|_| Unavailable::Random)?;
    encode(em, mod_bits, pss, salt, digest)
}

/// Writes EMSA-PSS of `digest` with the given salt to `em`: `em := [00] maskedDB H BC`.
///
/// `em` has ceil(`mod_bits` / 8) bytes. The salt of `pss` is not used. On error `em` is unchanged.
///
/// # Errors
///
/// [`Misuse::BufferLength`]; [`Rejected::DigestLength`]; [`Rejected::ModulusSmall`].
pub fn encode(
    em: &mut [u8],
    mod_bits: usize,
    pss: Pss,
    salt: &[u8],
    digest: &[u8],
) -> Result<(), Error> {
    let Pss { hash, mgf_hash, .. } = pss;
    Misuse::check_length(em.len(), mod_bits.div_ceil(8))?;
    // 1. and 2. mHash = Hash(M) is the caller's `digest`.
    hash.check(digest)?;
    // 3. If emLen < hLen + sLen + 2, output "encoding error".
    pss.with_salt(Salt::Exactly(salt.len())).salt_len_to_sign(mod_bits)?;
    let em_len = em_len(mod_bits);
    let (zero, em) = em.split_at_mut(em.len() - em_len);
    zero.fill(0);
    let (db, rest) = em.split_at_mut(em_len - hash.len() - 1);
    let (h, trailer) = rest.split_at_mut(hash.len());
    // 5. and 6. M' = 00 00 00 00 00 00 00 00 || mHash || salt; H = Hash(M').
    let m_prime_hash = hash.digest_parts(&[&[0; 8], digest, salt]);
    h.copy_from_slice(m_prime_hash.as_ref());
    // 7. and 8. DB = PS || 01 || salt, where PS is emLen - sLen - hLen - 2 zeros.
    let ps_len = db.len() - salt.len() - 1;
    db[..ps_len].fill(0);
    db[ps_len] = 0x01;
    db[ps_len + 1..].copy_from_slice(salt);
    // 9. and 10. maskedDB = DB xor MGF(H, emLen - hLen - 1).
    mgf1::xor(db, mgf_hash, h);
    // 11. Set the leftmost 8emLen - emBits bits of maskedDB to zero.
    db[0] &= top_mask(mod_bits);
    // 12. EM = maskedDB || H || BC.
    trailer.fill(0xbc);
    Ok(())
}

/// Checks that `em` is an EMSA-PSS encoding of `digest` (RFC 8017 §9.1.2).
///
/// `em` has ceil(`mod_bits` / 8) bytes. Variable time: signature and message are public.
///
/// # Errors
///
/// [`Rejected::SignatureInvalid`] for any invalid `em`; [`Rejected::DigestLength`];
/// [`Misuse::BufferLength`]; [`Rejected::Size`] above the largest modulus.
pub fn verify(em: &[u8], mod_bits: usize, pss: Pss, digest: &[u8]) -> Result<(), Error> {
    Misuse::check_length(em.len(), mod_bits.div_ceil(8))?;
    // 1. and 2. mHash = Hash(M) is the caller's `digest`.
    pss.hash.check(digest)?;
    let mut buffer = [0; MODULUS_BYTES_MAX];
    let copy = buffer.get_mut(..em.len()).ok_or(Rejected::Size { bits: mod_bits })?;
    copy.copy_from_slice(em);
    Rejected::unless_valid(is_consistent(copy, mod_bits, pss, digest))
}

/// Steps 3 to 14 of §9.1.2; `em` is overwritten.
fn is_consistent(em: &mut [u8], mod_bits: usize, pss: Pss, digest: &[u8]) -> bool {
    let Pss { hash, mgf_hash, salt } = pss;
    // 3. If emLen < hLen + sLen + 2, output "inconsistent".
    let em_len = em_len(mod_bits);
    let Some(room) = em_len.checked_sub(hash.len() + 2) else {
        return false;
    };
    let s_len = salt.len(hash, room);
    if s_len.is_some_and(|len| len > room) {
        return false;
    }
    // §8.1.2, step 2c: a representative that does not fit emLen bytes is invalid.
    let (zero, em) = em.split_at_mut(em.len() - em_len);
    if zero.iter().any(|&byte| byte != 0) {
        return false;
    }
    // 4. and 5. EM = maskedDB || H || BC.
    let (db, rest) = em.split_at_mut(em_len - hash.len() - 1);
    let (h, trailer) = rest.split_at(hash.len());
    if trailer != [0xbc] {
        return false;
    }
    // 6. The leftmost 8emLen - emBits bits of maskedDB are zero.
    if db[0] & !top_mask(mod_bits) != 0 {
        return false;
    }
    // 7. and 8. DB = maskedDB xor MGF(H, emLen - hLen - 1).
    mgf1::xor(db, mgf_hash, h);
    // 9. Set the leftmost 8emLen - emBits bits of DB to zero.
    db[0] &= top_mask(mod_bits);
    // 10. DB = PS || 01 || salt. PS is all zeros; its length must be right,
    // unless any length is accepted.
    let Some(ps_len) = db.iter().position(|&byte| byte != 0) else {
        return false;
    };
    // 11. Let salt be the last sLen octets of DB.
    let salt = &db[ps_len + 1..];
    if db[ps_len] != 0x01 || s_len.is_some_and(|len| len != salt.len()) {
        return false;
    }
    // 12. and 13. M' = 00 00 00 00 00 00 00 00 || mHash || salt; H' = Hash(M').
    let h_prime = hash.digest_parts(&[&[0; 8], digest, salt]);
    // 14. If H = H', output "consistent".
    h_prime.as_ref() == h
}

/// Returns the length of the encoded message in bytes: emLen = ceil(emBits / 8), emBits = modBits -
/// 1.
const fn em_len(mod_bits: usize) -> usize {
    mod_bits.saturating_sub(1).div_ceil(8)
}

/// Returns the bits of the first byte of the encoded message that may be set.
const fn top_mask(mod_bits: usize) -> u8 {
    // 8emLen - emBits = 8 ceil(emBits / 8) - emBits = -emBits mod 8
    let unused = (8 - mod_bits.saturating_sub(1) % 8) % 8;
    0xff >> unused
}
