//! Reads the presentation language of TLS (RFC 8446 §3); errors name the field.

use crate::error::Violation;
use crate::wire::Message;

/// The unread bytes of one handshake message, or of a vector within it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    message: Message,
}

impl<'a> Reader<'a> {
    /// Creates a reader of a message body, without type and length.
    pub(crate) const fn new(message: Message, bytes: &'a [u8]) -> Self {
        Self { bytes, message }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the violation for a malformed field of this message.
    pub(crate) const fn malformed(&self, field: &'static str) -> Violation {
        Violation::Decode { message: self.message, field }
    }

    /// Returns the violation for a field of this message whose value is not allowed.
    pub(crate) const fn illegal(&self, field: &'static str) -> Violation {
        Violation::IllegalParameter { message: self.message, field }
    }

    pub(crate) fn bytes(
        &mut self,
        count: usize,
        field: &'static str,
    ) -> Result<&'a [u8], Violation> {
        let Some((head, tail)) = self.bytes.split_at_checked(count) else {
            return Err(self.malformed(field));
        };
        self.bytes = tail;
        Ok(head)
    }

    pub(crate) fn array<const N: usize>(
        &mut self,
        field: &'static str,
    ) -> Result<[u8; N], Violation> {
        let bytes = self.bytes(N, field)?;
        Ok(bytes.try_into().expect("a slice of N bytes is an array of N bytes"))
    }

    pub(crate) fn u8(&mut self, field: &'static str) -> Result<u8, Violation> {
        self.array::<1>(field).map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self, field: &'static str) -> Result<u16, Violation> {
        self.array(field).map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self, field: &'static str) -> Result<u32, Violation> {
        self.array(field).map(u32::from_be_bytes)
    }

    /// Reads a vector with a length of `width` bytes, at most 4.
    pub(crate) fn vector(&mut self, width: usize, field: &'static str) -> Result<Self, Violation> {
        let length = self.bytes(width, field)?.iter();
        let length = length.fold(0, |length, &byte| length << 8 | usize::from(byte));
        Ok(Self { bytes: self.bytes(length, field)?, message: self.message })
    }

    /// Returns the remaining bytes.
    pub(crate) const fn rest(self) -> &'a [u8] {
        self.bytes
    }

    /// Checks that nothing is left.
    pub(crate) fn end(self, field: &'static str) -> Result<(), Violation> {
        if self.is_empty() { Ok(()) } else { Err(self.malformed(field)) }
    }
}

/// Appends a vector: its length in `width` bytes, big-endian, and the content that `fill` writes.
///
/// # Panics
///
/// If the length of the content does not fit into `width` bytes. Every caller writes bounded
/// content.
pub(crate) fn put_vector(out: &mut Vec<u8>, width: usize, fill: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.resize(start + width, 0);
    fill(out);
    let length = (out.len() - start - width).to_be_bytes();
    let (high, low) = length.split_at(length.len() - width);
    assert!(high.iter().all(|&byte| byte == 0), "a vector fits its length field");
    out[start..start + width].copy_from_slice(low);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_nest_and_errors_name_the_field() {
        let mut out = vec![9];
        put_vector(&mut out, 3, |out| {
            put_vector(out, 1, |out| out.extend([1, 2]));
        });
        assert_eq!(out, [9, 0, 0, 3, 2, 1, 2]);
        let mut r = Reader::new(Message::FINISHED, &out);
        assert_eq!(r.u8("first").unwrap(), 9);
        let mut outer = r.vector(3, "outer").unwrap();
        r.end("trailing").unwrap();
        assert_eq!(outer.vector(1, "inner").unwrap().rest(), [1, 2]);
        let short = Violation::Decode { message: Message::FINISHED, field: "gone" };
        assert_eq!(outer.u16("gone").unwrap_err(), short);
        let mut cut = Reader::new(Message::FINISHED, &out[..5]);
        cut.u8("first").unwrap();
        assert!(cut.vector(3, "outer").is_err());
    }
}
