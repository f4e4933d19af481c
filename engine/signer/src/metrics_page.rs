//! `/metrics` in plain HTTP on an address of its own.
//!
//! One thread answers one request of each connection and then closes it. It keeps a bounded number of
//! connections, each for a bounded time.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::Shutdown;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};
use slab::Slab;

use crate::error::Error;
use crate::listener::tcp;

const LISTENER: Token = Token(usize::MAX - 1);
const WAKE: Token = Token(usize::MAX - 2);
/// The maximum number of open connections; further ones are closed at once.
const CONNECTIONS_MAX: usize = 512;
/// The longest life of a connection.
const LIFE: Duration = Duration::from_secs(5);
/// The maximum number of connections accepted in one turn.
const ACCEPTS_MAX: usize = 64;
/// The longest head of a request, and the maximum number of bytes after it, in bytes.
const BYTES_MAX: usize = 8 * 1024;

/// Returns the media type and the text of the metrics.
type Text = Box<dyn Fn() -> (&'static str, String) + Send>;

/// The thread. Dropping it ends the thread.
#[derive(Debug)]
pub(crate) struct MetricsPage {
    /// The address, with its port.
    pub(crate) address: SocketAddr,
    waker: Waker,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl MetricsPage {
    /// Answers at this address.
    pub(crate) fn start(at: SocketAddr, text: Text) -> Result<Self, Error> {
        let (socket, address) = tcp("metrics", at)?;
        let start = || -> io::Result<_> {
            let mut listener = TcpListener::from_std(socket);
            let poll = Poll::new()?;
            let waker = Waker::new(poll.registry(), WAKE)?;
            poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
            let ends = Arc::new(AtomicBool::new(false));
            let served = Served { poll, listener, text, connections: Slab::new() };
            let until = Arc::clone(&ends);
            let thread = thread::Builder::new().name("metrics".to_owned());
            let thread = Some(thread.spawn(move || served.run(&until))?);
            Ok(Self { address, waker, ends, thread })
        };
        start().map_err(Error::system("starting the metrics"))
    }
}

impl Drop for MetricsPage {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        // Fails only if the thread has ended. A panic was already reported.
        let _ = self.waker.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Served {
    poll: Poll,
    listener: TcpListener,
    text: Text,
    connections: Slab<Connection>,
}

struct Connection {
    socket: TcpStream,
    deadline: Instant,
    received: Vec<u8>,
    /// The response, once the request is complete.
    response: Option<Vec<u8>>,
    sent: usize,
    skipped: usize,
}

impl Served {
    fn run(mut self, ends: &AtomicBool) {
        let mut events = Events::with_capacity(256);
        let mut more_wait = false;
        while !ends.load(Ordering::Relaxed) {
            let until_sweep = (!self.connections.is_empty()).then_some(Duration::from_millis(100));
            let wait = if more_wait { Some(Duration::ZERO) } else { until_sweep };
            if self.poll.poll(&mut events, wait).is_err() {
                events.clear();
            }
            for event in &events {
                match event.token() {
                    LISTENER | WAKE => {}
                    Token(key) => self.serve(key),
                }
            }
            let now = Instant::now();
            self.connections.retain(|_, connection| connection.deadline > now);
            more_wait = self.accept();
        }
    }

    /// Accepts clients, and returns whether more may wait. If there are no descriptors, they wait
    /// until another client comes or a connection ends.
    fn accept(&mut self) -> bool {
        for _ in 0..ACCEPTS_MAX {
            let Ok((mut socket, _)) = self.listener.accept() else {
                return false;
            };
            if self.connections.len() >= CONNECTIONS_MAX {
                continue;
            }
            let entry = self.connections.vacant_entry();
            let both = Interest::READABLE | Interest::WRITABLE;
            if self.poll.registry().register(&mut socket, Token(entry.key()), both).is_ok() {
                entry.insert(Connection {
                    socket,
                    deadline: Instant::now() + LIFE,
                    received: Vec::new(),
                    response: None,
                    sent: 0,
                    skipped: 0,
                });
            }
        }
        true
    }

    /// Continues a connection until it would block, and removes it when it has ended.
    fn serve(&mut self, key: usize) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        let served = connection.receive(&self.text).and_then(|()| connection.send());
        if !served.is_err_and(|why| why.kind() == ErrorKind::WouldBlock) {
            self.connections.remove(key);
        }
    }
}

impl Connection {
    /// Reads until the head of the request is complete, and makes the response.
    fn receive(&mut self, text: &Text) -> io::Result<()> {
        let mut piece = [0; 4096];
        while self.response.is_none() {
            if is_complete(&self.received) {
                self.response = Some(respond(&self.received, text));
                break;
            }
            if self.received.len() > BYTES_MAX {
                return Err(ErrorKind::InvalidData.into());
            }
            match self.socket.read(&mut piece) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.received.extend(&piece[..count]),
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(why) => return Err(why),
            }
        }
        Ok(())
    }

    /// Sends the response, and then waits until the client closes: closing a socket with unread
    /// bytes would reset the connection, and the client might lose the response.
    fn send(&mut self) -> io::Result<()> {
        let response = self.response.as_deref().unwrap_or_default();
        while self.sent < response.len() {
            self.sent += self.socket.write(&response[self.sent..])?;
            if self.sent == response.len() {
                self.socket.shutdown(Shutdown::Write)?;
            }
        }
        let mut piece = [0; 4096];
        while self.skipped < BYTES_MAX {
            match self.socket.read(&mut piece)? {
                0 => break,
                count => self.skipped += count,
            }
        }
        Ok(())
    }
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
