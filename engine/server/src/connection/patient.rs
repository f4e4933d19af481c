//! A transport that is read from a bounded number of times in a turn.
//!
//! libssl reads on until it has something for us, and some records never give it anything: key
//! updates, refused renegotiations. Without a bound, a client that sends enough of them has the
//! thread for itself.

use std::io::{self, Read, Write};

/// Reads of a turn, each of a record's worth at most. A request seldom needs more than two.
const READS_MAX: u32 = 4;

/// A transport that is read from a bounded number of times in a turn.
#[derive(Debug)]
pub(crate) struct Patient<S> {
    inner: S,
    reads_left: u32,
}

impl<S> Patient<S> {
    pub(crate) const fn new(inner: S) -> Self {
        Self { inner, reads_left: READS_MAX }
    }

    pub(super) const fn begin_turn(&mut self) {
        self.reads_left = READS_MAX;
    }

    /// Whether a read was refused, or the next one will be: the kernel may have more.
    pub(super) const fn is_exhausted(&self) -> bool {
        self.reads_left == 0
    }

    pub(super) const fn inner(&mut self) -> &mut S {
        &mut self.inner
    }
}

impl<S: Read> Read for Patient<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_exhausted() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.reads_left -= 1;
        self.inner.read(buffer)
    }
}

impl<S: Write> Write for Patient<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
