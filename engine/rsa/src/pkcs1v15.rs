//! EMSA-PKCS1-v1_5 (RFC 8017 §9.2), the deterministic padding of signatures.
//!
//! Verification encodes again and compares, so a forged message is never parsed.

use spki::AlgorithmIdentifierOwned;

use crate::algorithm;
use crate::error::{Error, MODULUS_BYTES_MAX, Rejected};
use crate::hash::Hash;

mod keys;

pub use keys::{SigningKey, VerifyingKey};

crate::encoded::signature! {
    /// An RSASSA-PKCS1-v1_5 signature, not verified.
}

/// Writes EMSA-PKCS1-v1_5 of `digest` to `em`: `em := 00 01 FF..FF 00 DigestInfo`.
///
/// `em` has the length of the modulus in bytes. On error it is unchanged.
///
/// # Errors
///
/// [`Rejected::DigestLength`]; [`Rejected::ModulusSmall`] if `em` is too short for eight bytes of
/// padding.
pub fn encode(em: &mut [u8], hash: Hash, digest: &[u8]) -> Result<(), Error> {
    // 1. H = Hash(M) is the caller's `digest`.
    hash.check(digest)?;
    // 2. T is the DER of DigestInfo: a fixed prefix and H.
    frame(em, hash.digest_info_prefix(), digest)
}

/// Returns the `AlgorithmIdentifier` of signatures with this hash function; `None` if there is
/// none, as for SM3.
pub fn algorithm_identifier(hash: Hash) -> Option<AlgorithmIdentifierOwned> {
    algorithm::pkcs1v15(hash)
}

/// Like [`encode`], over a T that the caller has built: `em := 00 01 FF..FF 00 T`. T may be the
/// `DigestInfo` of a hash function that [`Hash`](enum@Hash) does not have.
///
/// # Errors
///
/// [`Rejected::ModulusSmall`] if `em` is too short for eight bytes of padding.
pub fn encode_raw(em: &mut [u8], t: &[u8]) -> Result<(), Error> {
    frame(em, &[], t)
}

/// Steps 3 to 5 of §9.2, for T = prefix || content.
fn frame(em: &mut [u8], prefix: &[u8], content: &[u8]) -> Result<(), Error> {
    let t_len = prefix.len() + content.len();
    // 3. If emLen < tLen + 11, output "intended encoded message length too short".
    let needed_bytes = t_len.saturating_add(11);
    if em.len() < needed_bytes {
        return Err(Rejected::ModulusSmall { found_bytes: em.len(), needed_bytes }.into());
    }
    // 4. PS is emLen - tLen - 3 bytes FF, at least eight.
    let ps_len = em.len() - t_len - 3;
    // 5. EM = 00 || 01 || PS || 00 || T.
    let (head, t) = em.split_at_mut(ps_len + 3);
    head.fill(0xff);
    head[0] = 0x00;
    head[1] = 0x01;
    head[ps_len + 2] = 0x00;
    t[..prefix.len()].copy_from_slice(prefix);
    t[prefix.len()..].copy_from_slice(content);
    Ok(())
}

/// Returns `true` if `em` is the encoding of `digest` (RFC 8017 §8.2.2, steps 3 and 4).
///
/// Returns `false` if there is no encoding: the digest has a wrong length, or `em` is too short or
/// longer than the largest modulus. The time varies with signature and message, which are public.
pub fn matches(em: &[u8], hash: Hash, digest: &[u8]) -> bool {
    is_encoding(em, |expected| encode(expected, hash, digest))
}

/// Like [`matches()`], over a T that the caller has built: see [`encode_raw`].
pub fn matches_raw(em: &[u8], t: &[u8]) -> bool {
    is_encoding(em, |expected| encode_raw(expected, t))
}

fn is_encoding(em: &[u8], encode: impl FnOnce(&mut [u8]) -> Result<(), Error>) -> bool {
    let mut buffer = [0; MODULUS_BYTES_MAX];
    let Some(expected) = buffer.get_mut(..em.len()) else {
        return false;
    };
    encode(expected).is_ok() && expected == em
}

#[cfg(test)]
mod tests {

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_smallest_modulus_has_eight_bytes_of_padding() {
        let digest = Hash::Sha512.digest(b"abc");
        // 19 of prefix + 64 of digest + 3 of frame + 8 of padding
        let mut em = [0; 94];
        encode(&mut em, Hash::Sha512, digest.as_ref()).unwrap();
        assert_eq!(em[..12], [0, 1, 255, 255, 255, 255, 255, 255, 255, 255, 0, 0x30]);

        let mut em = [0xa5; 93];
        assert_eq!(
            encode(&mut em, Hash::Sha512, digest.as_ref()),
            Err(Rejected::ModulusSmall { found_bytes: 93, needed_bytes: 94 }.into())
        );
        assert_eq!(em, [0xa5; 93], "untouched");
        assert!(!matches(&em, Hash::Sha512, digest.as_ref()));
    }

    #[test]
    fn a_message_beyond_the_largest_modulus_matches_nothing() {
        let digest = Hash::Sha256.digest(b"abc");
        for (len, expected) in [(MODULUS_BYTES_MAX, true), (MODULUS_BYTES_MAX + 1, false)] {
            let mut em = vec![0; len];
            encode(&mut em, Hash::Sha256, digest.as_ref()).unwrap();
            assert_eq!(matches(&em, Hash::Sha256, digest.as_ref()), expected, "{len} bytes");
        }
    }

    proptest! {
        #[test]
        fn any_changed_bit_is_refused(
            hash in prop::sample::select(Hash::ALL),
            message: Vec<u8>,
            len in 94_usize..=1024,
            at: prop::sample::Index,
        ) {
            let digest = hash.digest(&message);
            let mut em = vec![0; len];
            encode(&mut em, hash, digest.as_ref()).unwrap();
            prop_assert!(matches(&em, hash, digest.as_ref()));

            let bit = at.index(8 * len);
            em[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(!matches(&em, hash, digest.as_ref()));
        }
    }
}
