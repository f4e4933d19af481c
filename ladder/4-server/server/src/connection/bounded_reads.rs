//! Limits the reads of a transport in one turn.
//!
//! libssl reads until it has data for the application. Some records contain none, such as key
//! updates and refused renegotiations: a client that sends many of them could occupy the thread.

use std::io::{self, Read, Write};

/// The maximum number of reads in one turn. Each read returns up to one record. Most requests need
/// one or two reads.
const READS_MAX: u32 = 4;

/// A transport with a limited number of reads in one turn.
#[derive(Debug)]
pub(crate) struct BoundedReads<S> {
    inner: S,
    reads_left: u32,
}

impl<S> BoundedReads<S> {
    pub(crate) const fn new(inner: S) -> Self {
        Self { inner, reads_left: READS_MAX }
    }

    pub(super) const fn begin_turn(&mut self) {
        self.reads_left = READS_MAX;
    }

    /// Returns whether the limit is reached, so that the kernel may have more data.
    pub(super) const fn is_exhausted(&self) -> bool {
        self.reads_left == 0
    }

    pub(super) const fn inner_mut(&mut self) -> &mut S {
        &mut self.inner
    }
}

impl<S: Read> Read for BoundedReads<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_exhausted() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.reads_left -= 1;
        self.inner.read(buffer)
    }
}

impl<S: Write> Write for BoundedReads<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
