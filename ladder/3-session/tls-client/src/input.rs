//! Assembles records from received bytes, and handshake messages from records.

use core::ops::Range;

use crate::error::Violation;
use crate::protect::{BODY_TLS12, HEADER};
use crate::wire::{Content, Message};

/// The maximum size of a record.
const ROOM: usize = HEADER + BODY_TLS12;

/// Maximum length of a handshake message, in bytes. OpenSSL has this limit for certificate lists.
const MESSAGE_BYTES_MAX: usize = 100 << 10;

/// The content of a record. Data is a range of the input.
#[derive(Debug)]
pub(crate) enum Received {
    Closed,
    Data(Range<usize>),
    Established,
}

/// A fixed-size buffer of records.
pub(crate) struct Input {
    bytes: Box<[u8]>,
    /// The unread range.
    unread: Range<usize>,
}

impl Input {
    pub(crate) fn new() -> Self {
        Self { bytes: vec![0; ROOM].into(), unread: 0..0 }
    }

    pub(crate) fn clear(&mut self) {
        self.unread = 0..0;
    }

    /// Returns the free part; empty only if a complete record is unread.
    pub(crate) fn space(&mut self) -> &mut [u8] {
        if self.unread.start > 0 {
            self.bytes.copy_within(self.unread.clone(), 0);
            self.unread = 0..self.unread.len();
        }
        &mut self.bytes[self.unread.end..]
    }

    /// Returns the maximum argument of [`filled`](Self::filled).
    pub(crate) const fn room(&self) -> usize {
        self.bytes.len() - self.unread.end
    }

    /// Marks the first `count` bytes of the free part as received.
    pub(crate) const fn filled(&mut self, count: usize) {
        self.unread.end += count;
    }

    /// Consumes the next record if it is complete, and returns its range. The record's body has at
    /// most `limit_bytes` bytes.
    pub(crate) fn record(&mut self, limit_bytes: usize) -> Result<Option<Range<usize>>, Violation> {
        let unread = &self.bytes[self.unread.clone()];
        let Some(&[content, major, minor, high, low]) = unread.first_chunk() else {
            return Ok(None);
        };
        let content = Content(content);
        if content.name().is_none() {
            return Err(Violation::RecordType { found: content });
        }
        if major != 3 {
            return Err(Violation::RecordVersion { found: u16::from_be_bytes([major, minor]) });
        }
        let length = usize::from(u16::from_be_bytes([high, low]));
        if length > limit_bytes {
            return Err(Violation::RecordOverflow { found_bytes: length, limit_bytes });
        }
        if length == 0 && content != Content::APPLICATION_DATA {
            return Err(Violation::EmptyRecord { content });
        }
        if unread.len() < HEADER + length {
            return Ok(None);
        }
        let start = self.unread.start;
        self.unread.start += HEADER + length;
        Ok(Some(start..self.unread.start))
    }

    pub(crate) fn at(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[range]
    }

    pub(crate) fn at_mut(&mut self, range: Range<usize>) -> &mut [u8] {
        &mut self.bytes[range]
    }
}

/// A received handshake message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Incoming<'a> {
    pub(crate) message: Message,
    /// The message with type and length, as the transcript hashes it.
    pub(crate) whole: &'a [u8],
    /// True if no handshake byte after this message has arrived.
    pub(crate) last: bool,
}

impl<'a> Incoming<'a> {
    pub(crate) fn body(&self) -> &'a [u8] {
        &self.whole[4..]
    }

    /// Checks that no message follows, because the keys change here (RFC 8446 §5.1).
    pub(crate) const fn ends_flight(&self) -> Result<(), Violation> {
        if self.last { Ok(()) } else { Err(Violation::Interleaved) }
    }
}

/// The joined bytes, and the range of the message.
type Taken = (Vec<u8>, Range<usize>);

/// Joins fragments of handshake messages.
#[derive(Default)]
pub(crate) struct Joined {
    bytes: Vec<u8>,
    read: usize,
}

impl Joined {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.read = 0;
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.read == self.bytes.len()
    }

    pub(crate) fn append(&mut self, fragment: &[u8]) {
        self.bytes.drain(..self.read); // usually everything
        self.read = 0;
        self.bytes.extend_from_slice(fragment);
    }

    /// Consumes the next message if it is complete. The message remains in `bytes` until
    /// [`Self::give`].
    pub(crate) fn message(&mut self) -> Result<Option<Taken>, Violation> {
        let unread = &self.bytes[self.read..];
        let Some(&[_, a, b, c]) = unread.first_chunk() else {
            return Ok(None);
        };
        let found_bytes = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
        if found_bytes > MESSAGE_BYTES_MAX {
            let limit_bytes = MESSAGE_BYTES_MAX;
            return Err(Violation::MessageTooLong { found_bytes, limit_bytes });
        }
        if unread.len() < 4 + found_bytes {
            return Ok(None);
        }
        let start = self.read;
        self.read += 4 + found_bytes;
        Ok(Some((core::mem::take(&mut self.bytes), start..self.read)))
    }

    /// Takes the bytes back after the message was handled.
    pub(crate) fn give(&mut self, bytes: Vec<u8>) {
        self.bytes = bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protect::{BODY_TLS13, FRAGMENT};

    #[test]
    fn a_full_buffer_holds_a_complete_record() {
        let mut input = Input::new();
        assert_eq!(input.space().len(), ROOM);
        let header = [23, 3, 3, 0x48, 0]; // 2^14 + 2048
        input.space()[..HEADER].copy_from_slice(&header);
        input.filled(ROOM);
        assert!(input.space().is_empty());
        assert_eq!(input.record(BODY_TLS12).unwrap(), Some(0..ROOM));
        assert_eq!(input.space().len(), ROOM);
    }

    #[test]
    fn invalid_headers_are_refused_before_the_body() {
        let record = |header: [u8; 5], limit| {
            let mut input = Input::new();
            input.space()[..HEADER].copy_from_slice(&header);
            input.filled(HEADER);
            input.record(limit)
        };
        let found = record(*b"HTTP/", FRAGMENT).unwrap_err();
        assert_eq!(found, Violation::RecordType { found: Content(b'H') });
        let found = record([22, 2, 0, 0, 9], FRAGMENT).unwrap_err();
        assert_eq!(found, Violation::RecordVersion { found: 0x0200 });
        for (limit, length) in [(FRAGMENT, 0x4001_u16), (BODY_TLS13, 0x4101)] {
            let [high, low] = length.to_be_bytes();
            let found = record([22, 3, 3, high, low], limit).unwrap_err();
            assert!(matches!(found, Violation::RecordOverflow { .. }));
            assert_eq!(record([22, 3, 3, high, low - 1], limit).unwrap(), None);
        }
        let found = record([22, 3, 3, 0, 0], FRAGMENT).unwrap_err();
        assert_eq!(found, Violation::EmptyRecord { content: Content::HANDSHAKE });
    }

    #[test]
    fn unaligned_messages_do_not_accumulate() {
        let mut joined = Joined::default();
        joined.append(&[0]);
        for _ in 0..10_000 {
            joined.append(&[0, 0, 0, 0]); // the end of a message, and the beginning of the next
            while let Some((bytes, _)) = joined.message().unwrap() {
                joined.give(bytes);
            }
        }
        assert!(joined.bytes.capacity() < 1000, "{}", joined.bytes.capacity());
    }

    #[test]
    fn messages_are_joined_from_any_pieces() {
        let stream = [20, 0, 0, 0, 11, 0, 0, 2, 5, 6, 14];
        for cut in 0..=stream.len() {
            let mut joined = Joined::default();
            let mut found = vec![];
            for piece in [&stream[..cut], &stream[cut..]] {
                joined.append(piece);
                while let Some((bytes, range)) = joined.message().unwrap() {
                    found.push(bytes[range].to_vec());
                    joined.give(bytes);
                }
            }
            assert_eq!(found, [&stream[..4], &stream[4..10]]);
            assert!(!joined.is_empty());
        }
        let mut joined = Joined::default();
        joined.append(&[11, 255, 255, 255]);
        assert!(matches!(joined.message(), Err(Violation::MessageTooLong { .. })));
    }
}
