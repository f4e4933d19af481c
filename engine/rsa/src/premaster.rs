//! The TLS premaster secret in EME-PKCS1-v1_5 (RFC 5246 §7.4.7.1): always 48 bytes.
//!
//! A server that reveals whether a message decrypted to a premaster secret can be used as a
//! decryption oracle (Bleichenbacher). So an invalid secret is replaced by random bytes, and the
//! handshake fails later, as with any wrong secret.

use zeroize::Zeroizing;

use crate::eme_pkcs1v15::OVERHEAD;
use crate::error::{Error, Unavailable};
use crate::mask::Mask;

/// The length of a premaster secret in bytes.
pub const PREMASTER_LEN: usize = 48;

/// A premaster secret, wiped when dropped.
pub type Premaster = Zeroizing<[u8; PREMASTER_LEN]>;

/// The versions of TLS that a premaster secret may begin with, such as 0x0303 for TLS 1.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlsVersions {
    /// The version that the client offered, which the standard requires.
    pub client: u16,
    /// The negotiated version, to accept some old clients that send it instead.
    pub negotiated: Option<u16>,
}

/// Returns random bytes to replace an invalid premaster secret. They are generated before the
/// secret is checked, so that the time reveals nothing.
///
/// # Errors
///
/// [`Unavailable::Random`].
pub fn substitute() -> Result<Premaster, Error> {
    let mut substitute = Zeroizing::new([0; PREMASTER_LEN]);
    getrandom::fill(&mut *substitute).map_err(|_| Unavailable::Random)?;
    Ok(substitute)
}

/// Returns the premaster secret in `em`, or `substitute` if the padding, the length
/// or the version is wrong. Constant time; a short `em` is public and gives `substitute`.
pub fn decode(em: &[u8], versions: TlsVersions, mut substitute: Premaster) -> Premaster {
    if em.len() < OVERHEAD + PREMASTER_LEN {
        return substitute;
    }
    let secret = em.len() - PREMASTER_LEN;
    let mut good = Mask::equal(em[0], 0x00_u8) & Mask::equal(em[1], 0x02_u8);
    for &byte in &em[2..secret - 1] {
        good &= !Mask::zero(byte.into());
    }
    good &= Mask::zero(em[secret - 1].into());
    let sent = u16::from_be_bytes([em[secret], em[secret + 1]]);
    let mut version_good = Mask::equal(sent, versions.client);
    if let Some(negotiated) = versions.negotiated {
        version_good |= Mask::equal(sent, negotiated);
    }
    good &= version_good;
    for (substitute, &byte) in substitute.iter_mut().zip(&em[secret..]) {
        *substitute = good.select_byte(byte, *substitute);
    }
    substitute
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an encoded message: 00 02 PS 00 03 03 and 46 bytes.
    fn message() -> [u8; 64] {
        let mut em = [9; 64];
        em[..2].copy_from_slice(&[0, 2]);
        em[15] = 0;
        em[16..18].copy_from_slice(&[3, 3]);
        em
    }

    #[test]
    fn any_changed_byte_of_the_frame_gives_the_substitute() {
        let decode = |em: &[u8], client, negotiated| {
            let substitute = Zeroizing::new([5; PREMASTER_LEN]);
            decode(em, TlsVersions { client, negotiated }, substitute).to_vec()
        };
        let (em, refused) = (message(), vec![5; PREMASTER_LEN]);
        assert_eq!(decode(&em, 0x0303, None), em[16..]);
        assert_eq!(decode(&em, 0x0304, Some(0x0303)), em[16..]);
        assert_eq!(decode(&em, 0x0302, None), refused);
        assert_eq!(decode(&em, 0x0302, Some(0x0301)), refused);
        // each byte of the frame, the padding and the version: each bit flipped, and zero
        for at in 0..18 {
            let changes = (0..8).map(|bit| em[at] ^ (1 << bit)).chain([0]);
            for byte in changes.filter(|&byte| byte != em[at]) {
                let mut em = em;
                em[at] = byte;
                let is_padding = (2..15).contains(&at) && byte != 0;
                let expected = if is_padding { em[16..].to_vec() } else { refused.clone() };
                assert_eq!(decode(&em, 0x0303, None), expected, "byte {at} = {byte}");
            }
        }
        for len in 0..OVERHEAD + PREMASTER_LEN {
            assert_eq!(decode(&vec![0; len], 0, None), refused, "{len} bytes");
        }
    }
}
