//! RC4 with an HMAC (RFC 5246 §6.2.3.1).

use core::ops::Range;

use rc4::{KeyInit, Rc4, StreamCipher};

use super::mac::Mac;
use super::{HEADER, header};
use crate::error::Violation;
use crate::wire::Content;

/// The state of the cipher, which continues from record to record, and a MAC key.
pub(super) struct Stream {
    cipher: Rc4,
    mac: Mac,
}

impl Stream {
    pub(super) fn new(key: &[u8], mac: Mac) -> Self {
        let cipher = Rc4::new_from_slice(key).expect("cut to the cipher's size");
        Self { cipher, mac }
    }

    pub(super) fn seal(
        &mut self,
        sequence: u64,
        out: &mut Vec<u8>,
        content: Content,
        fragment: &[u8],
    ) {
        out.extend(header(content, fragment.len() + self.mac.bytes()));
        let first = out.len();
        out.extend_from_slice(fragment);
        out.extend_from_slice(self.mac.tag(sequence, content, fragment).as_ref());
        self.cipher.apply_keystream(&mut out[first..]);
    }

    pub(super) fn open(
        &mut self,
        sequence: u64,
        record: &mut [u8],
    ) -> Result<(Content, Range<usize>), Violation> {
        let content = Content(record[0]);
        let body = &mut record[HEADER..];
        let length = body.len().checked_sub(self.mac.bytes()).ok_or(Violation::BadRecordMac)?;
        self.cipher.apply_keystream(body);
        let (fragment, tag) = body.split_at(length);
        self.mac.verify(sequence, content, fragment, tag)?;
        Ok((content, HEADER..HEADER + length))
    }
}
