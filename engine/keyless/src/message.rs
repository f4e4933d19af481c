//! The items of a frame: tag, length and value.

use core::fmt;

use crate::frame::{Frame, HEADER_BYTES, PADDED_BYTES, VERSION};
use crate::operation::{ErrorCode, PONG, REFUSAL, RESPONSE};
use crate::ski::{SKI_BYTES, Ski};

const SUBJECT_KEY_IDENTIFIER: u8 = 0x04;
const OPCODE: u8 = 0x11;
const PAYLOAD: u8 = 0x12;
const PADDING: u8 = 0x20;

/// The length of an item's tag and length.
const ITEM_BYTES: usize = 3;

/// A request or an answer. Items that this protocol has for other purposes, such as the address of
/// a TLS client, are not read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// The number that the client chose. The answer has the same.
    pub id: u32,
    /// The number of the operation, or the kind of the answer.
    pub opcode: u8,
    /// The name of the key.
    pub ski: Option<Ski>,
    /// The digest, ciphertext or result. It may be secret.
    pub payload: &'a [u8],
}

impl fmt::Debug for Message<'_> {
    /// Shows no payload: it may hold a message.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Message");
        shown.field("id", &self.id).field("opcode", &self.opcode).field("ski", &self.ski);
        shown.finish_non_exhaustive()
    }
}

impl<'a> Message<'a> {
    /// Reads the items of a frame.
    ///
    /// # Errors
    ///
    /// An item is cut off, is there twice or has the wrong length, or there is no opcode.
    pub fn read(frame: Frame<'a>) -> Result<Self, Malformed> {
        let (mut opcode, mut ski, mut payload) = (None, None, None);
        let mut rest = frame.body;
        while !rest.is_empty() {
            let ([tag, length @ ..], more) =
                rest.split_first_chunk::<ITEM_BYTES>().ok_or(Malformed)?;
            let length = usize::from(u16::from_be_bytes(*length));
            let (value, more) = more.split_at_checked(length).ok_or(Malformed)?;
            let is_again = match *tag {
                OPCODE => opcode.replace(<[u8; 1]>::try_from(value)?[0]).is_some(),
                PAYLOAD => payload.replace(value).is_some(),
                SUBJECT_KEY_IDENTIFIER => {
                    ski.replace(Ski::new(<[u8; SKI_BYTES]>::try_from(value)?)).is_some()
                }
                _ => false,
            };
            if is_again {
                return Err(Malformed);
            }
            rest = more;
        }
        let opcode = opcode.ok_or(Malformed)?;
        Ok(Self { id: frame.id, opcode, ski, payload: payload.unwrap_or_default() })
    }

    /// Appends the frame to `out`, padded.
    ///
    /// # Panics
    ///
    /// If the payload has more than 60,000 bytes.
    pub fn write(&self, out: &mut Vec<u8>) {
        assert!(self.payload.len() <= PAYLOAD_BYTES_MAX, "the length of a body has 16 bits");
        let start = out.len();
        out.extend(VERSION);
        out.extend([0; 2]); // the length of the body, below
        out.extend(self.id.to_be_bytes());
        item(out, OPCODE, &[self.opcode]);
        if !self.payload.is_empty() {
            item(out, PAYLOAD, self.payload);
        }
        if let Some(ski) = &self.ski {
            item(out, SUBJECT_KEY_IDENTIFIER, ski.as_bytes());
        }
        let len = out.len() - start;
        if len < PADDED_BYTES {
            let zeros = PADDED_BYTES.saturating_sub(len + ITEM_BYTES);
            item(out, PADDING, &[0; PADDED_BYTES][..zeros]);
        }
        let body = (out.len() - start - HEADER_BYTES).to_be_bytes();
        out[start + 2..start + 4].copy_from_slice(&body[body.len() - 2..]);
    }
}

/// An answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reply<'a> {
    /// The payload of a ping.
    Pong(&'a [u8]),
    /// The reason of a refusal.
    Refused(ErrorCode),
    /// The result, which may be secret. So this has no `Debug`.
    Result(&'a [u8]),
}

impl<'a> Message<'a> {
    /// Returns what the answer says.
    ///
    /// # Errors
    ///
    /// The message is no answer of this protocol.
    pub fn reply(self) -> Result<Reply<'a>, Malformed> {
        match (self.opcode, self.payload) {
            (PONG, payload) => Ok(Reply::Pong(payload)),
            (RESPONSE, result) => Ok(Reply::Result(result)),
            (REFUSAL, [code]) => ErrorCode::from_number(*code).map(Reply::Refused).ok_or(Malformed),
            _ => Err(Malformed),
        }
    }
}

/// With the other items it fits the length of a frame.
const PAYLOAD_BYTES_MAX: usize = 60_000;

fn item(out: &mut Vec<u8>, tag: u8, value: &[u8]) {
    let length = value.len().to_be_bytes();
    out.push(tag);
    out.extend(&length[length.len() - 2..]);
    out.extend(value);
}

/// The items of a frame cannot be read. Correct the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the items of a frame cannot be read: correct the client")]
pub struct Malformed;

impl From<core::array::TryFromSliceError> for Malformed {
    fn from(_: core::array::TryFromSliceError) -> Self {
        Self
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::frame::{Split, split};

    fn read(body: &[u8]) -> Result<Message<'_>, Malformed> {
        Message::read(Frame { id: 1, body })
    }

    #[test]
    fn items_may_come_in_any_order_and_others_are_skipped() {
        let ski = [&[4, 0, 20][..], &[7; 20]].concat();
        let expected = Message { id: 1, opcode: 5, ski: Some(Ski::new([7; 20])), payload: &[8, 9] };
        let (payload, opcode) = ([0x12, 0, 2, 8, 9], [0x11, 0, 1, 5]);
        let other = [0x03, 0, 4, 127, 0, 0, 1]; // the address of a client, twice
        for items in [
            [&ski[..], &payload, &opcode, &other, &other],
            [&opcode, &other, &other, &payload, &ski],
        ] {
            assert_eq!(read(&items.concat()), Ok(expected));
        }
        let alone = Message { id: 1, opcode: 5, ski: None, payload: &[] };
        assert_eq!(read(&opcode), Ok(alone));
    }

    #[test]
    fn other_items_are_refused() {
        let opcode = [0x11, 0, 1, 5];
        for (items, why) in [
            (&[][..], "no opcode"),
            (&[0x12, 0, 1, 5], "no opcode"),
            (&[0x11, 0, 0], "an empty opcode"),
            (&[0x11, 0, 2, 5, 5], "a long opcode"),
            (&[0x11, 0, 1], "a value is cut off"),
            (&[0x11, 0], "a length is cut off"),
            (&[4, 0, 19, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], "19 bytes"),
        ] {
            assert_eq!(read(items), Err(Malformed), "{why}");
        }
        for again in [&opcode[..], &[0x12, 0, 0, 0x12, 0, 0], &[0x20], &[0x20, 0xff, 0xff]] {
            assert_eq!(read(&[&opcode, again].concat()), Err(Malformed), "{again:?}");
        }
    }

    #[test]
    fn short_frames_are_padded() {
        let mut sent = Vec::new();
        // the frame would have 8 + 4 + 3 + this many bytes
        for len in 0..1100 {
            sent.clear();
            let payload = vec![9; len];
            Message { id: 1, opcode: 0xf0, ski: None, payload: &payload }.write(&mut sent);
            let bare = 8 + 4 + if len > 0 { 3 + len } else { 0 };
            // an item of padding has three bytes or more
            let expected = if bare < 1024 { 1024.max(bare + 3) } else { bare };
            assert_eq!(sent.len(), expected, "{len}");
        }
    }

    proptest! {
        #[test]
        fn a_message_is_read_as_it_was_written(
            id: u32,
            opcode: u8,
            name: Option<[u8; 20]>,
            payload in prop::collection::vec(any::<u8>(), 0..2000),
        ) {
            let message = Message { id, opcode, ski: name.map(Ski::new), payload: &payload };
            let mut sent = vec![1, 2, 3];
            message.write(&mut sent);
            let Split::Frame { frame, len } = split(&sent[3..], 4096) else { panic!() };
            prop_assert_eq!(len, sent.len() - 3);
            prop_assert_eq!(Message::read(frame), Ok(message));
        }
    }
}
