//! EME-PKCS1-v1_5 (RFC 8017 §7.2): encoding, and constant-time decoding.
//!
//! Neither time nor memory accesses may show which byte of a decrypted message is wrong, or whether
//! any is. With this knowledge, an attacker can decrypt or sign in a million queries
//! (Bleichenbacher's attack). So decoding computes masks from every byte and does not branch. `em`
//! is secret throughout.

use crate::error::{Error, Rejected, Unavailable};
use crate::mask::{Mask, public_index};

/// Length of 00 02, of the shortest padding, and of the 00 after it.
pub(crate) const OVERHEAD: usize = 11;

/// Writes EME-PKCS1-v1_5 of `message` to `em`: `em := 00 02 PS 00 message`, where PS is at least
/// eight random nonzero bytes.
///
/// # Errors
///
/// [`Rejected::MessageLong`]; [`Unavailable::Random`].
pub fn encode(em: &mut [u8], message: &[u8]) -> Result<(), Error> {
    // 1. If mLen > k - 11, output "message too long".
    check_message(message, em.len(), OVERHEAD)?;
    // 2b. EM = 00 || 02 || PS || 00 || M.
    let separator = em.len() - message.len() - 1;
    em[..2].copy_from_slice(&[0x00, 0x02]);
    em[separator] = 0x00;
    let ps = &mut em[2..separator];
    // 2a. PS is random nonzero bytes. This comes first: if there are no random bytes, `em` must not
    // contain the message.
    fill_nonzero(ps)?;
    em[separator + 1..].copy_from_slice(message);
    Ok(())
}

/// Fills `bytes` with random nonzero bytes. The time depends on the number of bytes.
pub(crate) fn fill_nonzero(bytes: &mut [u8]) -> Result<(), Unavailable> {
    getrandom::fill(bytes).map_err(|_| Unavailable::Random)?;
    // One byte in 256 is drawn again.
    while let Some(zero) = bytes.iter_mut().find(|byte| **byte == 0) {
        getrandom::fill(core::slice::from_mut(zero)).map_err(|_| Unavailable::Random)?;
    }
    Ok(())
}

/// Returns the message in `em`, or an error if the padding is invalid (explicit rejection).
///
/// A program that lets a peer detect this error, in any way, is a decryption oracle
/// (Bleichenbacher). Use it only for protocols that define how to handle it; otherwise use
/// [`implicit_rejection`](crate::implicit_rejection).
///
/// # Errors
///
/// [`Rejected::DecryptionFailed`] for any invalid padding.
pub fn decode(em: &[u8]) -> Result<&[u8], Error> {
    if em.len() < OVERHEAD {
        return Err(Rejected::DecryptionFailed.into());
    }
    let (good, start) = message_start(em);
    if good.publish() {
        Ok(&em[public_index(start)..])
    } else {
        Err(Rejected::DecryptionFailed.into())
    }
}

/// Returns whether `em` is 00 02 PS 00 M with at least eight bytes of PS, and the start of M.
pub(crate) fn message_start(em: &[u8]) -> (Mask, u32) {
    let mut good = Mask::equal(em[0], 0x00_u8) & Mask::equal(em[1], 0x02_u8);
    let mut found = Mask::NO;
    let mut separator = 0;
    for (i, &byte) in (0_u32..).zip(em).skip(2) {
        let here = Mask::zero(byte.into()) & !found;
        separator = here.select(i, separator);
        found |= here;
    }
    good &= !Mask::less(separator, 2 + 8); // without a separator it is 0
    (good, separator.wrapping_add(1)) // a checked sum would branch
}

/// Checks that a message and the padding's fixed bytes fit an encoded message.
pub(crate) fn check_message(message: &[u8], em_len: usize, overhead: usize) -> Result<(), Error> {
    let (found_bytes, limit_bytes) = (message.len(), em_len.saturating_sub(overhead));
    if em_len >= overhead && found_bytes <= limit_bytes {
        Ok(())
    } else {
        Err(Rejected::MessageLong { found_bytes, limit_bytes }.into())
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn messages_of_every_length_round_trip() {
        for len in 0..=53 {
            let mut em = [0; 64];
            encode(&mut em, &vec![7; len]).unwrap();
            assert_eq!(decode(&em).unwrap(), vec![7; len]);
            assert!(em[2..63 - len].iter().all(|&byte| byte != 0));
        }
        assert_eq!(
            encode(&mut [0; 64], &[7; 54]),
            Err(Rejected::MessageLong { found_bytes: 54, limit_bytes: 53 }.into())
        );
        assert_eq!(
            encode(&mut [0; 10], &[]),
            Err(Rejected::MessageLong { found_bytes: 0, limit_bytes: 0 }.into())
        );
    }

    #[test]
    fn each_defect_of_the_padding_is_detected() {
        let start = |em: &[u8]| decode(em).map(|message| em.len() - message.len());
        let failed = || Err(Rejected::DecryptionFailed.into());
        let mut good = [9; 64];
        good[..2].copy_from_slice(&[0, 2]);
        assert_eq!(start(&good), failed(), "no separator");
        for (at, expected) in [(2, failed()), (9, failed()), (10, Ok(11)), (63, Ok(64))] {
            let mut em = good;
            em[at] = 0;
            assert_eq!(start(&em), expected, "separator at {at}");
            em[0] = 1;
            assert_eq!(start(&em), failed());
            em[..2].copy_from_slice(&[0, 1]);
            assert_eq!(start(&em), failed());
        }
        assert_eq!(start(&[0, 2, 9, 9, 9, 9, 9, 9, 9, 9, 0]), Ok(11));
        assert_eq!(start(&[0, 2, 9, 9, 9, 9, 9, 9, 9, 0]), failed());
        assert_eq!(start(&[]), failed());
    }
}
