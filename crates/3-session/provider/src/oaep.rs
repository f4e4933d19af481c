//! EME-OAEP (RFC 8017 §7.1) with MGF1. Decoding computes masks from every byte; only "good or not"
//! leaves it, as the standard demands (Manger's attack needs no more than which check failed).
#![forbid(unsafe_code)]

use tollgate_rsa::Hash;
use zeroize::Zeroizing;

use crate::encryption_padding::public_start;
use crate::mask::Mask;
use crate::reason::Reason;

/// Writes EME-OAEP of `message` with a random seed into `em`.
///
/// # Errors
///
/// [`Reason::MessageLong`], [`Reason::Random`].
pub(crate) fn encode(
    em: &mut [u8],
    hash: Hash,
    mgf_hash: Hash,
    label: &[u8],
    message: &[u8],
) -> Result<(), Reason> {
    // 1b. If mLen > k - 2hLen - 2, output "message too long".
    if em.len() < 2 * hash.len() + 2 + message.len() {
        return Err(Reason::MessageLong);
    }
    // 2i. EM = 00 || maskedSeed || maskedDB.
    let (zero, rest) = em.split_at_mut(1);
    let (seed, db) = rest.split_at_mut(hash.len());
    zero.fill(0);
    // 2a. to 2c. DB = lHash || PS || 01 || M.
    db.fill(0);
    db[..hash.len()].copy_from_slice(hash.digest(label).as_ref());
    let start = db.len() - message.len();
    db[start - 1] = 0x01;
    db[start..].copy_from_slice(message);
    // 2d. to 2h. A random seed masks DB, and masked DB the seed.
    getrandom::fill(seed).map_err(|_| Reason::Random)?;
    mgf1_xor(db, mgf_hash, seed);
    mgf1_xor(seed, mgf_hash, db);
    Ok(())
}

/// The message in `em`, which is unmasked in place.
///
/// # Errors
///
/// [`Reason::PaddingCheck`], whatever is wrong.
pub(crate) fn decode<'a>(
    em: &'a mut [u8],
    hash: Hash,
    mgf_hash: Hash,
    label: &[u8],
) -> Result<&'a [u8], Reason> {
    // 1c. If k < 2hLen + 2, output "decryption error".
    if em.len() < 2 * hash.len() + 2 {
        return Err(Reason::PaddingCheck);
    }
    // 3b. EM = Y || maskedSeed || maskedDB.
    let (y, rest) = em.split_at_mut(1);
    let (seed, db) = rest.split_at_mut(hash.len());
    // 3c. to 3f.
    mgf1_xor(seed, mgf_hash, db);
    mgf1_xor(db, mgf_hash, seed);
    // 3g. DB = lHash' || PS || 01 || M, and Y is zero.
    let mut good = Mask::zero(y[0].into());
    for (&byte, &expected) in db.iter().zip(hash.digest(label).as_ref()) {
        good &= Mask::equal(byte, expected);
    }
    let mut found = Mask::NO;
    let mut separator = 0;
    for (i, &byte) in (0_u32..).zip(&*db).skip(hash.len()) {
        let here = Mask::equal(byte, 0x01_u8) & !found;
        separator = here.select(i, separator);
        found |= here;
        good &= found | Mask::zero(byte.into());
    }
    good &= found;
    if !good.publish() {
        return Err(Reason::PaddingCheck);
    }
    Ok(&db[public_start(separator) + 1..])
}

/// MGF1 (RFC 8017 B.2.1): `out := out xor MGF1(seed)`.
fn mgf1_xor(out: &mut [u8], hash: Hash, seed: &[u8]) {
    for (counter, block) in (0_u32..).zip(out.chunks_mut(hash.len())) {
        let mask = hash.digest_parts(&[seed, &counter.to_be_bytes()]);
        let mask = Zeroizing::new(mask.as_ref().to_vec());
        for (byte, mask) in block.iter_mut().zip(&*mask) {
            *byte ^= mask;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn messages_come_back_and_every_change_is_refused() {
        let (hash, mgf) = (Hash::Sha256, Hash::Sha1);
        for len in [0, 1, 62] {
            let message = vec![0x01; len]; // looks like separators
            let mut em = [0; 128];
            encode(&mut em, hash, mgf, b"label", &message).unwrap();
            assert_eq!(decode(&mut em.clone(), hash, mgf, b"label").unwrap(), message);
            assert_eq!(decode(&mut em.clone(), hash, mgf, b""), Err(Reason::PaddingCheck));
            for at in [0, 1, 32, 33, 64] {
                let mut bad = em;
                bad[at] ^= 0x10;
                assert_eq!(decode(&mut bad, hash, mgf, b"label"), Err(Reason::PaddingCheck));
            }
        }
        let too_long = encode(&mut [0; 128], hash, mgf, b"", &[7; 63]);
        assert_eq!(too_long, Err(Reason::MessageLong));
        assert_eq!(decode(&mut [0; 65], hash, mgf, b""), Err(Reason::PaddingCheck));
    }
}
