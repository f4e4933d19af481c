//! A socket to a server that may be slow on purpose. Each call has a timeout, and all calls
//! together have another timeout.

use core::net::SocketAddr;
use core::time::Duration;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

/// Timeout of the connection and of each call.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_secs(5);

/// Timeout of all calls on one connection together.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(30);

/// A connection without TLS.
#[derive(Debug)]
pub(crate) struct Wire {
    socket: TcpStream,
    until: Instant,
}

impl Wire {
    pub(crate) fn connect(address: &SocketAddr) -> io::Result<Self> {
        let until = Instant::now() + TOTAL_TIMEOUT;
        let socket = TcpStream::connect_timeout(address, CALL_TIMEOUT)?;
        socket.set_nodelay(true)?;
        Ok(Self { socket, until })
    }

    fn timeout(&self) -> io::Result<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let why = format!("it takes longer than {} s", TOTAL_TIMEOUT.as_secs());
            return Err(io::Error::new(ErrorKind::TimedOut, why));
        }
        Ok(left.min(CALL_TIMEOUT))
    }
}

impl Read for Wire {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(Some(self.timeout()?))?;
        self.socket.read(into)
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(Some(self.timeout()?))?;
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn after_the_total_timeout_nothing_is_read_or_written() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut wire = Wire::connect(&listener.local_addr().unwrap()).unwrap();
        let (mut other, _) = listener.accept().unwrap();
        other.write_all(b"ab").unwrap();
        let mut byte = [0];
        wire.read_exact(&mut byte).unwrap();
        wire.until = Instant::now();
        for ended in [wire.read(&mut byte), wire.write(b"c")] {
            let error = ended.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TimedOut);
            assert!(error.to_string().contains("longer than 30 s"), "{error}");
        }
    }
}
