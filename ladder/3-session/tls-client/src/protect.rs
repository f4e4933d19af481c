//! The layout of records, and the keys that protect them.

use core::ops::Range;

use aws_lc_rs::cipher::{AES_128, AES_256};

use crate::error::Violation;
use crate::suite::Cipher;
use crate::wire::{Content, TLS12};

mod aead;
mod cbc;
mod mac;
mod stream;

use aead::{Aead, Layout};
use cbc::{Block, Cbc};
use mac::Mac;
use stream::Stream;

/// The length in bytes of a record's header: type, version, length.
pub(crate) const HEADER: usize = 5;
/// Maximum plaintext of a record (RFC 8446 §5.1).
pub(crate) const FRAGMENT: usize = 1 << 14;
/// Maximum body of a TLS 1.2 record (RFC 5246 §6.2.3).
pub(crate) const BODY_TLS12: usize = FRAGMENT + 2048;
/// Maximum body of a TLS 1.3 record (RFC 8446 §5.2).
pub(crate) const BODY_TLS13: usize = FRAGMENT + 256;

/// The key of one direction, and its count of records.
///
/// The limit of records for a key (RFC 8446 §5.5: 2^24.5 full records) is not enforced, because no
/// load reaches it.
pub(crate) struct RecordKey {
    sequence: u64,
    protection: Protection,
}

enum Protection {
    Aead(Aead),
    Cbc(Box<Cbc>),
    Stream(Box<Stream>),
}

/// The keys of one direction in the key block of TLS 1.2 (RFC 5246 §6.3).
pub(crate) struct Keys<'a> {
    pub(crate) mac: &'a [u8],
    pub(crate) key: &'a [u8],
    pub(crate) iv: &'a [u8],
}

impl RecordKey {
    /// Creates a key for TLS 1.2. The order of encryption and MAC matters only for block ciphers.
    pub(crate) fn tls12(cipher: Cipher, keys: &Keys<'_>, encrypt_then_mac: bool) -> Self {
        let aead = |layout| Protection::Aead(Aead::new(cipher, keys.key, keys.iv, layout));
        let mac = || Mac::new(keys.mac);
        let cbc = |block| Protection::Cbc(Box::new(Cbc::new(block, mac(), encrypt_then_mac)));
        Self::new(match cipher {
            Cipher::Aes128Gcm | Cipher::Aes256Gcm => aead(Layout::Explicit),
            Cipher::ChaCha20Poly1305 => aead(Layout::Implicit),
            Cipher::Aes128Cbc => cbc(Block::aes(&AES_128, keys.key)),
            Cipher::Aes256Cbc => cbc(Block::aes(&AES_256, keys.key)),
            Cipher::TripleDesCbc => cbc(Block::triple_des(keys.key)),
            Cipher::Rc4 => Protection::Stream(Box::new(Stream::new(keys.key, mac()))),
        })
    }

    /// Creates a key for TLS 1.3.
    pub(crate) fn tls13(cipher: Cipher, key: &[u8], iv: &[u8]) -> Self {
        Self::new(Protection::Aead(Aead::new(cipher, key, iv, Layout::Inner)))
    }

    const fn new(protection: Protection) -> Self {
        Self { sequence: 0, protection }
    }

    /// Appends one record with `fragment` to `out`. `fragment` has at most 2^14 bytes.
    pub(crate) fn seal(&mut self, out: &mut Vec<u8>, content: Content, fragment: &[u8]) {
        match &mut self.protection {
            Protection::Aead(aead) => aead.seal(self.sequence, out, content, fragment),
            Protection::Cbc(cbc) => cbc.seal(self.sequence, out, content, fragment),
            Protection::Stream(stream) => stream.seal(self.sequence, out, content, fragment),
        }
        self.sequence += 1;
    }

    /// Decrypts one record in place. Returns its content type and the range of its plaintext.
    pub(crate) fn open(&mut self, record: &mut [u8]) -> Result<(Content, Range<usize>), Violation> {
        let (content, range) = match &mut self.protection {
            Protection::Aead(aead) => aead.open(self.sequence, record)?,
            Protection::Cbc(cbc) => cbc.open(self.sequence, record)?,
            Protection::Stream(stream) => stream.open(self.sequence, record)?,
        };
        if range.len() > FRAGMENT {
            let found_bytes = range.len();
            return Err(Violation::RecordOverflow { found_bytes, limit_bytes: FRAGMENT });
        }
        self.sequence += 1;
        Ok((content, range))
    }
}

/// Returns the additional data of TLS 1.2 (RFC 5246 §6.2.3): sequence, type, version, length.
fn authenticated(sequence: u64, content: Content, length: usize) -> [u8; 13] {
    let mut bytes = [0; 13];
    bytes[..8].copy_from_slice(&sequence.to_be_bytes());
    bytes[8..].copy_from_slice(&header(content, length));
    bytes
}

/// Returns the header of a record with a body of `length` bytes.
pub(crate) fn header(content: Content, length: usize) -> [u8; HEADER] {
    let [major, minor] = TLS12.to_be_bytes();
    let length = u16::try_from(length).expect("a record has at most 2^14 + 2048 bytes");
    let [high, low] = length.to_be_bytes();
    [content.0, major, minor, high, low]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Hash;

    /// A function that makes equal keys, and the range of unauthenticated bytes in a record header.
    struct Case(Box<dyn Fn() -> RecordKey>, Range<usize>);

    const AEADS: [Cipher; 3] = [Cipher::Aes128Gcm, Cipher::Aes256Gcm, Cipher::ChaCha20Poly1305];

    /// Every cipher with a separate MAC.
    const MACS: [Cipher; 4] =
        [Cipher::Aes128Cbc, Cipher::Aes256Cbc, Cipher::TripleDesCbc, Cipher::Rc4];

    fn tls12(cipher: Cipher, encrypt_then_mac: bool) -> RecordKey {
        let keys = Keys {
            mac: &[4; 48][..cipher.mac().map_or(0, Hash::bytes)],
            key: &(1..33).collect::<Vec<_>>()[..cipher.key_bytes()],
            iv: &[2; 16][..cipher.iv_bytes()],
        };
        RecordKey::tls12(cipher, &keys, encrypt_then_mac)
    }

    fn tls13(cipher: Cipher) -> RecordKey {
        RecordKey::tls13(cipher, &[1; 32][..cipher.key_bytes()], &[3; 12])
    }

    fn cases() -> Vec<Case> {
        // TLS 1.2 authenticates the negotiated version, not the version in the header
        let old = |c, last| Case(Box::new(move || tls12(c, last)), 1..5);
        let new = AEADS.map(|c| Case(Box::new(move || tls13(c)), 0..0));
        let mac_first = AEADS.into_iter().chain(MACS).map(|c| old(c, false));
        let mac_last = MACS.into_iter().filter(|c| c.is_cbc()).map(|c| old(c, true));
        mac_first.chain(mac_last).chain(new).collect()
    }

    #[test]
    fn open_undoes_seal_for_every_record_of_a_sequence() {
        for Case(key, _) in cases() {
            let [mut sealing, mut opening] = [key(), key()];
            for length in [0, 1, 100, FRAGMENT] {
                let mut out = vec![];
                sealing.seal(&mut out, Content::HANDSHAKE, &vec![7; length]);
                let (content, range) = opening.open(&mut out).unwrap();
                assert_eq!(content, Content::HANDSHAKE);
                assert_eq!(out[range], vec![7; length]);
            }
        }
    }

    #[test]
    fn every_flipped_bit_is_detected() {
        for Case(key, free) in cases() {
            let mut out = vec![];
            key().seal(&mut out, Content::ALERT, &[1, 0]);
            for bit in (0..8 * out.len()).filter(|bit| !free.contains(&(bit / 8))) {
                let mut bad = out.clone();
                bad[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(key().open(&mut bad).unwrap_err(), Violation::BadRecordMac, "{bit}");
            }
            let mut opening = key();
            opening.open(&mut out).unwrap();
            assert_eq!(opening.open(&mut out).unwrap_err(), Violation::BadRecordMac, "a replay");
        }
    }

    #[test]
    fn padding_is_removed_and_pure_padding_refused() {
        let [mut sealing, mut opening] = [Cipher::Aes128Gcm; 2].map(tls13);
        let mut out = vec![];
        // the inner plaintext is two bytes, type 22 and zeros; `seal` appends the last zero as a
        // type
        sealing.seal(&mut out, Content(0), &[5, 6, 22, 0, 0]);
        assert_eq!(opening.open(&mut out).unwrap(), (Content::HANDSHAKE, HEADER..HEADER + 2));
        let mut out = vec![];
        sealing.seal(&mut out, Content(0), &[0, 0]);
        assert!(matches!(opening.open(&mut out), Err(Violation::EmptyRecord { .. })));
    }

    /// RFC 8446 §5.4: content, type and padding have at most 2^14 + 1 bytes.
    #[test]
    fn padding_counts_towards_the_limit() {
        for (padding, fits) in [(FRAGMENT - 2, true), (FRAGMENT - 1, false)] {
            let [mut sealing, mut opening] = [Cipher::Aes128Gcm; 2].map(tls13);
            let inner = [&[5, 22][..], &vec![0; padding]].concat();
            let mut out = vec![];
            sealing.seal(&mut out, Content(0), &inner);
            let opened = opening.open(&mut out);
            assert_eq!(opened.is_ok(), fits, "{opened:?}");
        }
    }

    #[test]
    fn a_record_too_short_for_its_tag_is_refused() {
        for Case(key, _) in cases() {
            for length in 0..16 {
                let mut record = header(Content::APPLICATION_DATA, length).to_vec();
                record.resize(HEADER + length, 0);
                assert_eq!(key().open(&mut record), Err(Violation::BadRecordMac), "{length}");
            }
        }
    }
}
