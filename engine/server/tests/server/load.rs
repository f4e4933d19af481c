//! Clients that come without a pause, and the comparison of their counts with the access log.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;
use std::collections::{HashMap, HashSet};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use openssl::ssl::{
    Ssl, SslContext, SslMethod, SslSession, SslSessionCacheMode, SslStream, SslVerifyMode,
    SslVersion,
};

use crate::rig::{Log, TIMEOUT, bytes, eventually};

/// A target that other clients may ask for, in any number.
pub(crate) const ABUSED: &str = "/bytes/100000000";

/// Threads that connect, send one to four requests, and connect again. Each request has a target of
/// its own, so that the log can be compared line by line.
pub(crate) struct Load {
    ended: Arc<AtomicBool>,
    served: Arc<AtomicUsize>,
    threads: Vec<JoinHandle<Seen>>,
}

/// The experience of the clients.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The targets of whole responses, with their status.
    pub(crate) whole: HashMap<String, u16>,
    /// The targets of requests that were sent and had no whole response.
    pub(crate) cut: HashSet<String>,
    /// The number of connections with a complete handshake.
    pub(crate) connections: usize,
    /// The number of connections without one.
    pub(crate) unconnected: usize,
    /// The number of connections that resumed a session.
    pub(crate) resumed: usize,
    /// The longest wait for a connection or a response.
    pub(crate) longest: Duration,
}

impl Load {
    /// Starts this number of threads. Each goes to the addresses in turn, and offers the session of
    /// its last connection to the next, except for every third.
    pub(crate) fn start(addresses: &[SocketAddr], threads: usize) -> Self {
        Self::start_with_pause(addresses, threads, Duration::ZERO)
    }

    /// As [`Self::start`], with a pause before each connection.
    pub(crate) fn start_with_pause(
        addresses: &[SocketAddr],
        threads: usize,
        pause: Duration,
    ) -> Self {
        let (ended, served) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        let number = Arc::<AtomicUsize>::default();
        let threads = (0..threads)
            .map(|_| {
                let (addresses, ended) = (addresses.to_vec(), Arc::clone(&ended));
                let (served, number) = (Arc::clone(&served), Arc::clone(&number));
                thread::spawn(move || {
                    let mut client = Client::new(number, served);
                    for address in addresses.iter().cycle() {
                        if ended.load(Ordering::Relaxed) {
                            break;
                        }
                        thread::sleep(pause);
                        client.visit(*address);
                    }
                    client.seen
                })
            })
            .collect();
        Self { ended, served, threads }
    }

    /// Waits for this number of further responses.
    pub(crate) fn until_more(&self, responses: usize) {
        let before = self.served.load(Ordering::Relaxed);
        eventually("responses", || self.served.load(Ordering::Relaxed) >= before + responses);
    }

    /// Ends the clients after their current connections.
    pub(crate) fn end(self) -> Seen {
        self.ended.store(true, Ordering::Relaxed);
        let mut all = Seen::default();
        for thread in self.threads {
            let seen = thread.join().unwrap();
            all.whole.extend(seen.whole);
            all.cut.extend(seen.cut);
            all.connections += seen.connections;
            all.unconnected += seen.unconnected;
            all.resumed += seen.resumed;
            all.longest = all.longest.max(seen.longest);
        }
        all
    }
}

impl Seen {
    /// Checks that the logs have each whole response once, and no others except those that the
    /// client lost on the way.
    pub(crate) fn agrees_with(&self, logs: &[Log]) {
        let mut logged = HashMap::new();
        for line in logs.iter().flat_map(Log::requests).filter(|line| line.target != ABUSED) {
            let before = logged.insert(&*line.target, (line.status, line.complete));
            assert_eq!(before, None, "{} was answered twice", line.target);
        }
        for (target, status) in &self.whole {
            assert_eq!(logged.remove(&**target), Some((*status, true)), "{target}");
        }
        for (target, _) in logged {
            assert!(self.cut.contains(target), "nobody asked for {target}");
        }
    }

    pub(crate) fn with_status(&self, status: u16) -> usize {
        self.whole.values().filter(|it| **it == status).count()
    }
}

struct Client {
    context: SslContext,
    session: Option<SslSession>,
    number: Arc<AtomicUsize>,
    served: Arc<AtomicUsize>,
    seen: Seen,
}

impl Client {
    fn new(number: Arc<AtomicUsize>, served: Arc<AtomicUsize>) -> Self {
        let mut context = SslContext::builder(SslMethod::tls_client()).unwrap();
        context.set_verify(SslVerifyMode::NONE);
        context.set_session_cache_mode(SslSessionCacheMode::CLIENT);
        // a session of TLS 1.2 is there after the handshake
        context.set_max_proto_version(Some(SslVersion::TLS1_2)).unwrap();
        let context = context.build();
        Self { context, session: None, number, served, seen: Seen::default() }
    }

    fn visit(&mut self, address: SocketAddr) {
        let begun = Instant::now();
        let Ok(mut stream) = self.connect(address) else {
            self.seen.unconnected += 1;
            self.session = None;
            thread::sleep(Duration::from_millis(5));
            return;
        };
        self.seen.longest = self.seen.longest.max(begun.elapsed());
        self.seen.resumed += usize::from(stream.ssl().session_reused());
        self.seen.connections += 1;
        let is_old = self.seen.connections.is_multiple_of(3);
        self.session = stream.ssl().session().filter(|_| !is_old).map(ToOwned::to_owned);
        for _ in 0..=self.seen.connections % 4 {
            let begun = Instant::now();
            let target = format!("/bytes/{}", self.number.fetch_add(1, Ordering::Relaxed));
            let answer = ask(&mut stream, &target);
            self.seen.longest = self.seen.longest.max(begun.elapsed());
            match answer {
                Ok((status, stays)) => {
                    self.seen.whole.insert(target, status);
                    self.served.fetch_add(1, Ordering::Relaxed);
                    if !stays {
                        break;
                    }
                }
                Err(_) => {
                    self.seen.cut.insert(target);
                    return;
                }
            }
        }
        let _ = stream.shutdown();
    }

    fn connect(&self, address: SocketAddr) -> io::Result<SslStream<TcpStream>> {
        let socket = TcpStream::connect_timeout(&address, TIMEOUT)?;
        socket.set_read_timeout(Some(TIMEOUT))?;
        socket.set_write_timeout(Some(TIMEOUT))?;
        let mut ssl = Ssl::new(&self.context)?;
        if let Some(session) = &self.session {
            // SAFETY: the session was made with this context.
            unsafe { ssl.set_session(session) }?;
        }
        let mut stream = SslStream::new(ssl, socket)?;
        stream.connect().map_err(io::Error::other)?;
        Ok(stream)
    }
}

/// Sends a request, and reads a whole response with a length. Returns its status, and whether the
/// connection stays open.
fn ask(stream: &mut (impl Read + Write), target: &str) -> io::Result<(u16, bool)> {
    stream.write_all(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes())?;
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    let mut body = vec![0; length.unwrap().parse().unwrap()];
    stream.read_exact(&mut body)?;
    let status = head[9..12].parse().unwrap();
    assert!(status != 200 || body == bytes(body.len()), "{target}");
    Ok((status, !head.contains("Connection: close")))
}
