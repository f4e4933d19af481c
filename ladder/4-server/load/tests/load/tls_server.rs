//! A server for tests, with and without TLS: blocking, a thread per connection, counting, and
//! faulty when told to.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use rustls::{HandshakeKind, ServerConfig, ServerConnection, StreamOwned};
use tollgate_load::{Referee, Seen, Target};

// By its path: tests in other places have this file by its path too.
#[path = "tls_config.rs"]
pub(crate) mod tls_config;

use self::tls_config::{broken, config, early, forgetful, ticketing};

/// What a connection meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// `handshake_failure` in answer to the `ClientHello`.
    Alert,
    /// The certificate is cut off in its middle.
    BrokenCertificate,
    /// A client certificate is asked for; without one, `certificate_required` follows.
    CertificateRequired,
    /// The stream is closed in the middle of the body, without `close_notify`.
    CutBody,
    /// The stream is closed after the handshake.
    CloseAfterHandshake,
    /// `close_notify` comes in the middle of the body.
    EndBody,
    /// Early data is taken, and answered before the client's Finished has come.
    Early,
    /// The tickets of TLS 1.3 are empty, which none may be.
    EmptyTicket,
    /// All is as it should be.
    Good,
    /// After the response the connection stays open.
    KeepOpen,
    /// All is as it should be, but sessions are neither given nor resumed.
    Forgetful,
    /// Early data is taken, but no request is as short as that.
    LittleEarly,
    /// Requests are answered one at a time over all connections, each in [`SERVICE`].
    Serial,
    /// The connection is accepted, and nothing follows.
    Silent,
    /// The body stops in the middle, and the connection stays open.
    SlowBody,
    /// From here on the whole server does nothing for [`STALL`]; then all is as it should be.
    Stall,
    /// A byte less than was asked for, with a `Content-Length` that says so.
    WrongLength,
}

/// Which connection, counted from 0, meets what.
pub(crate) type Script = fn(u64) -> Manner;

struct Shared {
    script: Script,
    accepted: AtomicU64,
    handshakes: AtomicU64,
    resumed: AtomicU64,
    requests: AtomicU64,
    stalled_until: Mutex<Option<Instant>>,
    serial: Mutex<()>,
    stop: AtomicBool,
    config: Arc<ServerConfig>,
    strict: Arc<ServerConfig>,
    forgetful: Arc<ServerConfig>,
    broken: Arc<ServerConfig>,
    ticketing: Arc<ServerConfig>,
    early: Arc<ServerConfig>,
    little_early: Arc<ServerConfig>,
}

pub(crate) struct TlsServer {
    pub(crate) address: SocketAddr,
    plain: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<thread::JoinHandle<()>>,
}

/// The longest that a connection of the server waits for anything: well above any deadline of a
/// client here.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long a server takes for a request that does one at a time: at least.
pub(crate) const SERVICE: Duration = Duration::from_millis(4);

/// How long a server stalls.
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
            config: Arc::new(config(false)),
            strict: Arc::new(config(true)),
            forgetful: Arc::new(forgetful()),
            broken: Arc::new(broken()),
            ticketing: Arc::new(ticketing()),
            early: Arc::new(early(16 * 1024)),
            little_early: Arc::new(early(20)),
        });
        let (address, plain_address) =
            (listener.local_addr().unwrap(), plain.local_addr().unwrap());
        let own = Arc::clone(&shared);
        let acceptor = thread::spawn(move || {
            while !own.stop.load(Ordering::Relaxed) {
                let (secure, plain) = (listener.accept(), plain.accept());
                if secure.is_err() && plain.is_err() {
                    thread::sleep(Duration::from_millis(1));
                }
                for (accepted, is_plain) in [(secure, false), (plain, true)] {
                    let Ok((stream, _)) = accepted else { continue };
                    let (own, number) =
                        (Arc::clone(&own), own.accepted.fetch_add(1, Ordering::Relaxed));
                    // what the client did wrong, if anything, is for the client's side to tell
                    thread::spawn(move || drop(own.serve(stream, number, is_plain)));
                }
            }
        });
        Self { address, plain: plain_address, shared, acceptor: Some(acceptor) }
    }

    pub(crate) fn target(&self) -> Target {
        Target::new(self.address).unwrap()
    }

    /// Where it speaks HTTP without TLS.
    pub(crate) fn plain(&self) -> Target {
        Target::new(self.plain).unwrap()
    }

    pub(crate) fn referee(&self) -> Counter {
        Counter { shared: Arc::clone(&self.shared), before: [0; 3], surplus: 0, resumed: 0 }
    }

    /// How many requests were answered.
    pub(crate) fn answered(&self) -> u64 {
        self.shared.requests.load(Ordering::Relaxed)
    }

    /// Nobody listens any more, and every connection ends.
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
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let manner = (self.script)(number);
        if manner == Manner::Stall {
            *self.stalled_until.lock().unwrap() = Some(Instant::now() + STALL);
        }
        let until = *self.stalled_until.lock().unwrap();
        if let Some(until) = until {
            thread::sleep(until.saturating_duration_since(Instant::now()));
        }
        match manner {
            Manner::Silent => return self.hold(),
            _ if is_plain => return self.answer(&mut stream, manner).map(drop),
            Manner::Alert => {
                stream.read_exact(&mut [0; 5])?;
                stream.write_all(&[21, 3, 3, 0, 2, 2, 40])?;
                // read the rest of the ClientHello, or the system would send a reset
                stream.set_read_timeout(Some(Duration::from_millis(50)))?;
                while stream.read(&mut [0; 1024]).is_ok_and(|count| count > 0) {}
                return Ok(());
            }
            _ => {}
        }
        let config = match manner {
            Manner::BrokenCertificate => &self.broken,
            Manner::CertificateRequired => &self.strict,
            Manner::Early => &self.early,
            Manner::EmptyTicket => &self.ticketing,
            Manner::LittleEarly => &self.little_early,
            Manner::Forgetful => &self.forgetful,
            _ => &self.config,
        };
        let mut tls = ServerConnection::new(Arc::clone(config)).unwrap();
        let is_answered = manner == Manner::Early && self.answer_early(&mut tls, &mut stream)?;
        while tls.is_handshaking() {
            tls.complete_io(&mut stream)?;
        }
        let resumed = tls.handshake_kind() == Some(HandshakeKind::Resumed);
        self.resumed.fetch_add(u64::from(resumed), Ordering::Relaxed);
        self.handshakes.fetch_add(1, Ordering::Relaxed);
        if manner == Manner::CloseAfterHandshake || is_answered {
            return Ok(());
        }
        let mut stream = StreamOwned::new(tls, stream);
        if self.answer(&mut stream, manner)? {
            stream.conn.send_close_notify();
        }
        stream.flush()
    }

    /// Answers a request that comes as early data, before the client's Finished is read; whether
    /// one came.
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
                self.respond(&mut tls.writer(), &head, Manner::Good)?;
            }
            while tls.wants_write() {
                tls.write_tls(stream)?;
            }
        }
        Ok(!head.is_empty())
    }

    /// Answers requests until one is the last, or none comes; whether a goodbye is due then.
    fn answer(&self, stream: &mut (impl Read + Write), manner: Manner) -> io::Result<bool> {
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
            if let Some(goodbye) = self.respond(stream, &head, manner)? {
                return Ok(goodbye);
            }
            if is_last {
                return Ok(true);
            }
        }
    }

    /// Answers one request; if it is the last one by the server's manner, whether a goodbye is due.
    fn respond(
        &self,
        stream: &mut impl Write,
        head: &[u8],
        manner: Manner,
    ) -> io::Result<Option<bool>> {
        if manner == Manner::Serial {
            let _turn = self.serial.lock().unwrap();
            thread::sleep(SERVICE);
        }
        let asked = length_asked(head);
        let length = if manner == Manner::WrongLength { asked - 1 } else { asked };
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n")?;
        let body = vec![b'x'; length];
        match manner {
            Manner::CutBody => {
                stream.write_all(&body[..length / 2])?;
                return Ok(Some(false));
            }
            Manner::EndBody => {
                stream.write_all(&body[..length / 2])?;
                return Ok(Some(true));
            }
            Manner::SlowBody => {
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
        if manner == Manner::KeepOpen {
            self.hold()?;
            return Ok(Some(false));
        }
        Ok(None)
    }

    /// Keeps a connection open until the server stops.
    fn hold(&self) -> io::Result<()> {
        let end = Instant::now() + PATIENCE;
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
    /// Handshakes that are shown though they never were.
    pub(crate) surplus: u64,
    /// Sessions that are shown as resumed beside those that were.
    pub(crate) resumed: u64,
}

impl Counter {
    /// Handshakes, requests, resumed sessions.
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
            resumed: resumed - self.before[2] + self.resumed,
            failed: 0,
            body_bytes: None,
        })
    }

    fn lag(&self) -> Duration {
        Duration::from_millis(50)
    }
}
