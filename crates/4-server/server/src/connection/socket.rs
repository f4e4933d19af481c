//! A socket that is read from a bounded number of times in a turn.
//!
//! libssl reads on until it has something for us, and some records never give it anything: key
//! updates, refused renegotiations. Without a bound, a client that sends enough of them has the
//! thread for itself.

use std::io::{self, Read, Write};

use mio::net::TcpStream;

/// Reads of a turn, each of a record's worth at most. A request seldom needs more than two.
const READS_MAX: u32 = 4;

/// A socket that is read from a bounded number of times in a turn.
#[derive(Debug)]
pub(crate) struct Socket {
    tcp: TcpStream,
    reads_left: u32,
}

impl Socket {
    pub(crate) const fn new(tcp: TcpStream) -> Self {
        Self { tcp, reads_left: READS_MAX }
    }

    pub(super) const fn begin_turn(&mut self) {
        self.reads_left = READS_MAX;
    }

    /// Whether a read was refused, or the next one will be: the kernel may have more.
    pub(super) const fn is_exhausted(&self) -> bool {
        self.reads_left == 0
    }

    pub(super) const fn tcp(&mut self) -> &mut TcpStream {
        &mut self.tcp
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_exhausted() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.reads_left -= 1;
        self.tcp.read(buffer)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.tcp.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.tcp.flush()
    }
}
