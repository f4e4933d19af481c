//! The replica of a server: its calls of libssl and of the system, without the server.
//!
//! A sequence lists the calls of the server's worker for one session ([`sequence`]). The replica
//! makes these calls on loopback sockets, with the server's settings of libssl, for sessions of the
//! load generator: as many in flight as when the server itself is under load. So the library and
//! the kernel run with the caches and branch predictors that they leave to each other, as in the
//! server. A clock runs in calls of libssl and stops in the system calls below them: its time is
//! the library's, and the rest of the thread's CPU time is the system's. The clock is CPU time of
//! the thread too, so programs that interrupt the thread move no time from one part to the other.

mod connection;
mod sequence;
mod serve;

use core::hint::black_box;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::net::TcpListener;
use std::thread;

use openssl::error::ErrorStack;
use openssl::ssl::{Ssl, SslContext, SslMode, SslSessionCacheMode};
use tempfile::TempDir;
use tollgate_calibrate::clock;
use tollgate_load::{Exchange, Plan, Resume, Server, Target};
use tollgate_server::in_memory::Worker;

use self::connection::Shared;
use self::sequence::{EMBEDDED, Sequence, SessionCache, filled};
use self::serve::Loop;
use crate::cores::{Pinned, cores};
use crate::counts::Data;
use crate::error::Error;
use crate::plan::Session;

/// The fewest sessions before the measured ones, until the caches are as warm as under load.
const SETTLE_MIN: u32 = 48;
/// The fewest measured sessions of one replay.
const SESSIONS_MIN: u32 = 96;
/// The fewest sessions after the measured ones, so that as many are in flight at their end.
const TAIL_MIN: u32 = 24;
/// The length of the request of the load generator in bytes.
const REQUEST: usize = 70;
/// The file of the body, in the folder of a replica: as deep as the files of a server.
const BODY: &str = "www/bytes/body";
/// The number of short measurements of the core clock before and after a replay.
const CLOCK_WINDOWS: usize = 9;

/// The sessions of one replay: more than there are connections in flight.
#[derive(Clone, Copy, Debug)]
struct Size {
    connections: u32,
    settle: u32,
    sessions: u32,
    tail: u32,
}

impl Size {
    fn new(connections: u32) -> Self {
        Self {
            connections,
            settle: SETTLE_MIN.max(2 * connections),
            sessions: SESSIONS_MIN.max(4 * connections),
            tail: TAIL_MIN.max(3 * connections / 2),
        }
    }

    const fn all(&self) -> u32 {
        self.settle + self.sessions + self.tail
    }
}

/// A server whose calls are known, ready for sessions of one kind.
pub(crate) struct Replica<'w> {
    sequence: &'static Sequence,
    session: Session,
    size: Size,
    worker: &'w Worker,
    tls: Tls<'w>,
    listener: TcpListener,
    /// The body and the log.
    folder: TempDir,
    log: File,
    head: Vec<u8>,
    log_line: String,
    body: Vec<u8>,
    cores: Option<[usize; 2]>,
}

/// The source of the connections' settings.
pub(super) enum Tls<'w> {
    Context(SslContext),
    /// The embedded server's own, with its engine's pauses.
    Worker(&'w Worker),
}

impl Tls<'_> {
    fn connection(&self) -> Result<Ssl, ErrorStack> {
        match self {
            Self::Context(context) => Ssl::new(context),
            Self::Worker(worker) => worker.connection(),
        }
    }
}

/// The cost of one session, in core cycles of the serving thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Played {
    pub(crate) library: f64,
    pub(crate) system: f64,
    /// The mean number of operations with the server's key that ran at once, at least 1.
    pub(crate) batch: f64,
}

impl<'w> Replica<'w> {
    /// The replica of a stock server; of the embedded one without a name, or if the calls are not
    /// known.
    pub(crate) fn new(
        server: Option<&str>,
        session: Session,
        connections: u32,
        worker: &'w Worker,
    ) -> Result<Self, Error> {
        let sequence = server.and_then(Sequence::new).unwrap_or_else(Sequence::embedded);
        let tls = match &sequence.context {
            None => Tls::Worker(worker),
            Some(settings) => {
                Tls::Context(context(settings, worker).map_err(Error::openssl("a TLS context"))?)
            }
        };
        let length = usize::try_from(session.bytes).unwrap_or(usize::MAX);
        let body = vec![b'x'; length];
        let files = || -> io::Result<_> {
            let folder = TempDir::with_prefix("tollgate-replica-")?;
            fs::create_dir_all(folder.path().join("www/bytes"))?;
            fs::write(folder.path().join(BODY), &body)?;
            let log = folder.path().join("log");
            let log = OpenOptions::new().create(true).append(true).open(log)?;
            Ok((folder, log))
        };
        let (folder, log) = files().map_err(Error::system("files of a body and a log"))?;
        let listen = || -> io::Result<_> {
            let listener = TcpListener::bind("127.0.0.1:0")?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        };
        Ok(Self {
            sequence,
            session,
            size: Size::new(connections),
            worker,
            tls,
            listener: listen().map_err(Error::system("a listening socket"))?,
            folder,
            log,
            head: filled(&sequence.session.head, session.bytes).replace('\n', "\r\n").into(),
            log_line: filled(&sequence.worker.log_line, session.bytes),
            body,
            cores: cores(),
        })
    }

    /// Where the sequence comes from.
    pub(crate) const fn source(&self) -> &str {
        self.sequence.source.as_str()
    }

    /// The name of the stock server; `None` for the embedded one.
    pub(crate) fn server(&self) -> Option<&str> {
        Some(self.sequence.name.as_str()).filter(|name| *name != EMBEDDED)
    }

    /// The number of connections in flight.
    pub(crate) const fn connections(&self) -> u32 {
        self.size.connections
    }

    /// Returns whether server and client run on separate cores.
    pub(crate) const fn has_cores(&self) -> bool {
        self.cores.is_some()
    }

    /// The data of a session.
    pub(crate) const fn data(&self) -> Data {
        let response = self.head.len() + self.body.len();
        Data { request: REQUEST, response, write: self.sequence.session.record_bytes }
    }

    /// Serves sessions of the load generator, and returns the cost of one.
    pub(crate) fn play(&self) -> Result<Played, Error> {
        let system = || Error::system("a session over loopback");
        let address = self.listener.local_addr().map_err(system())?;
        let count = self.size.all();
        let resumed_by = self.session.handshake.resumed_by(self.session.is_tls13());
        let [client, server] = self.cores.map_or([None; 2], |cores| cores.map(Some));
        let plan = Plan {
            cores: client.and_then(|core| u32::try_from(core).ok()).into_iter().collect(),
            connections: self.size.connections,
            transactions: Some(count.into()),
            resume: resumed_by.map(|by| Resume { share: 1.0, by }),
            warm_up_ms: 0,
            sustain_ms: 20_000,
            exchange: Exchange::bytes(self.session.bytes),
            offer: self.session.offer(),
            ..Plan::new(self.session.protocol)
        };
        let worker = Loop {
            listener: &self.listener,
            worker: &self.sequence.worker,
            shared: Shared {
                calls: &self.sequence.session,
                tls: &self.tls,
                body: &self.folder.path().join(BODY),
                body_bytes: self.session.bytes,
                body_in_memory: &self.body,
                head: &self.head,
            },
            size: self.size,
            log: &self.log,
            log_line: self.log_line.as_bytes(),
        };
        let before = self.worker.operations();
        let (is_over, is_broken) = (AtomicBool::new(false), AtomicBool::new(false));
        let (served, loaded) = thread::scope(|scope| {
            let load = scope.spawn(|| {
                let mut server = Server::new(self.sequence.name.as_str(), Target::new(address)?);
                let stop = || is_broken.load(Ordering::Relaxed);
                let result = tollgate_load::run(&plan, &mut server, &stop, &mut |_, _| {});
                is_over.store(true, Ordering::Relaxed);
                result
            });
            let _pinned = Pinned::to(server);
            let served = timed(|| worker.serve(&|| is_over.load(Ordering::Relaxed)));
            is_broken.store(true, Ordering::Relaxed);
            (served, load.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        let (served, core_hz) = served.ok_or(Error::NoCycles)?;
        // Each side ends early if the other one fails: the error of the other one is the reason.
        let (served, outcome) = match (served, loaded) {
            (Err(why), Ok(_) | Err(tollgate_load::Error::Stopped)) => return Err(system()(why)),
            (_, Err(error)) => return Err(self.strange(error.to_string())),
            (Ok(served), Ok(outcome)) => (served, outcome),
        };
        if outcome.whole.transactions < count.into() || !outcome.whole.failures.is_empty() {
            return Err(self.strange("the client's sessions failed".to_owned()));
        }
        let operations = self.worker.operations().since(before);
        let batch = number(operations.total()) / number(operations.runs());
        let cycles = |time: Duration| time.as_secs_f64() * core_hz;
        Ok(Played {
            library: cycles(served.library),
            system: cycles(served.cpu.saturating_sub(served.library)),
            // 0 / 0 for an engine that does not count
            batch: if batch > 1.0 { batch } else { 1.0 },
        })
    }

    fn strange(&self, why: String) -> Error {
        Error::Session { session: format!("{} by {}", self.session, self.sequence.name), why }
    }
}

/// Runs `work` between two measurements of the core clock in Hz, and returns their mean; `None` if
/// it cannot be measured.
fn timed<R>(work: impl FnOnce() -> R) -> Option<(R, f64)> {
    let core_hz = || clock::core_hz(CLOCK_WINDOWS)?.last().copied();
    let before = core_hz()?;
    let result = work();
    Some((result, f64::midpoint(before, core_hz()?)))
}

/// A TLS context with a stock server's settings, and with the certificate and engine of `worker`.
fn context(settings: &sequence::Context, worker: &Worker) -> Result<SslContext, ErrorStack> {
    let mut context = worker.plain_context()?;
    context.set_cipher_list(&settings.suites)?;
    context.set_read_ahead(settings.read_ahead);
    if settings.release_buffers {
        context.set_mode(SslMode::RELEASE_BUFFERS);
    }
    match settings.session_cache {
        SessionCache::Off => _ = context.set_session_cache_mode(SslSessionCacheMode::OFF),
        SessionCache::External => {
            let mode = SslSessionCacheMode::SERVER | SslSessionCacheMode::NO_INTERNAL;
            context.set_session_cache_mode(mode);
            context.set_new_session_callback(|_, session| {
                black_box(session.to_der().ok());
            });
        }
    }
    context.set_session_id_context(b"HTTP")?;
    context.set_servername_callback(|_, _| Ok(()));
    Ok(context.build())
}

/// Converts a count of operations to a floating-point number.
#[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
const fn number(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use tollgate_load::Protocol;
    use tollgate_server::{Certificate, Config, Engine, KeyKind};

    use super::*;

    #[test]
    fn sessions_of_every_length_and_key_are_served() {
        let rsa = KeyKind::Rsa { bits: 2048 };
        let keys = [(rsa, Engine::OpenSsl), (KeyKind::EcdsaP256, Engine::OpenSsl)];
        let workers = keys.into_iter().chain([(rsa, Engine::Tollgate)]).map(|(key, engine)| {
            let certificate = Certificate::SelfSigned(key);
            Worker::new(&Config { engine, certificate, ..Config::default() }).unwrap()
        });
        let workers: Vec<Worker> = workers.collect();
        let (ecdsa, tollgate) = (KeyKind::EcdsaP256, Engine::Tollgate);
        for (server, of, protocol, bytes) in [
            ("nginx", 0, Protocol::Tls12X25519, 14_336),
            ("nginx", 0, Protocol::Tls13, 143_360),
            ("nginx", 0, Protocol::Tls13, 0),
            ("nginx", 0, Protocol::Tls13, 1 << 20), // more than a socket takes at once
            ("nginx", 1, Protocol::Tls12X25519, 0),
            ("nginx", 1, Protocol::Tls13, 0),
            ("haproxy", 0, Protocol::Tls12X25519, 14_336),
            ("haproxy", 0, Protocol::Tls13, 1 << 20),
            ("haproxy", 2, Protocol::Tls13, 0),
            ("embedded", 0, Protocol::Tls12X25519, 14_336),
            ("embedded", 0, Protocol::Tls13, 1 << 20),
            ("embedded", 2, Protocol::Tls13, 14_336),
        ] {
            let key = if of == 1 { ecdsa } else { rsa };
            let engine = if of == 2 { tollgate } else { Engine::OpenSsl };
            let session = Session::new(key, protocol, engine, bytes);
            let replica = Replica::new(Some(server), session, 16, &workers[of]).unwrap();
            let played = replica.play().unwrap();
            assert!(played.library > 0.0 && played.system > 0.0, "{server}, {session}: {played:?}");
            assert!((1.0..=8.0).contains(&played.batch), "{server}, {session}: {played:?}");
        }
    }
}
