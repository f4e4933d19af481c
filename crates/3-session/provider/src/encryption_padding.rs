//! EME-PKCS1-v1_5 (RFC 8017 §7.2): encoding, and decoding that tells nobody what it found.
//!
//! Which byte of a decrypted message is wrong, and whether any is, must not show in time or memory
//! accesses: an attacker who learns it decrypts or signs with a million questions (Bleichenbacher).
//! So decoding here computes masks from every byte and decides nothing. `em` is secret throughout.
#![forbid(unsafe_code)]

use tollgate_cpu::memcheck;
use zeroize::Zeroizing;

use crate::mask::Mask;
use crate::reason::Reason;

/// Bytes of TLS's premaster secret (RFC 5246 §7.4.7.1).
pub(crate) const PREMASTER: usize = 48;

/// Bytes of 00 02, of the shortest padding, and of the 00 behind it.
pub(crate) const OVERHEAD: usize = 11;

/// Writes 00 02 PS 00 `message` into `em`, PS at least eight random bytes that are not zero.
///
/// # Errors
///
/// [`Reason::MessageLong`], [`Reason::Random`].
pub(crate) fn encode(em: &mut [u8], message: &[u8]) -> Result<(), Reason> {
    if em.len() < OVERHEAD + message.len() {
        return Err(Reason::MessageLong);
    }
    let (head, tail) = em.split_at_mut(em.len() - message.len());
    tail.copy_from_slice(message);
    let (frame, rest) = head.split_at_mut(2);
    frame.copy_from_slice(&[0x00, 0x02]);
    let (separator, ps) = rest.split_last_mut().expect("at least nine bytes");
    *separator = 0x00;
    getrandom::fill(ps).map_err(|_| Reason::Random)?;
    // One draw in 256 is drawn again; the system's random numbers have no long runs of zeros.
    while let Some(zero) = ps.iter_mut().find(|byte| **byte == 0) {
        getrandom::fill(core::slice::from_mut(zero)).map_err(|_| Reason::Random)?;
    }
    Ok(())
}

/// Whether `em` is 00 02 PS 00 M with at least eight bytes PS, and where M starts then.
pub(crate) fn message_start(em: &[u8]) -> (Mask, u32) {
    let mut good = Mask::equal(em[0], 0x00_u8) & Mask::equal(em[1], 0x02_u8);
    let mut found = Mask::NO;
    let mut separator = 0;
    for (i, &byte) in (0_u32..).zip(em).skip(2) {
        let here = Mask::zero(byte.into()) & !found;
        separator = here.select(i, separator);
        found |= here;
    }
    good &= !Mask::less(separator, 2 + 8); // 0 if there is none
    (good, separator.wrapping_add(1)) // a checked sum would branch
}

/// Where a message starts, once its length is the answer.
pub(crate) fn public_start(start: u32) -> usize {
    let start = memcheck::declassified(u64::from(start));
    usize::try_from(start).expect("within a modulus")
}

/// TLS's premaster secret, or `substitute` if anything is wrong with the padding, its length or its
/// version (RFC 5246 §7.4.7.1). `substitute` is random, and drawn before.
///
/// The version is the one that the client offered; `alternative`, if there is one, is the
/// negotiated one, which some old clients send instead.
pub(crate) fn premaster(
    em: &[u8],
    client: u16,
    alternative: Option<u16>,
    mut substitute: Zeroizing<[u8; PREMASTER]>,
) -> Zeroizing<[u8; PREMASTER]> {
    let secret = em.len() - PREMASTER;
    let mut good = Mask::equal(em[0], 0x00_u8) & Mask::equal(em[1], 0x02_u8);
    for &byte in &em[2..secret - 1] {
        good &= !Mask::zero(byte.into());
    }
    good &= Mask::zero(em[secret - 1].into());
    let sent = u16::from_be_bytes([em[secret], em[secret + 1]]);
    let mut version_good = Mask::equal(sent, client);
    if let Some(alternative) = alternative {
        version_good |= Mask::equal(sent, alternative);
    }
    good &= version_good;
    for (substitute, &byte) in substitute.iter_mut().zip(&em[secret..]) {
        *substitute = good.select_byte(byte, *substitute);
    }
    substitute
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn start(em: &[u8]) -> Option<usize> {
        let (good, start) = message_start(em);
        good.publish().then_some(start as usize)
    }

    #[test]
    fn messages_of_every_length_come_back() {
        for len in 0..=53 {
            let mut em = [0; 64];
            encode(&mut em, &vec![7; len]).unwrap();
            assert_eq!(start(&em), Some(64 - len));
            assert!(em[2..63 - len].iter().all(|&byte| byte != 0));
        }
        assert_eq!(encode(&mut [0; 64], &[7; 54]), Err(Reason::MessageLong));
    }

    #[test]
    fn each_fault_of_the_padding_is_seen() {
        let mut good = [9; 64];
        good[..2].copy_from_slice(&[0, 2]);
        assert_eq!(start(&good), None, "no separator");
        for (at, expected) in [(2, None), (9, None), (10, Some(11)), (63, Some(64))] {
            let mut em = good;
            em[at] = 0;
            assert_eq!(start(&em), expected, "separator at {at}");
            em[0] = 1;
            assert_eq!(start(&em), None);
            em[..2].copy_from_slice(&[0, 1]);
            assert_eq!(start(&em), None);
        }
    }

    /// 00 02 PS 00 03 03 and 46 bytes.
    fn premaster_message() -> [u8; 64] {
        let mut em = [9; 64];
        em[..2].copy_from_slice(&[0, 2]);
        em[15] = 0;
        em[16..18].copy_from_slice(&[3, 3]);
        em
    }

    #[test]
    fn a_premaster_secret_is_taken_as_a_whole_or_not_at_all() {
        let substitute = || Zeroizing::new([5; PREMASTER]);
        let em = premaster_message();
        assert_eq!(premaster(&em, 0x0303, None, substitute())[..], em[16..]);
        assert_eq!(premaster(&em, 0x0304, Some(0x0303), substitute())[..], em[16..]);
        assert_eq!(premaster(&em, 0x0302, None, substitute()), substitute());
        assert_eq!(premaster(&em, 0x0302, Some(0x0301), substitute()), substitute());
        // each byte of the frame, the padding and the version, with each bit flipped or as zero
        for at in 0..18 {
            let changes = (0..8).map(|bit| em[at] ^ (1 << bit)).chain([0]);
            for byte in changes.filter(|&byte| byte != em[at]) {
                let mut em = em;
                em[at] = byte;
                let is_padding = (2..15).contains(&at) && byte != 0;
                let expected = if is_padding { em[16..].to_vec() } else { vec![5; PREMASTER] };
                let got = premaster(&em, 0x0303, None, substitute());
                assert_eq!(got[..], expected, "byte {at} = {byte}");
            }
        }
    }
}
