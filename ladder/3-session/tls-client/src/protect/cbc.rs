//! Block ciphers in CBC mode with an HMAC (RFC 5246 §6.2.3.2), in either order (RFC 7366).
//!
//! The checks of padding and MAC do not take constant time. Their timing could only reveal the data
//! of a load generator.

use core::ops::Range;

use aws_lc_rs::cipher::{
    Algorithm, DecryptingKey, DecryptionContext, EncryptingKey, EncryptionContext, UnboundCipherKey,
};
use aws_lc_rs::iv::FixedLength;
use aws_lc_rs::rand;
use des::TdesEde3;
use des::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};

use super::mac::Mac;
use super::{HEADER, header};
use crate::error::Violation;
use crate::wire::Content;

/// The longest block, in bytes.
const BLOCK_MAX: usize = 16;

/// A block cipher's key.
#[allow(clippy::large_enum_variant, reason = "it is boxed with the rest of its key")]
pub(super) enum Block {
    Aes { sealing: EncryptingKey, opening: DecryptingKey },
    TripleDes(TdesEde3),
}

impl Block {
    pub(super) fn aes(algorithm: &'static Algorithm, key: &[u8]) -> Self {
        let key = || UnboundCipherKey::new(algorithm, key).expect("cut to the cipher's size");
        Self::Aes {
            sealing: EncryptingKey::cbc(key()).expect("AES has CBC"),
            opening: DecryptingKey::cbc(key()).expect("AES has CBC"),
        }
    }

    pub(super) fn triple_des(key: &[u8]) -> Self {
        let key = TdesEde3::new_from_slice(key).expect("cut to the cipher's size");
        Self::TripleDes(key)
    }

    const fn bytes(&self) -> usize {
        match self {
            Self::Aes { .. } => 16,
            Self::TripleDes(_) => 8,
        }
    }

    /// Encrypts `data`, which has whole blocks; `iv` is one block.
    fn encrypt(&self, iv: &[u8], data: &mut [u8]) {
        match self {
            Self::Aes { sealing, .. } => {
                let context = EncryptionContext::Iv128(fixed(iv));
                sealing.less_safe_encrypt(data, context).expect("whole blocks");
            }
            Self::TripleDes(key) => {
                let mut last = <[u8; 8]>::try_from(iv).expect("an IV is a block");
                let (blocks, _) = data.as_chunks_mut::<8>();
                for block in blocks {
                    last = xor(*block, last);
                    let mut array = Array::from(last);
                    key.encrypt_block(&mut array);
                    last = array.into();
                    *block = last;
                }
            }
        }
    }

    /// Decrypts `data`, which has whole blocks; `iv` is one block.
    fn decrypt(&self, iv: &[u8], data: &mut [u8]) {
        match self {
            Self::Aes { opening, .. } => {
                let context = DecryptionContext::Iv128(fixed(iv));
                opening.decrypt(data, context).expect("whole blocks");
            }
            Self::TripleDes(key) => {
                let mut last = <[u8; 8]>::try_from(iv).expect("an IV is a block");
                let (blocks, _) = data.as_chunks_mut::<8>();
                for block in blocks {
                    let mut array = Array::from(*block);
                    key.decrypt_block(&mut array);
                    let plain = xor(array.into(), last);
                    last = core::mem::replace(block, plain);
                }
            }
        }
    }
}

fn fixed(iv: &[u8]) -> FixedLength<16> {
    FixedLength::from(<&[u8; 16]>::try_from(iv).expect("an IV is a block"))
}

fn xor(a: [u8; 8], b: [u8; 8]) -> [u8; 8] {
    (u64::from_ne_bytes(a) ^ u64::from_ne_bytes(b)).to_ne_bytes()
}

/// The keys of a block cipher and of its MAC.
pub(super) struct Cbc {
    block: Block,
    mac: Mac,
    encrypt_then_mac: bool,
}

impl Cbc {
    pub(super) const fn new(block: Block, mac: Mac, encrypt_then_mac: bool) -> Self {
        Self { block, mac, encrypt_then_mac }
    }

    pub(super) fn seal(&self, sequence: u64, out: &mut Vec<u8>, content: Content, fragment: &[u8]) {
        let start = out.len();
        let iv_bytes = self.block.bytes();
        let first = start + HEADER + iv_bytes;
        out.extend([0; HEADER + BLOCK_MAX]);
        out.truncate(first);
        // a predictable IV would endanger only secrets, and a load generator sends none
        rand::fill(&mut out[start + HEADER..])
            .expect("the generator was seeded for the ClientHello");
        out.extend_from_slice(fragment);
        if !self.encrypt_then_mac {
            let tag = self.mac.tag(sequence, content, fragment);
            out.extend_from_slice(tag.as_ref());
        }
        let padding = iv_bytes - 1 - (out.len() - first) % iv_bytes;
        out.resize(out.len() + padding + 1, u8::try_from(padding).expect("less than a block"));
        let (head, data) = out.split_at_mut(first);
        self.block.encrypt(&head[start + HEADER..], data);
        if self.encrypt_then_mac {
            let tag = self.mac.tag(sequence, content, &out[start + HEADER..]);
            out.extend_from_slice(tag.as_ref());
        }
        let header = header(content, out.len() - start - HEADER);
        out[start..start + HEADER].copy_from_slice(&header);
    }

    pub(super) fn open(
        &self,
        sequence: u64,
        record: &mut [u8],
    ) -> Result<(Content, Range<usize>), Violation> {
        let bad = Violation::BadRecordMac;
        let content = Content(record[0]);
        let (iv_bytes, mac_bytes) = (self.block.bytes(), self.mac.bytes());
        let mut end = record.len();
        if self.encrypt_then_mac {
            end = end.checked_sub(mac_bytes).filter(|&end| end >= HEADER).ok_or(bad)?;
            let (covered, tag) = record.split_at(end);
            self.mac.verify(sequence, content, &covered[HEADER..], tag)?;
        }
        let first = HEADER + iv_bytes;
        let (head, data) = record[..end].split_at_mut_checked(first).ok_or(bad)?;
        if data.is_empty() || !data.len().is_multiple_of(iv_bytes) {
            return Err(bad);
        }
        self.block.decrypt(&head[HEADER..], data);
        // RFC 5246 §6.2.3.2: each byte of the padding, and the byte after it, is the padding's
        // length
        let padding = data[data.len() - 1];
        let length = data.len().checked_sub(usize::from(padding) + 1).ok_or(bad)?;
        if data[length..].iter().any(|&byte| byte != padding) {
            return Err(bad);
        }
        if self.encrypt_then_mac {
            return Ok((content, first..first + length));
        }
        let length = length.checked_sub(mac_bytes).ok_or(bad)?;
        let (fragment, tag) = data.split_at(length);
        self.mac.verify(sequence, content, fragment, &tag[..mac_bytes])?;
        Ok((content, first..first + length))
    }
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::cipher::AES_128;

    use super::*;

    const CONTENT: Content = Content::APPLICATION_DATA;
    const IV: [u8; 16] = [9; 16];

    fn cbc(encrypt_then_mac: bool) -> Cbc {
        Cbc::new(Block::aes(&AES_128, &[1; 16]), Mac::new(&[2; 20]), encrypt_then_mac)
    }

    /// Returns a record that encrypts these bytes.
    fn record(plain: &[u8], encrypt_then_mac: bool) -> Vec<u8> {
        let cbc = cbc(encrypt_then_mac);
        let mut data = plain.to_vec();
        cbc.block.encrypt(&IV, &mut data);
        let mut body = [&IV[..], &data].concat();
        if encrypt_then_mac {
            let tag = cbc.mac.tag(0, CONTENT, &body);
            body.extend_from_slice(tag.as_ref());
        }
        [&header(CONTENT, body.len())[..], &body].concat()
    }

    /// Returns a record with `length` bytes of padding after content and MAC. Each padding byte is
    /// `value`.
    fn padded(content: &[u8], encrypt_then_mac: bool, length: usize, value: u8) -> Vec<u8> {
        let mut plain = content.to_vec();
        if !encrypt_then_mac {
            plain.extend_from_slice(cbc(false).mac.tag(0, CONTENT, content).as_ref());
        }
        plain.resize(plain.len() + length, value);
        record(&plain, encrypt_then_mac)
    }

    #[test]
    fn well_formed_padding_is_removed() {
        for encrypt_then_mac in [false, true] {
            // 12 bytes of content and a MAC of 20 bytes fill whole blocks
            let content = if encrypt_then_mac { [5; 16].to_vec() } else { [5; 12].to_vec() };
            for length in [16, 32, 240, 256] {
                let value = u8::try_from(length - 1).unwrap();
                let mut record = padded(&content, encrypt_then_mac, length, value);
                let (_, range) = cbc(encrypt_then_mac).open(0, &mut record).unwrap();
                assert_eq!(record[range], content);
            }
        }
    }

    #[test]
    fn invalid_padding_and_macs_are_refused() {
        for encrypt_then_mac in [false, true] {
            let refused = |mut record: Vec<u8>| {
                let found = cbc(encrypt_then_mac).open(0, &mut record);
                assert_eq!(found, Err(Violation::BadRecordMac), "{encrypt_then_mac}");
            };
            let content = if encrypt_then_mac { [5; 16].to_vec() } else { [5; 12].to_vec() };
            if !encrypt_then_mac {
                // under encrypt-then-MAC, the first padding byte would be valid content
                refused(padded(&content, encrypt_then_mac, 16, 14));
            }
            refused(padded(&content, encrypt_then_mac, 16, 16));
            refused(padded(&content, encrypt_then_mac, 16, 255));
            // the padding is longer than the record
            refused(record(&[31; 16], encrypt_then_mac));
            // one byte of the padding is wrong, and the MAC is right
            let mut plain = content.clone();
            if !encrypt_then_mac {
                plain.extend_from_slice(cbc(false).mac.tag(0, CONTENT, &content).as_ref());
            }
            plain.extend([15; 16]);
            let first = plain.len() - 16;
            plain[first] = 14;
            refused(record(&plain, encrypt_then_mac));
            // the padding is right, and the MAC belongs to another sequence number
            let mut late = padded(&content, encrypt_then_mac, 16, 15);
            let found = cbc(encrypt_then_mac).open(1, &mut late);
            assert_eq!(found, Err(Violation::BadRecordMac));
        }
        // the record is too short for a MAC
        let mut short = record(&[15; 16], false);
        assert_eq!(cbc(false).open(0, &mut short), Err(Violation::BadRecordMac));
    }

    /// NIST SP 800-67 has no CBC vectors. These vectors come from `openssl enc -des-ede3-cbc`.
    #[test]
    fn triple_des_equals_openssl() {
        let key: Vec<u8> = (1..25).collect();
        let block = Block::triple_des(&key);
        let mut data = *b"sixteen bytes ok";
        block.encrypt(&[7; 8], &mut data);
        assert_eq!(hex::encode(data), "9fef1ffcb70b91895149f91be8f9d330");
        block.decrypt(&[7; 8], &mut data);
        assert_eq!(&data, b"sixteen bytes ok");
    }
}
