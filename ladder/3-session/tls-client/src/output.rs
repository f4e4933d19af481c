//! The bytes to send to the server.

use crate::decode::put_vector;
use crate::protect::{FRAGMENT, RecordKey, header};
use crate::wire::Content;

/// Queued records.
#[derive(Default)]
pub(crate) struct Output {
    bytes: Vec<u8>,
    start: usize,
    sent: u64,
    sealing: Option<RecordKey>,
}

impl Output {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.start = 0;
        self.sent = 0;
        self.sealing = None;
    }

    pub(crate) fn waiting(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Removes the first `count` queued bytes.
    pub(crate) fn advance(&mut self, count: usize) {
        self.start += count;
        self.sent += count as u64;
        if self.start == self.bytes.len() {
            self.bytes.clear();
            self.start = 0;
        }
    }

    /// Returns the position in the stream after all queued bytes.
    pub(crate) fn mark(&self) -> u64 {
        self.sent + self.waiting().len() as u64
    }

    /// Returns whether all bytes up to a position were sent.
    pub(crate) const fn is_sent(&self, mark: u64) -> bool {
        self.sent >= mark
    }

    /// Seals further records with this key.
    pub(crate) fn seal_with(&mut self, key: RecordKey) {
        self.sealing = Some(key);
    }

    /// Writes further records in plaintext.
    pub(crate) fn unseal(&mut self) {
        self.sealing = None;
    }

    /// Appends the first `ClientHello` of a connection.
    pub(crate) fn first_hello(&mut self, message: &[u8]) {
        self.bytes.extend([Content::HANDSHAKE.0, 3, 1]); // RFC 8446 §5.1: 0x0301 at first
        put_vector(&mut self.bytes, 2, |out| out.extend_from_slice(message));
    }

    /// Appends records with `content`, sealed if there is a key.
    pub(crate) fn record(&mut self, content: Content, bytes: &[u8]) {
        for fragment in bytes.chunks(FRAGMENT) {
            match &mut self.sealing {
                Some(key) => key.seal(&mut self.bytes, content, fragment),
                None => {
                    self.bytes.extend(header(content, fragment.len()));
                    self.bytes.extend_from_slice(fragment);
                }
            }
        }
    }
}
