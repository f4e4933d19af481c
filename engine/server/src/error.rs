//! Errors, grouped by who must act. Each message is one line: what is wrong, where, and what to do.

use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;
use std::io;
use std::path::{Path, PathBuf};

use openssl::error::ErrorStack;
use rustix::io::Errno;

use crate::kinds::{Engine, KeyKind};
use crate::listener::Listen;
use crate::suite::Suite;

/// The maximum number of worker threads in one server.
pub const WORKERS_MAX: usize = 1024;
/// The maximum number of back ends of one server.
pub const BACKENDS_MAX: usize = 256;
/// The maximum number of sessions that a server keeps in memory; they need about 4 GB.
pub const SESSIONS_MAX: usize = 10_000_000;
/// The upper limit of all waits: a day.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// The reason why a server did not start.
#[derive(Debug)]
pub enum Error {
    /// The caller broke the documented contract. Other settings solve the problem.
    Misuse(Misuse),
    /// A key, certificate or folder is not acceptable. Another key, certificate or folder solves
    /// the problem.
    Rejected(Rejected),
    /// The system lacks a resource. Free it, or request less.
    Unavailable(Unavailable),
}

/// Settings that contradict the documented contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// No back ends, or too many.
    Backends(usize),
    /// The target of health checks is not a path.
    HealthTarget(String),
    /// The kernel would encrypt, but there are no files to send.
    KernelTlsWithoutRoot,
    /// A time limit of more than a day.
    LongLimit(&'static str),
    /// No certificate.
    NoCertificate,
    /// No group for Diffie-Hellman.
    NoGroup,
    /// No version of TLS.
    NoProtocol,
    /// No configured suite fits the versions and the kind of the key.
    NoSuite {
        /// The kind of the key, "rsa-2048".
        key: String,
    },
    /// The number of cores differs from the number of workers.
    Pin {
        /// The number of cores.
        cores: usize,
        /// The number of workers.
        workers: usize,
    },
    /// Both a proxy and a folder of files.
    ProxyAndRoot,
    /// Sessions are shared through Redis, but there are no ticket keys to encrypt them.
    RedisWithoutKeys,
    /// `request_bytes_max` is out of range.
    RequestBytes(usize),
    /// A suite with RSA key exchange, which was not allowed.
    RsaKeyExchange(Suite),
    /// Settings of a cache that is not chosen.
    SessionsWithoutCache,
    /// The number of sessions in memory is out of range.
    SessionsMax(usize),
    /// Spill, with sockets that workers share.
    SpillOfSystemd,
    /// Connections would be passed on to the server itself.
    SpillToItself(SocketAddr),
    /// No limit says when connections are passed on.
    SpillWithoutLimit,
    /// Ticket keys without resumption.
    TicketKeys,
    /// No workers, or too many.
    Workers(usize),
    /// A time limit or bound of zero.
    ZeroLimit(&'static str),
}

/// Input that is refused.
#[derive(Debug)]
pub enum Rejected {
    /// The certificate's file holds no certificate, or a broken one.
    Certificate(String),
    /// The engine refuses this key. There is no silent fallback.
    Engine {
        /// The configured engine.
        engine: Engine,
        /// The kind of the key.
        key: String,
        /// The provider that would serve the key instead.
        instead: String,
    },
    /// One of the certificates, or its key, is refused.
    File {
        /// The file of the chain, or of the key.
        file: PathBuf,
        /// The reason.
        why: Box<Self>,
    },
    /// The key does not match the certificate.
    KeyMismatch,
    /// The private key cannot be read: not PEM, encrypted, or of an unknown kind.
    Key(String),
    /// Two certificates have the same name and keys of the same kind.
    SameName {
        /// The name of the server.
        name: String,
        /// The kind of the second key.
        kind: KeyKind,
    },
    /// The file of settings has an error.
    Settings {
        /// The path of the file.
        path: PathBuf,
        /// The line, counted from one, if the error has one.
        line: Option<usize>,
        /// The cause and what to do.
        why: String,
    },
    /// The file of ticket keys has another length than one to three keys.
    TicketKeys {
        /// The path of the file.
        path: PathBuf,
        /// Its length.
        bytes: usize,
    },
    /// A file could not be read.
    Unreadable {
        /// The purpose of the file.
        what: &'static str,
        /// The path of the file.
        path: PathBuf,
        /// The cause.
        why: io::Error,
    },
}

/// A resource that the system did not provide.
#[derive(Debug)]
pub enum Unavailable {
    /// The access log could not be opened for appending.
    AccessLog {
        /// The path of the log.
        path: PathBuf,
        /// The cause.
        why: io::Error,
    },
    /// The address cannot be listened on.
    Listen {
        /// The configured address.
        at: Listen,
        /// The cause.
        why: io::Error,
    },
    /// OpenSSL failed in a step of the preparation.
    OpenSsl {
        /// The step.
        doing: &'static str,
        /// OpenSSL's error.
        why: String,
    },
    /// A worker could not be pinned to its core.
    Pin {
        /// The configured logical core.
        core: usize,
        /// The cause.
        why: io::Error,
    },
    /// A thread, an event queue or a clock was refused.
    System {
        /// The step.
        doing: &'static str,
        /// The cause.
        why: io::Error,
    },
}

impl Misuse {
    /// Checks time limits, given with their names.
    pub(crate) fn of_times(times: &[(&'static str, Duration)]) -> Result<(), Self> {
        if let Some((name, _)) = times.iter().find(|(_, time)| time.is_zero()) {
            return Err(Self::ZeroLimit(name));
        }
        if let Some((name, _)) = times.iter().find(|(_, time)| *time > WAIT_MAX) {
            return Err(Self::LongLimit(name));
        }
        Ok(())
    }

    /// Returns the setting in a file that the error is about.
    pub(crate) fn setting(&self) -> String {
        match self {
            Self::Backends(_) => "proxy.backends",
            Self::HealthTarget(_) => "proxy.health.target",
            Self::KernelTlsWithoutRoot => "kernel_tls",
            Self::LongLimit(name) | Self::ZeroLimit(name) if name.contains('.') => name,
            Self::LongLimit(name) | Self::ZeroLimit(name) => return format!("limits.{name}"),
            Self::NoCertificate => "certificate",
            Self::NoGroup => "groups",
            Self::NoProtocol => "protocols",
            Self::NoSuite { .. } | Self::RsaKeyExchange(_) => "suites",
            Self::Pin { .. } => "cores",
            Self::ProxyAndRoot => "root",
            Self::RedisWithoutKeys => "sessions.redis.address",
            Self::RequestBytes(_) => "limits.request_bytes_max",
            Self::SessionsMax(_) => "sessions.sessions_max",
            Self::SessionsWithoutCache => "resumption",
            Self::SpillToItself(_) => "spill.to",
            Self::SpillOfSystemd => "address",
            Self::SpillWithoutLimit => "spill",
            Self::TicketKeys => "ticket_keys",
            Self::Workers(_) => "workers",
        }
        .to_owned()
    }
}

impl From<Misuse> for Error {
    fn from(misuse: Misuse) -> Self {
        Self::Misuse(misuse)
    }
}

impl From<Rejected> for Error {
    fn from(rejected: Rejected) -> Self {
        Self::Rejected(rejected)
    }
}

impl From<Unavailable> for Error {
    fn from(unavailable: Unavailable) -> Self {
        Self::Unavailable(unavailable)
    }
}

impl Rejected {
    pub(crate) fn unreadable(what: &'static str, path: &Path, why: io::Error) -> Self {
        Self::Unreadable { what, path: path.to_owned(), why }
    }
}

impl Unavailable {
    /// Converts OpenSSL's errors in the step `doing` into an error.
    pub(crate) fn openssl(doing: &'static str) -> impl FnOnce(ErrorStack) -> Error {
        move |stack| Self::OpenSsl { doing, why: one_line(&stack) }.into()
    }

    /// Converts the system's error in the step `doing` into an error.
    pub(crate) fn system<E: Into<io::Error>>(doing: &'static str) -> impl FnOnce(E) -> Error {
        move |why| Self::System { doing, why: why.into() }.into()
    }
}

/// Joins OpenSSL's lines, because every error message of this crate is one line.
pub(crate) fn one_line(stack: &ErrorStack) -> String {
    stack.to_string().lines().map(str::trim).collect::<Vec<_>>().join("; ")
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Misuse(misuse) => misuse.fmt(f),
            Self::Rejected(rejected) => rejected.fmt(f),
            Self::Unavailable(unavailable) => unavailable.fmt(f),
        }
    }
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Backends(count) => {
                write!(f, "{count} back ends: give a number from 1 to {BACKENDS_MAX}")
            }
            Self::KernelTlsWithoutRoot => f.write_str(
                "kernel TLS sends files faster, but there are none: set `root`, or leave `kernel_tls` out",
            ),
            Self::HealthTarget(target) => {
                write!(f, "the target of health checks is {target:?}: give a path such as /health")
            }
            Self::ProxyAndRoot => f.write_str(
                "both back ends and a folder of files: give one of the two (`proxy` or `root`)",
            ),
            Self::LongLimit(name) => {
                write!(f, "the limit `{name}` is longer than a day: give a shorter one")
            }
            Self::NoCertificate => f.write_str(
                "there is no certificate: add a table [[certificate]] with `chain` and `key`",
            ),
            Self::NoGroup => f.write_str("no group for Diffie-Hellman: give at least one"),
            Self::NoProtocol => f.write_str("no TLS version is configured: give at least one"),
            Self::NoSuite { key } => write!(
                f,
                "none of the suites fits the {key} key and a configured TLS version: give other \
                 suites, or none for the defaults"
            ),
            Self::Pin { cores, workers } => {
                write!(f, "{cores} cores are given for {workers} workers: give one core per worker")
            }
            Self::RedisWithoutKeys => f.write_str(
                "sessions in Redis are encrypted with ticket keys: add `ticket_keys` with the same \
                 file for each server",
            ),
            Self::SessionsMax(sessions) => {
                write!(f, "{sessions} sessions in memory: give a number from 1 to {SESSIONS_MAX}")
            }
            Self::SessionsWithoutCache => f.write_str(
                "settings of [sessions] without a cache: add `resumption = \"cache\"`, or leave \
                 them out",
            ),
            Self::RequestBytes(bytes) => write!(
                f,
                "the request limit is {bytes} bytes: give a limit between 256 bytes and 1 MiB"
            ),
            Self::RsaKeyExchange(suite) => write!(
                f,
                "{suite} is RSA key exchange, which has no forward secrecy: \
                 allow it (`allow_rsa_kx`) or leave the suite out"
            ),
            Self::SpillOfSystemd => f.write_str(
                "[spill] needs a socket for each worker: give an address instead of systemd's \
                 sockets, or leave [spill] out",
            ),
            Self::SpillToItself(address) => write!(
                f,
                "connections would be passed on to this server itself ({address}): give the \
                 address of another"
            ),
            Self::SpillWithoutLimit => {
                f.write_str("[spill] has no limit: give `handshakes`, `connections` or `turn`")
            }
            Self::TicketKeys => f.write_str(
                "`ticket_keys` without resumption: add `resumption = \"tickets\"` or \"cache\"",
            ),
            Self::Workers(workers) => {
                write!(f, "{workers} workers: give a number from 1 to {WORKERS_MAX}")
            }
            Self::ZeroLimit(name) => write!(f, "the limit `{name}` is zero: give a positive one"),
        }
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Certificate(why) => {
                write!(f, "no usable certificate: {why}: give PEM, the server's certificate first")
            }
            Self::Engine { engine, key, instead } => write!(
                f,
                "engine {engine} does not support this {key} key (provider {instead} would sign): \
                 give an RSA key of two primes and 1024 to 8192 bits, or, if the processor has \
                 AVX-512 IFMA or AVX2, BMI2 and ADX, a key on P-256; or choose engine openssl"
            ),
            Self::File { file, why } => write!(f, "{}: {why}", file.display()),
            Self::KeyMismatch => {
                f.write_str("the private key does not match the certificate: give a matching pair")
            }
            Self::Key(why) => write!(
                f,
                "no usable private key: {why}: give an unencrypted PEM key: RSA, ECDSA on P-256 or \
                 P-384, or Ed25519"
            ),
            Self::SameName { name, kind } => write!(
                f,
                "two certificates have the name {name} and a key like {kind}: leave one out, or \
                 give keys of different kinds (RSA, ECDSA, Ed25519)"
            ),
            Self::Settings { path, line: Some(line), why } => {
                write!(f, "{}, line {line}: {why}", path.display())
            }
            Self::Settings { path, line: None, why } => write!(f, "{}: {why}", path.display()),
            Self::TicketKeys { path, bytes } => write!(
                f,
                "{} has {bytes} bytes: give one to three ticket keys of 80 random bytes each \
                 (`openssl rand 80`)",
                path.display()
            ),
            Self::Unreadable { what, path, why } => {
                write!(f, "cannot read {what} {}: {why}{}", path.display(), remedy_for_path(why))
            }
        }
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AccessLog { path, why } => write!(
                f,
                "cannot append to the access log {}: {why}{}",
                path.display(),
                remedy_for_path(why)
            ),
            Self::Listen { at: Listen::At(address), why } => {
                write!(f, "cannot listen on {address}: {}", listening(*address, why))
            }
            Self::Listen { at, why } => write!(f, "cannot listen on {at}: {why}"),
            Self::OpenSsl { doing, why } => write!(
                f,
                "OpenSSL failed {doing}: {why}: \
                 is it version 3.0 or later, with its default provider?"
            ),
            Self::Pin { core, why } => write!(
                f,
                "cannot pin a worker to core {core}: {why}: \
                 give cores that this process may use (`taskset -p $$` lists them)"
            ),
            Self::System { doing, why } => {
                write!(f, "the system refused {doing}: {why}{}", remedy_for_system(why))
            }
        }
    }
}

fn listening(address: SocketAddr, why: &io::Error) -> String {
    match Errno::from_io_error(why) {
        Some(Errno::ADDRINUSE) => format!(
            "the port is in use: stop the other server (`ss -ltnp 'sport = :{0}'` names it) \
             or take another port",
            address.port()
        ),
        Some(Errno::ACCESS | Errno::PERM) => {
            "no permission: take a port of 1024 or more, or give CAP_NET_BIND_SERVICE".to_owned()
        }
        Some(Errno::ADDRNOTAVAIL) => {
            format!("this machine has no address {}: take one of its own", address.ip())
        }
        _ => format!("{why}{}", remedy_for_system(why)),
    }
}

fn remedy_for_path(why: &io::Error) -> &'static str {
    match why.kind() {
        io::ErrorKind::NotFound => ": check the path",
        io::ErrorKind::PermissionDenied => {
            ": run as a user with permission, or change the file's mode"
        }
        io::ErrorKind::IsADirectory => ": give a file",
        io::ErrorKind::NotADirectory => ": give a folder",
        io::ErrorKind::InvalidData => ": give a file of text",
        _ => remedy_for_system(why),
    }
}

fn remedy_for_system(why: &io::Error) -> &'static str {
    match Errno::from_io_error(why) {
        Some(Errno::MFILE) => ": no file descriptors left: raise the limit (`ulimit -n`)",
        Some(Errno::NFILE) => ": no file descriptors left in the system: raise fs.file-max",
        Some(Errno::NOMEM | Errno::NOBUFS) => ": no memory left: free some",
        Some(Errno::AGAIN) => ": no threads left: raise the limit (`ulimit -u`)",
        _ => "",
    }
}

impl core::error::Error for Error {}
impl core::error::Error for Misuse {}
impl core::error::Error for Rejected {}
impl core::error::Error for Unavailable {}
