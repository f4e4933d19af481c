//! The bytes that have not left a stream, without copies of secrets in memory.

use std::io::{self, ErrorKind};

use tollgate_keyless::{Message, PADDED_BYTES};
use zeroize::{Zeroize as _, Zeroizing};

use crate::stream::Stream;

/// A larger buffer is given back when all bytes have left.
const KEPT_BYTES_MAX: usize = 16 * 1024;

/// Messages on their way out. Bytes are overwritten when they have left.
#[derive(Default)]
pub(crate) struct Outgoing {
    bytes: Zeroizing<Vec<u8>>,
    /// The bytes before this have left.
    sent: usize,
}

impl Outgoing {
    /// Returns the number of bytes that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.bytes.len() - self.sent
    }

    pub(crate) fn add(&mut self, message: &Message<'_>) {
        let needed = message.payload.len() + PADDED_BYTES;
        if self.bytes.capacity() - self.bytes.len() < needed {
            // Growing in place would leave copies of a decrypted message in memory. Bytes that have
            // left stay behind: a peer that reads slowly does not make the buffer grow.
            let mut grown = Zeroizing::new(Vec::with_capacity(2 * (self.waiting() + needed)));
            grown.extend(&self.bytes[self.sent..]);
            (self.bytes, self.sent) = (grown, 0);
        }
        message.write(&mut self.bytes);
    }

    /// Sends until the stream is full. Returns the number of bytes that have left.
    pub(crate) fn send(&mut self, stream: &mut Stream) -> io::Result<usize> {
        let mut total = 0;
        while self.waiting() > 0 {
            match stream.write(&self.bytes[self.sent..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => {
                    self.bytes[self.sent..self.sent + count].zeroize();
                    self.sent += count;
                    total += count;
                }
                Err(why) if why.kind() == ErrorKind::WouldBlock => return Ok(total),
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(why) => return Err(why),
            }
        }
        self.bytes.clear();
        self.sent = 0;
        if self.bytes.capacity() > KEPT_BYTES_MAX {
            self.bytes = Zeroizing::default();
        }
        Ok(total)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use mio::net::UnixStream;
    use tollgate_keyless::RESPONSE;

    use super::*;

    /// A peer that never takes all bytes: the buffer has what waits, and nothing that has left.
    #[test]
    fn bytes_that_have_left_take_no_memory() {
        let (stream, mut peer) = UnixStream::pair().unwrap();
        let (mut stream, mut out) = (Stream::Unix(stream), Outgoing::default());
        let message = Message { id: 1, opcode: RESPONSE, ski: None, payload: &[0xa5; 512] };
        let (mut left, mut taken, mut piece) = (0, 0, vec![0; 16 * 1024]);
        while left < 8 << 20 {
            while out.waiting() < 64 * 1024 {
                out.add(&message);
            }
            left += out.send(&mut stream).unwrap();
            assert!(out.bytes[..out.sent].iter().all(|byte| *byte == 0));
            assert!(out.bytes.capacity() <= 4 * 64 * 1024, "{}", out.bytes.capacity());
            taken += peer.read(&mut piece).unwrap();
        }
        while taken < left {
            taken += peer.read(&mut piece).unwrap();
        }
        while out.waiting() > 0 {
            out.send(&mut stream).unwrap();
            while peer.read(&mut piece).is_ok_and(|count| count > 0) {}
        }
        assert!(out.bytes.capacity() <= KEPT_BYTES_MAX);
    }
}
