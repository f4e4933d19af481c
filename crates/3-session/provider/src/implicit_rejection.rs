//! Implicit rejection (draft-irtf-cfrg-rsa-guidance §7): a ciphertext with bad padding decrypts to
//! a message too, made from it and the private key, of a made-up length. Whoever asks cannot tell.
#![forbid(unsafe_code)]

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::encryption_padding::{message_start, public_start};
use crate::mask::Mask;
use crate::reason::Reason;

/// Replaces `em` by a message at its end and returns where that starts: the one under the padding,
/// or one that is made from the ciphertext. Where it starts is as public as the answer's length.
///
/// `d_hash` is SHA-256 of d; `ciphertext` is as long as `em`.
///
/// # Errors
///
/// [`Reason::KeyMissing`] never, in practice: HMAC takes keys of all lengths.
pub(crate) fn decode(em: &mut [u8], d_hash: &[u8; 32], ciphertext: &[u8]) -> Result<usize, Reason> {
    let mut mac = Hmac::<Sha256>::new_from_slice(d_hash).map_err(|_| Reason::KeyMissing)?;
    mac.update(ciphertext);
    let kdk = Zeroizing::new(<[u8; 32]>::from(mac.finalize().into_bytes()));
    let mut synthetic = Zeroizing::new(vec![0; em.len()]);
    expand(&kdk, b"message", &mut synthetic)?;
    let synthetic_start = start_of_synthetic(&kdk, em.len())?;

    let (good, start) = message_start(em);
    let start = good.select(start, synthetic_start);
    for (byte, &synthetic) in em.iter_mut().zip(&*synthetic) {
        *byte = good.select_byte(*byte, synthetic);
    }
    Ok(public_start(start))
}

/// Of 128 candidates, the last one that is a possible length of a message decides.
fn start_of_synthetic(kdk: &[u8; 32], em_len: usize) -> Result<u32, Reason> {
    let mut candidates = Zeroizing::new([0; 256]);
    expand(kdk, b"length", &mut *candidates)?;
    let em_len = u32::try_from(em_len).expect("a modulus has at most 1024 bytes");
    let longest = em_len - 10; // 00 02, eight bytes of padding; the 00 behind them is counted in
    let mask = u32::MAX >> longest.leading_zeros();
    let mut len = 0;
    for pair in candidates.as_chunks().0 {
        let candidate = u32::from(u16::from_be_bytes(*pair)) & mask;
        len = Mask::less(candidate, longest).select(candidate, len);
    }
    Ok(em_len.wrapping_sub(len)) // len < em_len; a checked difference would branch
}

/// HMAC-SHA-256 in counter mode: blocks of HMAC(kdk, counter || label || bits of the output).
fn expand(kdk: &[u8; 32], label: &[u8], output: &mut [u8]) -> Result<(), Reason> {
    let bits = u16::try_from(8 * output.len()).expect("at most 1024 bytes");
    for (counter, block) in (0_u16..).zip(output.chunks_mut(32)) {
        let mut mac = Hmac::<Sha256>::new_from_slice(kdk).map_err(|_| Reason::KeyMissing)?;
        mac.update(&counter.to_be_bytes());
        mac.update(label);
        mac.update(&bits.to_be_bytes());
        let bytes = Zeroizing::new(<[u8; 32]>::from(mac.finalize().into_bytes()));
        block.copy_from_slice(&bytes[..block.len()]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use tollgate_rsa::{Hash, PrivateKey, Workspace};

    use super::*;

    /// The ciphertext is 256 bytes 0a, and no valid padding comes out of it.
    ///
    /// The answer is that of a second implementation, thirty lines of Python after the draft. The
    /// same code gives the synthetic answers of OpenSSL's `evppkey_rsa_common.txt`.
    #[test]
    fn a_bad_ciphertext_has_one_answer() {
        let pem = include_str!("../../../../vectors/keys/rsa-2048.pem");
        let key = PrivateKey::from_pem(pem).unwrap();
        let ciphertext = [0x0a; 256];
        let mut em = ciphertext;
        key.private(&mut Workspace::new().unwrap(), &mut em).unwrap();
        let start = decode(&mut em, &D_HASH, &ciphertext).unwrap();
        assert_eq!(hex::encode(&em[start..]), "3ed0e9f613f60860207f746bdaba");
    }

    /// SHA-256 of the key's d in 256 bytes.
    const D_HASH: [u8; 32] = [
        0xd3, 0xed, 0x13, 0xb0, 0xbf, 0x41, 0x47, 0x14, 0x1b, 0xa4, 0x3f, 0x75, 0xe4, 0x7b, 0x10,
        0xe7, 0xca, 0xb2, 0x23, 0xfc, 0xfd, 0xbf, 0x1c, 0x7e, 0x07, 0x92, 0xbe, 0x59, 0x0c, 0xb8,
        0xd7, 0xcc,
    ];

    #[test]
    fn a_good_message_comes_back_and_bad_ones_have_lengths_of_all_sizes() {
        let mut good = [9; 128];
        good[..2].copy_from_slice(&[0, 2]);
        good[100] = 0;
        let mut em = good;
        assert_eq!(decode(&mut em, &[1; 32], &[2; 128]), Ok(101));
        assert_eq!(em, good);

        let mut starts = [0; 128 + 1];
        for i in 0..2000_u32 {
            let mut em = [9; 128];
            let ciphertext = Hash::Sha512.digest(&i.to_be_bytes());
            let start = decode(&mut em, &[1; 32], &ciphertext.as_ref().repeat(2)).unwrap();
            starts[start] += 1;
        }
        assert!(starts[..11].iter().all(|&n| n == 0), "eight bytes of padding are kept");
        let seen = starts[11..].iter().filter(|&&n| n > 0).count();
        assert_eq!(seen, 118, "from 0 to 117 bytes");
    }
}
