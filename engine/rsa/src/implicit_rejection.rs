//! Implicit rejection (draft-irtf-cfrg-rsa-guidance §7): a ciphertext with invalid padding decrypts
//! to a synthetic message of synthetic length, derived from the ciphertext and the private key. A
//! peer cannot tell it from a real one.
//!
//! The derivation key depends on the ciphertext, so it is made by `PrivateKey::rejection_key`
//! before the private-key operation overwrites the ciphertext.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::{Zeroize, Zeroizing};

use crate::eme_pkcs1v15::{OVERHEAD, fill_nonzero, message_start};
use crate::error::{Error, MODULUS_BITS_MIN, MODULUS_BYTES_MAX, Misuse};
use crate::hash::Hash;
use crate::mask::{Mask, public_index};
use crate::natural::to_bytes;

/// SHA-256 of d, padded to the length of n: the secret from which synthetic messages are derived.
pub(crate) type DHash = Zeroizing<[u8; 32]>;

/// Derivation key of a ciphertext's synthetic message. Secret; wiped on drop.
pub struct RejectionKey {
    /// The draft's KDK.
    kdk: Zeroizing<[u8; 32]>,
    /// The length of the modulus in bytes.
    size: usize,
}

impl core::fmt::Debug for RejectionKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("RejectionKey").finish_non_exhaustive()
    }
}

impl RejectionKey {
    /// Makes the key for a ciphertext from a secret, for private keys that are elsewhere, such as
    /// in a hardware token. [`PrivateKey::rejection_key`](crate::PrivateKey::rejection_key) makes
    /// it for keys that are here, from SHA-256 of d.
    ///
    /// The same secret must belong to the key each time: if a ciphertext with invalid padding had
    /// another message the next time, its sender would learn that the padding is invalid.
    #[must_use]
    pub fn new(secret: &[u8; 32], ciphertext: &[u8]) -> Self {
        Self { kdk: output(keyed(secret).chain_update(ciphertext)), size: ciphertext.len() }
    }
}

/// Returns SHA-256 of d as a big-endian number of `size` bytes. The limbs in `d` are little-endian.
pub(crate) fn d_hash(d: &[u64], size: usize) -> DHash {
    let mut bytes = Zeroizing::new(vec![0; size]);
    to_bytes(&mut bytes, d);
    let mut digest = Hash::Sha256.digest(&bytes);
    let mut hash = Zeroizing::new([0; 32]);
    hash.copy_from_slice(digest.as_ref());
    digest.zeroize();
    hash
}

/// Returns the message in `em` if the padding is valid, otherwise the synthetic message. Does not
/// reveal which message it returns. Zeroes the bytes before the message.
///
/// The length of the message is public; everything else is constant time. The message is at the end
/// of `em`. It is secret; the caller must wipe it.
///
/// # Errors
///
/// [`Misuse::BufferLength`] if `em` does not have the length of the modulus.
pub fn decode<'a>(em: &'a mut [u8], key: &RejectionKey) -> Result<&'a [u8], Error> {
    let start = choose(em, key)?;
    Ok(&em[public_index(start)..])
}

/// Puts the message that [`decode`] would return into a new random padding: `em := 00 02 PS 00 M`.
/// Does not reveal the message, its length, or which one it is.
///
/// A service that decrypts for others can answer with `em`: this padding is always valid. The old
/// padding would not do, because a client that has all of a number can raise it to the power e, and
/// so learn whether it belongs to the ciphertext.
///
/// # Errors
///
/// [`Misuse::BufferLength`] if `em` does not have the length of the modulus. `Unavailable` if there
/// are no random bytes; `em` is then zeroed.
pub fn renew(em: &mut [u8], key: &RejectionKey) -> Result<(), Error> {
    let start = choose(em, key)?;
    // As many bytes as the longest padding could need: the number must not depend on the length.
    let mut padding = Zeroizing::new([0; MODULUS_BYTES_MAX]);
    let padding = &mut padding[..em.len()];
    fill_nonzero(padding).inspect_err(|_| em.zeroize())?;
    let separator = start.wrapping_sub(1); // a checked difference would branch
    for (i, (byte, &random)) in (0..).zip(em.iter_mut().zip(&*padding)) {
        *byte |= Mask::less(i, separator).select_byte(random, 0);
    }
    em[..2].copy_from_slice(&[0x00, 0x02]);
    Ok(())
}

/// Leaves the message in `em`, or the synthetic one, and zeros before it. Returns its start, which
/// is secret.
fn choose(em: &mut [u8], key: &RejectionKey) -> Result<u32, Error> {
    Misuse::check_length(em.len(), key.size)?;
    const { assert!(MODULUS_BITS_MIN / 8 >= OVERHEAD, "the padding fits every key") }
    let kdk = keyed(&key.kdk);
    let made_up = synthetic_start(&kdk, em.len());
    let (good, start) = message_start(em);
    let start = good.select(start, made_up);
    let bits = bits_of(em.len());
    let mut i = 0;
    for (counter, block) in (0_u16..).zip(em.chunks_mut(32)) {
        let made_up = expanded(&kdk, counter, b"message", bits);
        for (byte, &made_up) in block.iter_mut().zip(&*made_up) {
            let chosen = good.select_byte(*byte, made_up);
            *byte = Mask::less(i, start).select_byte(0, chosen);
            i += 1;
        }
    }
    Ok(start)
}

/// Returns the start of the synthetic message. Its length is the last of 128 candidates that is
/// possible.
fn synthetic_start(kdk: &Hmac<Sha256>, size: usize) -> u32 {
    const BYTES: usize = 2 * 128;
    let size = u32::try_from(size).expect("a modulus has at most 1024 bytes");
    let longest = size - 10; // the longest message, and the 00 before it
    let mask = u32::MAX >> longest.leading_zeros();
    let mut len = 0;
    for (counter, _) in (0_u16..).zip(0..BYTES / 32) {
        let block = expanded(kdk, counter, b"length", bits_of(BYTES));
        for pair in block.as_chunks().0 {
            let candidate = u32::from(u16::from_be_bytes(*pair)) & mask;
            len = Mask::less(candidate, longest).select(candidate, len);
        }
    }
    size.wrapping_sub(len) // len < size; a checked difference would branch
}

/// Returns a block of HMAC-SHA-256 in counter mode: HMAC(kdk, counter || label || bits of all
/// blocks).
fn expanded(kdk: &Hmac<Sha256>, counter: u16, label: &[u8], bits: u16) -> Zeroizing<[u8; 32]> {
    let (counter, bits) = (counter.to_be_bytes(), bits.to_be_bytes());
    output(kdk.clone().chain_update(counter).chain_update(label).chain_update(bits))
}

fn bits_of(bytes: usize) -> u16 {
    u16::try_from(8 * bytes).expect("a modulus has at most 1024 bytes")
}

fn keyed(key: &[u8; 32]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC accepts keys of all lengths")
}

fn output(mac: Hmac<Sha256>) -> Zeroizing<[u8; 32]> {
    Zeroizing::new(mac.finalize().into_bytes().into())
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::test_keys;

    /// SHA-256 of d in 256 bytes, computed by another implementation.
    #[test]
    fn d_is_hashed_at_the_length_of_the_modulus() {
        let key = test_keys::key("rsa-2048");
        assert_eq!(
            hex::encode(*key.d_hash),
            "d3ed13b0bf4147141ba43f75e47b10e7cab223fcfdbf1c7e0792be590cb8d7cc"
        );
        let expected =
            Hash::Sha256.digest(&[&[0; 56][..], b"\x01\x02\x03\x04\x05\x06\x07\x08"].concat());
        assert_eq!(*d_hash(&[0x0102_0304_0506_0708], 64), expected.as_ref());
    }

    #[test]
    fn valid_messages_round_trip_and_synthetic_ones_have_all_lengths() {
        let mut good = [9; 128];
        good[..2].copy_from_slice(&[0, 2]);
        good[100] = 0;
        let mut em = good;
        let message = decode(&mut em, &RejectionKey::new(&[1; 32], &[2; 128])).unwrap();
        assert_eq!(message, &good[101..]);
        assert_eq!(em[..101], [0; 101], "the rest is zeroed");

        let mut lengths = [0; 128];
        for i in 0..2000_u32 {
            let mut em = [9; 128];
            let ciphertext = Hash::Sha512.digest(&i.to_be_bytes()).as_ref().repeat(2);
            let message = decode(&mut em, &RejectionKey::new(&[1; 32], &ciphertext)).unwrap();
            lengths[message.len()] += 1;
        }
        let seen = lengths.iter().filter(|&&n| n > 0).count();
        assert_eq!((seen, &lengths[118..]), (118, &[0; 10][..]), "from 0 to 117 bytes");
    }

    /// The message is that of `decode`. The padding is valid and new each time.
    #[test]
    fn renewed_paddings_are_valid_and_new() {
        let mut frame = [9; 128];
        frame[..2].copy_from_slice(&[0, 2]);
        let with_zero = |at: usize| {
            let mut em = frame;
            em[at] = 0;
            em
        };
        // messages of 117 bytes to none, a padding that is too short, and no separator
        let cases = [10, 11, 60, 79, 126, 127, 9].map(with_zero).into_iter().chain([frame]);
        for (i, em) in (0..).zip(cases) {
            let key = RejectionKey::new(&[i; 32], &[2; 128]);
            let mut decoded = em;
            let expected = decode(&mut decoded, &key).unwrap();
            let [one, two] = [(); 2].map(|()| {
                let mut em = em;
                renew(&mut em, &key).unwrap();
                assert_eq!(crate::eme_pkcs1v15::decode(&em).unwrap(), expected, "case {i}");
                em
            });
            let padding = 2..127 - expected.len();
            assert!(padding.len() >= 8 && one[padding.clone()].iter().all(|&byte| byte != 0));
            assert_ne!(one[padding.clone()], two[padding.clone()], "case {i}");
            assert_ne!(one[padding.clone()], em[padding], "case {i}");
        }
    }

    #[test]
    fn a_buffer_of_another_length_is_misuse() {
        let key = RejectionKey::new(&[1; 32], &[2; 128]);
        let misuse = || Misuse::BufferLength { found_bytes: 127, expected_bytes: 128 }.into();
        assert_eq!(decode(&mut [0; 127], &key), Err(misuse()));
        assert_eq!(renew(&mut [0; 127], &key), Err(misuse()));
    }
}
