//! The lengths of encrypted records, and the primitives that a record needs.

use tollgate_tls_client::{Cipher, Suite};

use crate::need::Need;
use crate::primitive::Primitive;

/// The number of bytes that GCM adds to a record of TLS 1.2: the explicit nonce and the tag, RFC
/// 5288 §3.
const GCM_TLS12: usize = 8 + 16;
/// The number of bytes that `ChaCha20` and Poly1305 add to a record of TLS 1.2, RFC 7905 §2.
const CHACHA20_TLS12: usize = 16;
/// The number of bytes that the inner content type and the tag of an AEAD add to a record of TLS
/// 1.3, RFC 8446 §5.2.
const TLS13: usize = 1 + 16;

/// The format of the encrypted records of a suite. Records with CBC are encrypted before they are
/// authenticated (RFC 7366), as client and server negotiate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Framing {
    cipher: Cipher,
    tls13: bool,
}

impl Framing {
    pub(crate) const fn new(suite: Suite) -> Self {
        Self { cipher: suite.cipher(), tls13: suite.is_tls13() }
    }

    /// The length of a record's body, without its header.
    pub(crate) fn body(self, content: usize) -> usize {
        match (self.cipher.mac(), self.cipher.block_bytes()) {
            // the IV, and padding of at least one byte
            (Some(mac), Some(block)) => block + (content + 1).next_multiple_of(block) + mac.bytes(),
            _ => content + self.added(),
        }
    }

    /// The length of the content of a record with this body. With CBC, the padding counts as
    /// content, because it cannot be told from it without the key.
    pub(crate) fn content(self, body: usize) -> Option<usize> {
        match self.cipher.mac() {
            Some(mac) => {
                body.checked_sub(mac.bytes() + self.cipher.block_bytes().unwrap_or_default())
            }
            None => body.checked_sub(self.added()),
        }
    }

    /// Adds the protection of a record with this body.
    pub(crate) fn seal(self, need: Need, body: usize) -> Option<Need> {
        let encrypted = self.content(body)? + self.cipher.block_bytes().unwrap_or_default();
        self.authenticate(need.and_sealed(self.cipher, encrypted), encrypted)
    }

    /// Adds the check and decryption of a record with this body.
    pub(crate) fn open(self, need: Need, body: usize) -> Option<Need> {
        let encrypted = self.content(body)? + self.cipher.block_bytes().unwrap_or_default();
        self.authenticate(need.and_opened(self.cipher, encrypted), encrypted)
    }

    /// Adds the context and the key of one direction.
    pub(crate) fn key(self, need: Need, count: f64) -> Need {
        need.and(count, Primitive::RecordKey(self.cipher))
    }

    fn authenticate(self, need: Need, encrypted: usize) -> Option<Need> {
        Some(match self.cipher.mac() {
            Some(mac) => need.and_authenticated(mac, encrypted),
            None => need,
        })
    }

    const fn added(self) -> usize {
        match self.cipher {
            _ if self.tls13 => TLS13,
            Cipher::ChaCha20Poly1305 => CHACHA20_TLS12,
            _ => GCM_TLS12,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each primitive costs one unit per byte; so does each record.
    fn cost(need: &Need) -> [f64; 2] {
        let sum = |of: fn(Primitive) -> f64| {
            need.counts().map(|(primitive, count)| count * of(primitive)).sum()
        };
        let sealed = |primitive| match primitive {
            Primitive::Seal(_, bytes) => 1.0 + f64::from(bytes),
            _ => 0.0,
        };
        let authenticated = |primitive| match primitive {
            Primitive::Mac(_, bytes) => 1.0 + f64::from(bytes),
            _ => 0.0,
        };
        [sum(sealed), sum(authenticated)]
    }

    #[test]
    fn records_have_an_iv_padding_and_a_mac() {
        for (suite, content, body, encrypted, authenticated) in [
            (Suite::TLS_AES_128_GCM_SHA256, 100, 117, 100, 0),
            (Suite::TLS_RSA_WITH_AES_128_GCM_SHA256, 100, 124, 100, 0),
            (Suite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, 100, 116, 100, 0),
            // IV of 16 bytes, 112 bytes with padding, a MAC of 20 bytes over both
            (Suite::TLS_RSA_WITH_AES_128_CBC_SHA, 100, 148, 128, 128),
            // whole blocks get a whole block of padding
            (Suite::TLS_RSA_WITH_AES_128_CBC_SHA, 96, 148, 128, 128),
            (Suite::TLS_RSA_WITH_AES_128_CBC_SHA, 95, 132, 112, 112),
        ] {
            let framing = Framing::new(suite);
            assert_eq!(framing.body(content), body, "{suite}");
            let [sealed, tagged] = cost(&framing.seal(Need::default(), body).expect("long enough"));
            assert!((sealed - 1.0 - f64::from(encrypted)).abs() < 1e-6, "{suite}: {sealed}");
            let expected = if authenticated > 0 { 1.0 + f64::from(authenticated) } else { 0.0 };
            assert!((tagged - expected).abs() < 1e-6, "{suite}: {tagged}");
            assert_eq!(framing.seal(Need::default(), 3), None, "{suite}");
        }
    }
}
