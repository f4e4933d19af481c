//! Plain HTTP on addresses of its own: the metrics, and redirects to HTTPS.
//!
//! A thread for each address answers one request of each connection and then closes it. It keeps a
//! bounded number of connections, each for a bounded time.

use core::fmt::Write as _;
use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};
use slab::Slab;

use crate::error::{Error, Unavailable};
use crate::http::{Body, Date, Head, Parsed, Response, Status, host, parse};
use crate::listener::Listen;

const LISTENER: Token = Token(usize::MAX - 1);
const WAKE: Token = Token(usize::MAX - 2);
/// The maximum number of open connections; further ones are closed at once.
const CONNECTIONS_MAX: usize = 512;
/// The longest life of a connection.
const LIFE: Duration = Duration::from_secs(5);
/// The maximum number of connections accepted in one turn.
const ACCEPTS_MAX: usize = 64;
/// The maximum number of bytes after a request that are read and dropped.
const SKIPPED_MAX: usize = 64 * 1024;
/// The longest head of a request, in bytes.
const HEAD_BYTES_MAX: usize = 8 * 1024;

/// The pages of a listener.
pub(crate) enum Pages {
    /// `/metrics`: its media type and its text.
    Metrics(Box<dyn Fn() -> (&'static str, String) + Send>),
    /// Redirects to this port.
    Redirect(u16),
}

/// A thread with its listener. Dropping it ends the thread.
#[derive(Debug)]
pub(crate) struct PlainHttp {
    /// The address, with its port.
    pub(crate) address: SocketAddr,
    waker: Waker,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl PlainHttp {
    /// Answers at this address.
    pub(crate) fn start(at: &Listen, pages: Pages) -> Result<Self, Error> {
        let refuse = |why| Error::from(Unavailable::Listen { at: at.clone(), why });
        let (address, mut sockets) = at.open(1, false).map_err(refuse)?;
        let socket = sockets.pop().expect("one was asked for");
        let mut listener = TcpListener::from_std(socket.into());
        let failed = || Unavailable::system("an event queue");
        let poll = Poll::new().map_err(failed())?;
        let waker = Waker::new(poll.registry(), WAKE).map_err(failed())?;
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE).map_err(failed())?;
        let ends = Arc::new(AtomicBool::new(false));
        let served =
            Served { poll, listener, pages, connections: Slab::new(), date: Date::default() };
        let until = Arc::clone(&ends);
        let thread = thread::Builder::new().name("plain-http".to_owned());
        let thread = thread
            .spawn(move || served.run(&until))
            .map_err(Unavailable::system("a thread for plain HTTP"))?;
        Ok(Self { address, waker, ends, thread: Some(thread) })
    }
}

impl Drop for PlainHttp {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        // Fails only if the thread has ended. A panic was already reported.
        let _ = self.waker.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A thread that answers `/metrics`. Dropping it ends the thread.
#[derive(Debug)]
pub struct MetricsPage(PlainHttp);

impl MetricsPage {
    /// Answers at this address with a media type and a text.
    ///
    /// # Errors
    ///
    /// The address cannot be listened on, or the system lacks a resource.
    pub fn start(
        at: &Listen,
        text: impl Fn() -> (&'static str, String) + Send + 'static,
    ) -> Result<Self, Error> {
        PlainHttp::start(at, Pages::Metrics(Box::new(text))).map(Self)
    }

    /// Returns the address, with its port.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.0.address
    }
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

/// The state of the thread.
struct Served {
    poll: Poll,
    listener: TcpListener,
    pages: Pages,
    connections: Slab<Connection>,
    date: Date,
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
                    Token(key) => self.turn(key),
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
                let deadline = Instant::now() + LIFE;
                let (received, response) = (Vec::new(), None);
                entry.insert(Connection {
                    socket,
                    deadline,
                    received,
                    response,
                    sent: 0,
                    skipped: 0,
                });
            }
        }
        true
    }

    /// Goes on with a connection until it would block, and removes it when it has ended.
    fn turn(&mut self, key: usize) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        let received = connection.receive(&self.pages, &mut self.date);
        let ended = received.and_then(|()| connection.send());
        match ended {
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => {}
            Ok(()) | Err(_) => {
                self.connections.remove(key);
            }
        }
    }
}

impl Connection {
    /// Reads until the request is complete, and makes the response.
    fn receive(&mut self, pages: &Pages, date: &mut Date) -> io::Result<()> {
        let mut piece = [0; 4096];
        while self.response.is_none() {
            match self.socket.read(&mut piece) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n) => self.received.extend(&piece[..n]),
                Err(why) if why.kind() == io::ErrorKind::Interrupted => continue,
                Err(why) => return Err(why),
            }
            let mut response = match parse(&self.received, HEAD_BYTES_MAX) {
                Parsed::Partial => continue,
                Parsed::Refused(status) => Response::refusal(status),
                Parsed::Request(request) => {
                    let response = match pages {
                        Pages::Metrics(text)
                            if request.target.split('?').next() == Some("/metrics") =>
                        {
                            Response::to(&request, None, text)
                        }
                        Pages::Metrics(_) => Response::refusal(Status::NotFound),
                        Pages::Redirect(port) => {
                            match location(&self.received, *port, &request.target) {
                                Some(url) => Response::redirect(url),
                                None => Response::refusal(Status::BadRequest),
                            }
                        }
                    };
                    Response { head_only: request.method == "HEAD", ..response }
                }
            };
            let mut out = Vec::new();
            response.write_head(&mut out, Head { date, keep_alive: false, old: false });
            if let Body::Text { text, .. } = &response.body {
                out.extend(text.as_bytes());
            }
            self.response = Some(out);
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
        while self.skipped < SKIPPED_MAX {
            match self.socket.read(&mut piece)? {
                0 => break,
                n => self.skipped += n,
            }
        }
        Ok(())
    }
}

/// Returns the URL of a target on the same host, with this port.
fn location(head: &[u8], port: u16, target: &str) -> Option<String> {
    if !target.starts_with('/') {
        return None;
    }
    let mut url = format!("https://{}", host(head)?);
    if port != 443 {
        write!(url, ":{port}").expect("a String takes any text");
    }
    Some(url + target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_has_the_requested_host_and_the_port_of_https() {
        let head = |host: &str| format!("GET /a?b HTTP/1.1\r\nHost: {host}\r\n\r\n");
        let to = |name: &str, port| location(head(name).as_bytes(), port, "/a?b");
        assert_eq!(to("example.com", 443).unwrap(), "https://example.com/a?b");
        assert_eq!(to("example.com:80", 8443).unwrap(), "https://example.com:8443/a?b");
        assert_eq!(to("[::1]:8080", 443).unwrap(), "https://[::1]/a?b");
        for invalid in ["", "a/b", "a@b", "a b", "a\"b", "[::1", ":80"] {
            assert_eq!(to(invalid, 443), None, "{invalid}");
        }
        assert_eq!(location(b"GET / HTTP/1.0\r\n\r\n", 443, "/"), None, "no host");
        assert_eq!(location(head("a").as_bytes(), 443, "*"), None, "no path");
    }
}
