//! `/metrics` in plain HTTP on an address of its own.
//!
//! One thread answers one connection after the other, each with one request and for a bounded time.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use crate::error::Error;
use crate::listener::tcp;

/// The longest time for a connection: the next one waits meanwhile.
const CONNECTION_MAX: Duration = Duration::from_secs(1);
/// The longest head of a request, and the maximum number of bytes after it, in bytes.
const BYTES_MAX: usize = 8 * 1024;

/// Returns the media type and the text of the metrics.
type Text = Box<dyn Fn() -> (&'static str, String) + Send>;

/// The thread. Dropping it ends the thread.
#[derive(Debug)]
pub(crate) struct MetricsPage {
    /// The address, with its port.
    pub(crate) address: SocketAddr,
    listener: Arc<TcpListener>,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl MetricsPage {
    /// Answers at this address.
    pub(crate) fn start(at: SocketAddr, text: Text) -> Result<Self, Error> {
        let (listener, address) = tcp("metrics", at)?;
        let (listener, ends) = (Arc::new(listener), Arc::new(AtomicBool::new(false)));
        let (of_thread, until) = (Arc::clone(&listener), Arc::clone(&ends));
        let serve = move || {
            while !until.load(Ordering::Relaxed) {
                match of_thread.accept() {
                    // A client that takes no answer in time loses it.
                    Ok((socket, _)) => drop(answer(&socket, &text)),
                    // too many open files, for example
                    Err(_) => thread::sleep(Duration::from_millis(100)),
                }
            }
        };
        let start = || -> io::Result<_> {
            listener.set_nonblocking(false)?;
            let thread = thread::Builder::new().name("metrics".to_owned()).spawn(serve)?;
            Ok(Self { address, listener, ends, thread: Some(thread) })
        };
        start().map_err(Error::system("starting the metrics"))
    }
}

impl Drop for MetricsPage {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        // Ends the wait for a client.
        let _ = rustix::net::shutdown(&*self.listener, rustix::net::Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Reads the head of a request, answers, and waits until the client closes: closing a socket with
/// unread bytes would reset the connection, and the client might lose the answer.
fn answer(socket: &TcpStream, text: &Text) -> io::Result<()> {
    let end = Instant::now() + CONNECTION_MAX;
    let read = |bytes: &mut Vec<u8>| -> io::Result<usize> {
        let left = end.saturating_duration_since(Instant::now());
        socket.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        if left.is_zero() || bytes.len() > BYTES_MAX {
            return Err(ErrorKind::TimedOut.into());
        }
        let mut piece = [0; 4096];
        let mut from = socket;
        let count = from.read(&mut piece)?;
        bytes.extend(&piece[..count]);
        Ok(count)
    };
    let mut head = Vec::new();
    while !is_complete(&head) {
        if read(&mut head)? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
    }
    socket.set_write_timeout(Some(CONNECTION_MAX))?;
    let mut to = socket;
    to.write_all(&respond(&head, text))?;
    socket.shutdown(Shutdown::Write)?;
    let mut rest = Vec::new();
    while read(&mut rest)? > 0 {}
    Ok(())
}

fn is_complete(head: &[u8]) -> bool {
    head.windows(4).any(|end| end == b"\r\n\r\n")
}

fn respond(head: &[u8], text: &Text) -> Vec<u8> {
    let words = head.split(|byte| b" ?\r".contains(byte));
    let words: Vec<&[u8]> = words.take(2).collect();
    let (status, (media_type, text)) = match words[..] {
        [b"GET", b"/metrics"] => ("200 OK", text()),
        _ => ("404 Not Found", ("text/plain", "404 Not Found. Ask for GET /metrics.\n".to_owned())),
    };
    let length = text.len();
    let fields = format!("Content-Type: {media_type}\r\nContent-Length: {length}\r\n");
    format!("HTTP/1.1 {status}\r\n{fields}Connection: close\r\n\r\n{text}").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_metrics_are_answered() {
        let text: Text = Box::new(|| ("text/x", "a 1\n".to_owned()));
        let answer = |head: &str| String::from_utf8(respond(head.as_bytes(), &text)).unwrap();
        for head in ["GET /metrics HTTP/1.1\r\n\r\n", "GET /metrics?x=1 HTTP/1.0\r\n\r\n"] {
            let page = answer(head);
            assert!(page.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/x\r\n"), "{page}");
            assert!(page.ends_with("\r\n\r\na 1\n"), "{page}");
        }
        for head in ["GET / HTTP/1.1\r\n\r\n", "POST /metrics HTTP/1.1\r\n\r\n", "\r\n\r\n"] {
            assert!(answer(head).starts_with("HTTP/1.1 404 Not Found\r\n"), "{head}");
        }
        assert!(is_complete(b"GET / HTTP/1.1\r\n\r\n") && !is_complete(b"GET / HTTP/1.1\r\n"));
    }
}
