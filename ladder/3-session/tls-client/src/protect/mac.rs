//! The MAC of TLS 1.2 records whose cipher is not an AEAD (RFC 5246 §6.2.3.1): HMAC-SHA1.

use aws_lc_rs::hmac;

use super::authenticated;
use crate::error::Violation;
use crate::hash::Hash;
use crate::wire::Content;

pub(super) struct Mac(hmac::Key);

impl Mac {
    pub(super) fn new(key: &[u8]) -> Self {
        Self(Hash::Sha1.hmac_key(key))
    }

    pub(super) fn bytes(&self) -> usize {
        self.0.algorithm().tag_len()
    }

    /// Returns the MAC of the sequence number, the type, the version, the length of `bytes`, and
    /// `bytes`.
    pub(super) fn tag(&self, sequence: u64, content: Content, bytes: &[u8]) -> hmac::Tag {
        let mut context = hmac::Context::with_key(&self.0);
        context.update(&authenticated(sequence, content, bytes.len()));
        context.update(bytes);
        context.sign()
    }

    pub(super) fn verify(
        &self,
        sequence: u64,
        content: Content,
        bytes: &[u8],
        tag: &[u8],
    ) -> Result<(), Violation> {
        let expected = self.tag(sequence, content, bytes);
        aws_lc_rs::constant_time::verify_slices_are_equal(expected.as_ref(), tag)
            .map_err(|_| Violation::BadRecordMac)
    }
}
