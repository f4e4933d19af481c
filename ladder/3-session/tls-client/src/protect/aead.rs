//! AES-GCM and ChaCha20-Poly1305 in the layouts of TLS 1.2 (RFC 5288, RFC 7905) and TLS 1.3 (RFC
//! 8446 §5.2).

use core::ops::Range;

use aws_lc_rs::aead::{
    AES_128_GCM, AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey,
};

use super::{FRAGMENT, HEADER, authenticated, header};
use crate::error::Violation;
use crate::suite::Cipher;
use crate::wire::Content;

const TAG: usize = 16;
/// Length of the explicit nonce in TLS 1.2 records with GCM.
const EXPLICIT: usize = 8;

/// The layout of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// TLS 1.2, GCM: part of the nonce precedes the ciphertext.
    Explicit,
    /// TLS 1.2, `ChaCha20`: ciphertext alone.
    Implicit,
    /// TLS 1.3: the content type follows the plaintext.
    Inner,
}

/// A key and the constant part of its nonces.
pub(super) struct Aead {
    key: LessSafeKey,
    iv: [u8; Cipher::NONCE_BYTES],
    layout: Layout,
}

impl Aead {
    /// Creates a key. `iv` has the length that the layout requires: a whole nonce, or the implicit
    /// part of a nonce.
    pub(super) fn new(cipher: Cipher, key: &[u8], iv: &[u8], layout: Layout) -> Self {
        let key = UnboundKey::new(algorithm(cipher), key).expect("cut to the cipher's size");
        let mut whole = [0; Cipher::NONCE_BYTES];
        // the explicit part starts with zeros; XOR then makes it equal to the sequence number
        whole[..iv.len()].copy_from_slice(iv);
        Self { key: LessSafeKey::new(key), iv: whole, layout }
    }

    fn nonce(&self, sequence: u64) -> [u8; Cipher::NONCE_BYTES] {
        let mut nonce = self.iv;
        for (byte, count) in nonce[4..].iter_mut().zip(sequence.to_be_bytes()) {
            *byte ^= count;
        }
        nonce
    }

    /// Returns the length in bytes of the part of the nonce that precedes the ciphertext.
    const fn explicit(&self) -> usize {
        if matches!(self.layout, Layout::Explicit) { EXPLICIT } else { 0 }
    }

    pub(super) fn seal(&self, sequence: u64, out: &mut Vec<u8>, content: Content, fragment: &[u8]) {
        let nonce = self.nonce(sequence);
        let start = out.len();
        if self.layout == Layout::Inner {
            let aad = header(Content::APPLICATION_DATA, fragment.len() + 1 + TAG);
            out.extend(aad);
            out.extend_from_slice(fragment);
            out.push(content.0);
            self.seal_from(out, start + HEADER, nonce, &aad);
        } else {
            let explicit = self.explicit();
            out.extend(header(content, explicit + fragment.len() + TAG));
            out.extend_from_slice(&nonce[nonce.len() - explicit..]);
            out.extend_from_slice(fragment);
            let aad = authenticated(sequence, content, fragment.len());
            self.seal_from(out, start + HEADER + explicit, nonce, &aad);
        }
    }

    fn seal_from(&self, out: &mut Vec<u8>, start: usize, nonce: [u8; 12], aad: &[u8]) {
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag = self.key.seal_in_place_separate_tag(nonce, Aad::from(aad), &mut out[start..]);
        out.extend_from_slice(tag.expect("it takes 2^14 bytes").as_ref());
    }

    pub(super) fn open(
        &self,
        sequence: u64,
        record: &mut [u8],
    ) -> Result<(Content, Range<usize>), Violation> {
        let bad = Violation::BadRecordMac;
        let content = Content(record[0]);
        let start = HEADER + self.explicit();
        let (head, body) = record.split_at_mut_checked(start).ok_or(bad)?;
        let length = body.len().checked_sub(TAG).ok_or(bad)?;
        let mut nonce = self.nonce(sequence);
        let theirs = nonce.len() - self.explicit();
        nonce[theirs..].copy_from_slice(&head[HEADER..]);
        let nonce = Nonce::assume_unique_for_key(nonce);
        if self.layout != Layout::Inner {
            let aad = Aad::from(authenticated(sequence, content, length));
            self.key.open_in_place(nonce, aad, body).map_err(|_| bad)?;
            return Ok((content, start..start + length));
        }
        let aad = Aad::from(&*head);
        let inner = self.key.open_in_place(nonce, aad, body).map_err(|_| bad)?;
        if inner.len() > FRAGMENT + 1 {
            let (found_bytes, limit_bytes) = (inner.len(), FRAGMENT + 1);
            return Err(Violation::RecordOverflow { found_bytes, limit_bytes });
        }
        // RFC 8446 §5.4: trailing zeros are padding, and the last nonzero byte is the type
        let last = inner.iter().rposition(|&byte| byte != 0);
        let last = last.ok_or(Violation::EmptyRecord { content: Content::APPLICATION_DATA })?;
        Ok((Content(inner[last]), HEADER..HEADER + last))
    }
}

fn algorithm(cipher: Cipher) -> &'static Algorithm {
    match cipher {
        Cipher::Aes128Gcm => &AES_128_GCM,
        Cipher::Aes256Gcm => &AES_256_GCM,
        Cipher::ChaCha20Poly1305 => &CHACHA20_POLY1305,
        Cipher::Aes128Cbc | Cipher::Aes256Cbc | Cipher::TripleDesCbc | Cipher::Rc4 => {
            unreachable!("not an AEAD")
        }
    }
}
