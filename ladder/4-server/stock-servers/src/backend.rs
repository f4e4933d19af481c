//! An HTTP backend for servers that only terminate TLS: it answers `GET /bytes/N`.

use core::net::{Ipv4Addr, SocketAddr};
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crate::settings::Settings;

const HEAD_BYTES_MAX: usize = 8 * 1024;

const TIMEOUT: Duration = Duration::from_secs(10);

/// The backend runs in threads of this process, which end when the value is dropped.
pub(crate) struct Backend {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
    listener: Option<JoinHandle<()>>,
}

impl Backend {
    pub(crate) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let ended = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&ended);
        let listen = move || {
            for stream in listener.incoming() {
                if end.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                // A client that disconnects is no error.
                thread::spawn(move || answer(stream));
            }
        };
        let listener = Some(thread::Builder::new().spawn(listen)?);
        Ok(Self { address, ended, listener })
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // Wakes the listener. If connecting fails, the listener has already ended.
        if TcpStream::connect(self.address).is_ok()
            && let Some(listener) = self.listener.take()
        {
            let _ = listener.join();
        }
    }
}

/// Reads a request, answers it, and closes the connection.
fn answer(mut stream: TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(TIMEOUT))?;
    let mut head = Vec::new();
    let mut piece = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let count = stream.read(&mut piece)?;
        if count == 0 || head.len() > HEAD_BYTES_MAX {
            return Ok(());
        }
        head.extend_from_slice(&piece[..count]);
    }
    let mut response = match asked(&head) {
        Some(bytes) => {
            format!("HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\nConnection: close\r\n\r\n")
        }
        None => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".into(),
    };
    response.extend((0..asked(&head).unwrap_or(0)).map(|_| 'x'));
    stream.write_all(response.as_bytes())
}

/// Returns N of `GET /bytes/N`.
fn asked(head: &[u8]) -> Option<u64> {
    let line = head.split(|&byte| byte == b'\r').next()?;
    let path = core::str::from_utf8(line).ok()?.strip_prefix("GET /bytes/")?;
    let bytes = path.split(' ').next()?.parse().ok()?;
    (bytes <= Settings::BODY_BYTES_MAX).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read() {
        assert_eq!(asked(b"GET /bytes/14336 HTTP/1.1\r\nHost: x\r\n\r\n"), Some(14_336));
        for other in ["", "GET / HTTP/1.1\r\n", "GET /bytes/x", "GET /bytes/1048577 HTTP/1.1"] {
            assert_eq!(asked(other.as_bytes()), None, "{other}");
        }
    }
}
