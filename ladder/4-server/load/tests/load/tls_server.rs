//! A test server with and without TLS: a blocking thread for each connection, with counts and
//! scripted faults.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use rustls::{HandshakeKind, ServerConfig, ServerConnection, StreamOwned};
use socket2::SockRef;
use tollgate_load::{Referee, Seen, Server, Target};

use crate::tls_config::{broken, config, early, forgetful, ticketing};

/// The behavior of the server on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behavior {
    /// Sends a truncated certificate.
    BrokenCertificate,
    /// Requires a client certificate; sends `certificate_required` without one.
    CertificateRequired,
    /// Closes the stream in the middle of the body, without `close_notify`.
    CutBody,
    /// Closes the stream after the handshake.
    CloseAfterHandshake,
    /// Sends `close_notify` in the middle of the body.
    EndBody,
    /// Accepts early data, and answers it before the client's Finished.
    Early,
    /// Sends empty tickets of TLS 1.3, which is a violation.
    EmptyTicket,
    /// Behaves well.
    Good,
    /// Keeps the connection open after the response.
    KeepOpen,
    /// Resets the connection after the `ClientHello`.
    Reset,
    /// Sends these bytes after the `ClientHello`, and then ends the stream.
    Says(&'static [u8]),
    /// Behaves well after a delay.
    Slow,
    /// Behaves well, but neither gives nor resumes sessions.
    Forgetful,
    /// Accepts less early data than any request.
    LittleEarly,
    /// Answers one request at a time over all connections, each in [`SERVICE`].
    Serial,
    /// Accepts the connection and never answers.
    Silent,
    /// Stops in the middle of the body, and keeps the connection open.
    SlowBody,
    /// Stalls the whole server for [`STALL`]; then behaves well.
    Stall,
    /// Sends a byte less than requested, with a matching `Content-Length`.
    WrongLength,
}

/// The behavior for each connection, numbered from 0.
pub(crate) type Script = fn(u64) -> Behavior;

struct Shared {
    script: Script,
    accepted: AtomicU64,
    handshakes: AtomicU64,
    resumed: AtomicU64,
    requests: AtomicU64,
    stalled_until: Mutex<Option<Instant>>,
    serial: Mutex<()>,
    stop: AtomicBool,
    /// The configurations of some behaviors; the first one is that of all others.
    configs: [(Behavior, Arc<ServerConfig>); 7],
}

pub(crate) struct TlsServer {
    pub(crate) address: SocketAddr,
    plain: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<thread::JoinHandle<()>>,
}

/// Timeout of the server's reads and writes, well above any timeout of the clients in tests.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Minimum time of a request of a serial server.
pub(crate) const SERVICE: Duration = Duration::from_millis(4);

/// Duration of a stall.
pub(crate) const STALL: Duration = Duration::from_secs(1);

impl TlsServer {
    pub(crate) fn start(script: Script) -> Self {
        let [listener, plain] = [(); 2].map(|()| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            listener.set_nonblocking(true).unwrap();
            listener
        });
        let shared = Arc::new(Shared {
            script,
            accepted: AtomicU64::new(0),
            handshakes: AtomicU64::new(0),
            resumed: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            stalled_until: Mutex::new(None),
            serial: Mutex::new(()),
            stop: AtomicBool::new(false),
            configs: [
                (Behavior::Good, config(false)),
                (Behavior::BrokenCertificate, broken()),
                (Behavior::CertificateRequired, config(true)),
                (Behavior::Early, early(16 * 1024)),
                (Behavior::EmptyTicket, ticketing()),
                (Behavior::Forgetful, forgetful()),
                (Behavior::LittleEarly, early(20)),
            ]
            .map(|(behavior, config)| (behavior, Arc::new(config))),
        });
        let (address, plain_address) =
            (listener.local_addr().unwrap(), plain.local_addr().unwrap());
        let server = Arc::clone(&shared);
        let acceptor = thread::spawn(move || {
            while !server.stop.load(Ordering::Relaxed) {
                let (secure, plain) = (listener.accept(), plain.accept());
                if secure.is_err() && plain.is_err() {
                    thread::sleep(Duration::from_millis(1));
                }
                for (accepted, is_plain) in [(secure, false), (plain, true)] {
                    let Ok((stream, _)) = accepted else { continue };
                    let (server, number) =
                        (Arc::clone(&server), server.accepted.fetch_add(1, Ordering::Relaxed));
                    // the client's side reports errors
                    thread::spawn(move || drop(server.serve(stream, number, is_plain)));
                }
            }
        });
        Self { address, plain: plain_address, shared, acceptor: Some(acceptor) }
    }

    pub(crate) fn target(&self) -> Target {
        Target::new(self.address).unwrap()
    }

    /// Returns the server's target for HTTP without TLS.
    pub(crate) fn plain(&self) -> Target {
        Target::new(self.plain).unwrap()
    }

    /// Returns the server with both targets and its referee.
    pub(crate) fn side(&self) -> Server<'static> {
        Server::new("rustls", self.target()).with_plain(self.plain()).with_referee(self.referee())
    }

    pub(crate) fn referee(&self) -> Counter {
        Counter { shared: Arc::clone(&self.shared), before: [0; 3], surplus: 0 }
    }

    /// Returns the number of answered requests.
    pub(crate) fn answered(&self) -> u64 {
        self.shared.requests.load(Ordering::Relaxed)
    }

    /// Stops listening and ends every connection.
    pub(crate) fn stop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(acceptor) = self.acceptor.take() {
            acceptor.join().unwrap();
        }
    }
}

impl Drop for TlsServer {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn serve(&self, mut stream: TcpStream, number: u64, is_plain: bool) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        let behavior = (self.script)(number);
        if behavior == Behavior::Stall {
            *self.stalled_until.lock().unwrap() = Some(Instant::now() + STALL);
        }
        let until = *self.stalled_until.lock().unwrap();
        if let Some(until) = until {
            thread::sleep(until.saturating_duration_since(Instant::now()));
        }
        match behavior {
            Behavior::Silent => return self.hold(),
            _ if is_plain => return self.answer(&mut stream, behavior).map(drop),
            Behavior::Reset => {
                stream.read_exact(&mut [0; 5])?;
                return SockRef::from(&stream).set_linger(Some(Duration::ZERO));
            }
            Behavior::Says(bytes) => {
                let _hello = stream.read(&mut [0; 4096])?;
                stream.write_all(bytes)?;
                stream.shutdown(Shutdown::Write)?;
                // read the client's bytes, or the system would send a reset
                return io::copy(&mut stream, &mut io::sink()).map(drop);
            }
            Behavior::Slow => thread::sleep(Duration::from_millis(200)),
            _ => {}
        }
        let special = self.configs.iter().find(|(of, _)| *of == behavior);
        let (_, config) = special.unwrap_or(&self.configs[0]);
        let mut tls = ServerConnection::new(Arc::clone(config)).unwrap();
        let is_answered =
            behavior == Behavior::Early && self.answer_early(&mut tls, &mut stream)?;
        while tls.is_handshaking() {
            tls.complete_io(&mut stream)?;
        }
        let resumed = tls.handshake_kind() == Some(HandshakeKind::Resumed);
        self.resumed.fetch_add(u64::from(resumed), Ordering::Relaxed);
        self.handshakes.fetch_add(1, Ordering::Relaxed);
        if behavior == Behavior::CloseAfterHandshake || is_answered {
            return Ok(());
        }
        let mut stream = StreamOwned::new(tls, stream);
        if self.answer(&mut stream, behavior)? {
            stream.conn.send_close_notify();
        }
        stream.flush()
    }

    /// Answers a request in early data before reading the client's Finished; returns whether there
    /// was one.
    fn answer_early(&self, tls: &mut ServerConnection, stream: &mut TcpStream) -> io::Result<bool> {
        let mut head = Vec::new();
        while tls.is_handshaking() && !head.ends_with(b"\r\n\r\n") {
            if tls.read_tls(stream)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            tls.process_new_packets().map_err(io::Error::other)?;
            if let Some(mut early) = tls.early_data() {
                early.read_to_end(&mut head)?;
            }
            if head.ends_with(b"\r\n\r\n") {
                self.respond(&mut tls.writer(), &head, Behavior::Good)?;
            }
            while tls.wants_write() {
                tls.write_tls(stream)?;
            }
        }
        Ok(!head.is_empty())
    }

    /// Answers requests until the last one; returns whether to send `close_notify`.
    fn answer(&self, stream: &mut (impl Read + Write), behavior: Behavior) -> io::Result<bool> {
        loop {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                if stream.read(&mut byte)? == 0 {
                    return Ok(true);
                }
                head.push(byte[0]);
            }
            let is_last = head.windows(17).any(|part| part == b"Connection: close");
            if let Some(goodbye) = self.respond(stream, &head, behavior)? {
                return Ok(goodbye);
            }
            if is_last {
                return Ok(true);
            }
        }
    }

    /// Answers one request. `Some` ends the connection, and tells whether to send `close_notify`.
    fn respond(
        &self,
        stream: &mut impl Write,
        head: &[u8],
        behavior: Behavior,
    ) -> io::Result<Option<bool>> {
        if behavior == Behavior::Serial {
            let _turn = self.serial.lock().unwrap();
            thread::sleep(SERVICE);
        }
        let asked = length_asked(head);
        let length = if behavior == Behavior::WrongLength { asked - 1 } else { asked };
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n")?;
        let body = vec![b'x'; length];
        match behavior {
            Behavior::CutBody => {
                stream.write_all(&body[..length / 2])?;
                return Ok(Some(false));
            }
            Behavior::EndBody => {
                stream.write_all(&body[..length / 2])?;
                return Ok(Some(true));
            }
            Behavior::SlowBody => {
                stream.write_all(&body[..length / 2])?;
                stream.flush()?;
                self.hold()?;
                return Ok(Some(false));
            }
            _ => {}
        }
        stream.write_all(&body)?;
        stream.flush()?;
        self.requests.fetch_add(1, Ordering::Relaxed);
        if behavior == Behavior::KeepOpen {
            self.hold()?;
            return Ok(Some(false));
        }
        Ok(None)
    }

    /// Keeps a connection open until the server stops.
    fn hold(&self) -> io::Result<()> {
        let end = Instant::now() + TIMEOUT;
        while !self.stop.load(Ordering::Relaxed) && Instant::now() < end {
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

fn length_asked(head: &[u8]) -> usize {
    let head = core::str::from_utf8(head).unwrap();
    let path = head.strip_prefix("GET /bytes/").unwrap();
    path.split(' ').next().unwrap().parse().unwrap()
}

/// Reads the server's counters as a log.
pub(crate) struct Counter {
    shared: Arc<Shared>,
    before: [u64; 3],
    /// Handshakes to add to the count.
    pub(crate) surplus: u64,
}

impl Counter {
    /// Returns the counts of handshakes, requests and resumed sessions.
    fn now(&self) -> [u64; 3] {
        let Shared { handshakes, requests, resumed, .. } = &*self.shared;
        [handshakes, requests, resumed].map(|counter| counter.load(Ordering::Relaxed))
    }
}

impl Referee for Counter {
    fn mark(&mut self) -> io::Result<()> {
        self.before = self.now();
        Ok(())
    }

    fn seen(&mut self) -> io::Result<Seen> {
        let [handshakes, requests, resumed] = self.now();
        Ok(Seen {
            handshakes: handshakes - self.before[0] + self.surplus,
            requests: requests - self.before[1],
            resumed: resumed - self.before[2],
            failed: 0,
            body_bytes: None,
        })
    }

    fn lag(&self) -> Duration {
        Duration::from_millis(50)
    }
}
