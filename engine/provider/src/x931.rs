//! The signature padding of ANSI X9.31, as OpenSSL makes and verifies it.
//!
//! `em := 6B BB..BB BA content CC`, or `6A content CC` if the content leaves no room for padding.
//! The content is a digest and the byte that names its hash function. A signature is the smaller of
//! `s` and `n - s`. Let `m` be the `e`-th power of a signature modulo `n`. The encoding is `m` if
//! `m` ends in the nibble C, and otherwise `n - m`.
//!
//! Variable time: signatures and digests are public.
#![forbid(unsafe_code)]

use tollgate_rsa::Hash;

use crate::reason::Reason;

/// Returns the byte that names the hash function (ISO/IEC 10118). X9.31 has no byte for other
/// functions.
pub(crate) fn hash_id(hash: Hash) -> Result<u8, Reason> {
    match hash {
        Hash::Sha1 => Ok(0x33),
        Hash::Sha256 => Ok(0x34),
        Hash::Sha384 => Ok(0x36),
        Hash::Sha512 => Ok(0x35),
        _ => Err(Reason::DigestUnsupported),
    }
}

/// Writes the encoding of a digest into `em`, which is as long as the modulus.
pub(crate) fn encode(em: &mut [u8], digest: &[u8], id: u8) -> Result<(), Reason> {
    let padding_len = em.len().checked_sub(digest.len() + 3).ok_or(Reason::MessageLong)?;
    let (head, rest) = em.split_at_mut(padding_len + 1);
    if let [first, padding @ .., last] = head {
        (*first, *last) = (0x6b, 0xba);
        padding.fill(0xbb);
    } else {
        head[0] = 0x6a;
    }
    let (content, tail) = rest.split_at_mut(digest.len());
    content.copy_from_slice(digest);
    tail.copy_from_slice(&[id, 0xcc]);
    Ok(())
}

/// Returns the smaller of the signature and the modulus minus the signature.
pub(crate) fn smaller(signature: &[u8], modulus: &[u8]) -> Vec<u8> {
    let other = difference(modulus, signature);
    if signature > &*other { other } else { signature.to_vec() }
}

/// Returns the digest in `em`, which is the `e`-th power of a signature. Returns `None` if the
/// encoding is not valid, or if it names another hash function.
pub(crate) fn decode(em: &[u8], modulus: &[u8], id: u8) -> Option<Vec<u8>> {
    let ends_in_c = em.last().is_some_and(|last| last & 0x0f == 0x0c);
    let em = if ends_in_c { em.to_vec() } else { difference(modulus, em) };
    let content = match &em[..] {
        [0x6a, content @ .., 0xcc] => content,
        [0x6b, padded @ .., 0xcc] => {
            // OpenSSL requires at least one byte of padding.
            let padding_len =
                padded.iter().position(|&byte| byte != 0xbb).filter(|&len| len > 0)?;
            padded[padding_len..].strip_prefix(&[0xba])?
        }
        _ => return None,
    };
    content.strip_suffix(&[id]).map(<[u8]>::to_vec)
}

/// Returns `larger - smaller`, big-endian and of the same length.
fn difference(larger: &[u8], smaller: &[u8]) -> Vec<u8> {
    let mut borrow = false;
    let mut bytes: Vec<u8> = larger
        .iter()
        .rev()
        .zip(smaller.iter().rev())
        .map(|(&x, &y)| {
            let (byte, first) = x.overflowing_sub(y);
            let (byte, second) = byte.overflowing_sub(borrow.into());
            borrow = first || second;
            byte
        })
        .collect();
    bytes.reverse();
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULUS: [u8; 64] = [0xff; 64];

    #[test]
    fn bad_encodings_are_refused() {
        let mut em = [0; 64];
        assert_eq!(encode(&mut em, &[7; 32], 0x34), Ok(()));
        for at in [0, 1, 29, 62, 63] {
            let mut bad = em;
            bad[at] ^= 0x10;
            assert_eq!(decode(&bad, &MODULUS, 0x34), None, "byte {at}");
        }
        assert_eq!(decode(&[], &[], 1), None);
        assert_eq!(decode(&[0xcc], &[0xff], 1), None);
    }
}
