//! The bytes that have come of a stream, without copies of secrets in memory.

use core::fmt;

use zeroize::{Zeroize as _, Zeroizing};

use crate::frame::{Broken, Frame, HEADER_BYTES, Split, split};

/// The frames of a stream whose bytes come in pieces. The bytes of earlier frames are overwritten when
/// more come, and at the end.
///
/// ```
/// use tollgate_keyless::Incoming;
///
/// let mut incoming = Incoming::new(2048);
/// incoming.room()[..9].copy_from_slice(&[1, 0, 0, 1, 0, 0, 0, 7, 5]);
/// incoming.add(9);
/// let frame = incoming.next_frame().unwrap().expect("it is whole");
/// assert_eq!((frame.id, frame.body), (7, &[5][..]));
/// assert_eq!(incoming.next_frame(), Ok(None));
/// ```
pub struct Incoming {
    /// Of full size, because growing would leave copies of a secret in memory.
    bytes: Zeroizing<Vec<u8>>,
    /// The bytes that are in no frame yet.
    start: usize,
    end: usize,
    body_max: usize,
}

impl fmt::Debug for Incoming {
    /// Shows no bytes: they may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Incoming")
            .field("waiting", &(self.end - self.start))
            .finish_non_exhaustive()
    }
}

/// The number of the longest frames that have room at the same time.
const FRAMES: usize = 8;

impl Incoming {
    /// Makes room for frames whose body has at most `body_max` bytes, 0 to 65535.
    #[must_use]
    pub fn new(body_max: usize) -> Self {
        let bytes = Zeroizing::new(vec![0; FRAMES * (HEADER_BYTES + body_max)]);
        Self { bytes, start: 0, end: 0, body_max }
    }

    /// Returns room for more bytes. It is never empty if [`next_frame`](Self::next_frame) has
    /// returned no frame before.
    pub fn room(&mut self) -> &mut [u8] {
        let written = self.end;
        self.bytes.copy_within(self.start..written, 0);
        (self.start, self.end) = (0, written - self.start);
        self.bytes[self.end..written].zeroize();
        &mut self.bytes[self.end..]
    }

    /// Takes bytes that were written to the beginning of [`room`](Self::room).
    ///
    /// # Panics
    ///
    /// If there were fewer.
    pub fn add(&mut self, count: usize) {
        assert!(count <= self.bytes.len() - self.end, "more bytes than there is room for");
        self.end += count;
    }

    /// Returns the next frame, if it is whole.
    ///
    /// # Errors
    ///
    /// No frame can begin like this. Nothing behind it can be read either.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, Broken> {
        match split(&self.bytes[self.start..self.end], self.body_max) {
            Split::Broken { why, .. } => Err(why),
            Split::Frame { frame, len } => {
                self.start += len;
                Ok(Some(frame))
            }
            Split::Partial => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::message::Message;

    /// Returns the numbers of the frames that come in pieces of this length.
    fn numbers(stream: &[u8], piece: usize) -> Result<Vec<u32>, Broken> {
        let (mut incoming, mut rest, mut found) = (Incoming::new(2048), stream, Vec::new());
        loop {
            while let Some(frame) = incoming.next_frame()? {
                found.push(frame.id);
            }
            let room = incoming.room();
            let count = piece.min(room.len()).min(rest.len());
            if count == 0 {
                assert!(rest.is_empty(), "there is room");
                return Ok(found);
            }
            room[..count].copy_from_slice(&rest[..count]);
            rest = &rest[count..];
            incoming.add(count);
        }
    }

    proptest! {
        #[test]
        fn frames_are_found_in_pieces_of_any_length(
            lengths in prop::collection::vec(0_usize..2000, 0..40),
            piece in 1_usize..20_000,
        ) {
            let mut stream = Vec::new();
            for (id, len) in (0..).zip(&lengths) {
                let payload = vec![3; *len];
                Message { id, opcode: 0xf0, ski: None, payload: &payload }.write(&mut stream);
            }
            let all: Vec<u32> = (0..).take(lengths.len()).collect();
            prop_assert_eq!(numbers(&stream, piece), Ok(all));
            stream.extend([2; 8]);
            prop_assert_eq!(numbers(&stream, piece), Err(Broken::Version));
        }
    }

    #[test]
    fn bytes_of_earlier_frames_are_overwritten() {
        let mut incoming = Incoming::new(2048);
        let mut stream = Vec::new();
        Message { id: 1, opcode: 0xf0, ski: None, payload: &[0xa5; 256] }.write(&mut stream);
        stream.extend([1, 0]); // the next frame begins
        incoming.room()[..stream.len()].copy_from_slice(&stream);
        incoming.add(stream.len());
        assert!(incoming.next_frame().is_ok_and(|frame| frame.is_some()));
        assert!(incoming.bytes.contains(&0xa5));
        incoming.room();
        assert!(!incoming.bytes.contains(&0xa5));
        assert_eq!(incoming.bytes[..2], [1, 0]);
    }
}
