//! Records under AES-128-GCM, as TLS 1.2 (RFC 5288) and TLS 1.3 (RFC 8446 §5.2) lay them out.

use core::ops::Range;

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};

use crate::error::Violation;
use crate::wire::{Content, TLS12};

/// Bytes of a record's header: type, version, length.
pub(crate) const HEADER: usize = 5;
/// The most plaintext in a record (RFC 8446 §5.1).
pub(crate) const FRAGMENT: usize = 1 << 14;
/// The longest body of a record of TLS 1.2 (RFC 5246 §6.2.3).
pub(crate) const BODY_TLS12: usize = FRAGMENT + 2048;
/// The longest body of a record of TLS 1.3 (RFC 8446 §5.2).
pub(crate) const BODY_TLS13: usize = FRAGMENT + 256;

const TAG: usize = 16;
/// The part of the nonce that stands in each record of TLS 1.2.
const EXPLICIT: usize = 8;

/// How a record is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// TLS 1.2: half of the nonce stands before the ciphertext.
    Explicit,
    /// TLS 1.3: the content type stands behind the plaintext.
    Inner,
}

/// The key of one direction, with its count of records.
///
/// No limit on records per key is kept (RFC 8446 §5.5: 2^24.5 full ones): no load comes near.
pub(crate) struct RecordKey {
    key: LessSafeKey,
    iv: [u8; 12],
    sequence: u64,
    layout: Layout,
}

impl RecordKey {
    /// For TLS 1.2: `salt` is the write IV.
    pub(crate) fn tls12(key: &[u8], salt: &[u8]) -> Self {
        let mut iv = [0; 12];
        iv[..4].copy_from_slice(salt);
        Self::new(key, iv, Layout::Explicit)
    }

    /// For TLS 1.3.
    pub(crate) fn tls13(key: &[u8; 16], iv: [u8; 12]) -> Self {
        Self::new(key, iv, Layout::Inner)
    }

    fn new(key: &[u8], iv: [u8; 12], layout: Layout) -> Self {
        let key = UnboundKey::new(&AES_128_GCM, key).expect("an AES-128 key has 16 bytes");
        Self { key: LessSafeKey::new(key), iv, sequence: 0, layout }
    }

    fn nonce(&self) -> [u8; 12] {
        let mut nonce = self.iv;
        // TLS 1.2 leaves the last 8 bytes to the sender; with an IV of zeros there it is the
        // sequence
        for (byte, count) in nonce[4..].iter_mut().zip(self.sequence.to_be_bytes()) {
            *byte ^= count;
        }
        nonce
    }

    /// Appends one record with `fragment`, of at most 2^14 bytes, to `out`.
    pub(crate) fn seal(&mut self, out: &mut Vec<u8>, content: Content, fragment: &[u8]) {
        let nonce = self.nonce();
        let start = out.len();
        match self.layout {
            Layout::Explicit => {
                out.extend(header(content, EXPLICIT + fragment.len() + TAG));
                out.extend_from_slice(&nonce[4..]);
                out.extend_from_slice(fragment);
                let aad = self.aad12(content, fragment.len());
                self.seal_from(out, start + HEADER + EXPLICIT, nonce, &aad);
            }
            Layout::Inner => {
                let aad = header(Content::APPLICATION_DATA, fragment.len() + 1 + TAG);
                out.extend(aad);
                out.extend_from_slice(fragment);
                out.push(content.0);
                self.seal_from(out, start + HEADER, nonce, &aad);
            }
        }
        self.sequence += 1;
    }

    fn seal_from(&self, out: &mut Vec<u8>, start: usize, nonce: [u8; 12], aad: &[u8]) {
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag = self.key.seal_in_place_separate_tag(nonce, Aad::from(aad), &mut out[start..]);
        out.extend_from_slice(tag.expect("AES-GCM takes 2^14 bytes").as_ref());
    }

    /// Decrypts one whole record in place. Returns its content type and where in `record` its
    /// plaintext lies.
    pub(crate) fn open(&mut self, record: &mut [u8]) -> Result<(Content, Range<usize>), Violation> {
        let content = Content(record[0]);
        let nonce = self.nonce();
        let (content, range) = match self.layout {
            Layout::Explicit => self.open_tls12(record, content, nonce)?,
            Layout::Inner => self.open_tls13(record, nonce)?,
        };
        if range.len() > FRAGMENT {
            let found_bytes = range.len();
            return Err(Violation::RecordOverflow { found_bytes, limit_bytes: FRAGMENT });
        }
        self.sequence += 1;
        Ok((content, range))
    }

    fn open_tls12(
        &self,
        record: &mut [u8],
        content: Content,
        mut nonce: [u8; 12],
    ) -> Result<(Content, Range<usize>), Violation> {
        let start = HEADER + EXPLICIT;
        let length = record.len().checked_sub(start + TAG).ok_or(Violation::BadRecordMac)?;
        nonce[4..].copy_from_slice(&record[HEADER..start]);
        let aad = self.aad12(content, length);
        self.key
            .open_in_place(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(aad),
                &mut record[start..],
            )
            .map_err(|_| Violation::BadRecordMac)?;
        Ok((content, start..start + length))
    }

    fn open_tls13(
        &self,
        record: &mut [u8],
        nonce: [u8; 12],
    ) -> Result<(Content, Range<usize>), Violation> {
        let (aad, body) = record.split_at_mut(HEADER);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let inner = self
            .key
            .open_in_place(nonce, Aad::from(&*aad), body)
            .map_err(|_| Violation::BadRecordMac)?;
        if inner.len() > FRAGMENT + 1 {
            let (found_bytes, limit_bytes) = (inner.len(), FRAGMENT + 1);
            return Err(Violation::RecordOverflow { found_bytes, limit_bytes });
        }
        // RFC 8446 §5.4: zeros are padding, and the last byte that is none is the type
        let last = inner.iter().rposition(|&byte| byte != 0);
        let last = last.ok_or(Violation::EmptyRecord { content: Content::APPLICATION_DATA })?;
        Ok((Content(inner[last]), HEADER..HEADER + last))
    }

    /// RFC 5246 §6.2.3.3: sequence, type, version, length of the plaintext.
    fn aad12(&self, content: Content, length: usize) -> [u8; 13] {
        let mut aad = [0; 13];
        aad[..8].copy_from_slice(&self.sequence.to_be_bytes());
        aad[8..].copy_from_slice(&header(content, length));
        aad
    }
}

/// The header of a record with a body of `length` bytes.
pub(crate) fn header(content: Content, length: usize) -> [u8; HEADER] {
    let [major, minor] = TLS12.to_be_bytes();
    let length = u16::try_from(length).expect("a record has at most 2^14 + 256 bytes");
    let [high, low] = length.to_be_bytes();
    [content.0, major, minor, high, low]
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn pairs() -> [(RecordKey, RecordKey); 2] {
        [
            [(); 2].map(|()| RecordKey::tls12(&[1; 16], &[2; 4])).into(),
            [(); 2].map(|()| RecordKey::tls13(&[1; 16], [3; 12])).into(),
        ]
    }

    #[test]
    fn open_undoes_seal_for_every_record_of_a_sequence() {
        for (mut sealing, mut opening) in pairs() {
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
    fn every_flipped_bit_is_found() {
        for (mut sealing, mut opening) in pairs() {
            let mut out = vec![];
            sealing.seal(&mut out, Content::ALERT, &[1, 0]);
            // the version of a TLS 1.2 record is not what is authenticated: ours is
            let free = if sealing.layout == Layout::Explicit { 1..5 } else { 0..0 };
            for bit in (0..8 * out.len()).filter(|bit| !free.contains(&(bit / 8))) {
                let mut bad = out.clone();
                bad[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(opening.open(&mut bad).unwrap_err(), Violation::BadRecordMac, "{bit}");
            }
            opening.open(&mut out).unwrap();
            assert_eq!(opening.open(&mut out).unwrap_err(), Violation::BadRecordMac, "a replay");
        }
    }

    #[test]
    fn padding_is_taken_off_and_a_record_of_padding_alone_refused() {
        let [_, (mut sealing, mut opening)] = pairs();
        let mut out = vec![];
        // inner plaintext: type 22 behind two bytes, then the zeros and what `seal` takes for a
        // type
        sealing.seal(&mut out, Content(0), &[5, 6, 22, 0, 0]);
        assert_eq!(opening.open(&mut out).unwrap(), (Content::HANDSHAKE, HEADER..HEADER + 2));
        let mut out = vec![];
        sealing.seal(&mut out, Content(0), &[0, 0]);
        assert!(matches!(opening.open(&mut out), Err(Violation::EmptyRecord { .. })));
    }

    /// RFC 8446 §5.4: content, type and padding have at most 2^14 + 1 bytes.
    #[test]
    fn padding_counts_into_the_limit() {
        for (padding, fits) in [(FRAGMENT - 2, true), (FRAGMENT - 1, false)] {
            let [_, (mut sealing, mut opening)] = pairs();
            let inner = [&[5, 22][..], &vec![0; padding]].concat();
            let mut out = vec![];
            sealing.seal(&mut out, Content(0), &inner);
            let opened = opening.open(&mut out);
            assert_eq!(opened.is_ok(), fits, "{opened:?}");
        }
    }

    #[test]
    fn a_record_too_short_for_its_tag_is_refused() {
        for (_, mut opening) in pairs() {
            for length in 0..TAG + EXPLICIT {
                let mut record = header(Content::APPLICATION_DATA, length).to_vec();
                record.resize(HEADER + length, 0);
                assert_eq!(opening.open(&mut record), Err(Violation::BadRecordMac), "{length}");
            }
        }
    }
}
