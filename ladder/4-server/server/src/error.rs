//! Errors, grouped by who must act. Each message is one line: what is wrong, where, and what to do.

use core::net::SocketAddr;
use core::time::Duration;
use std::io;

use std::path::{Path, PathBuf};

use openssl::error::ErrorStack;
use rustix::io::Errno;
use thiserror::Error as ThisError;

use crate::kinds::Engine;
use crate::suite::Suite;

/// The maximum number of worker threads in one server.
pub const WORKERS_MAX: usize = 1024;
/// The upper limit of all waits: a day.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// The reason why a server did not start.
#[derive(Debug, ThisError)]
pub enum Error {
    /// The caller broke the documented contract. Other settings solve the problem.
    #[error(transparent)]
    Misuse(#[from] Misuse),
    /// A key, certificate or folder is not acceptable. Another one solves the problem.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// The system lacks a resource. Free it, or request less.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Settings that contradict the documented contract.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
pub enum Misuse {
    /// A time limit of more than a day.
    #[error("the limit `{0}` is longer than a day: give a shorter one")]
    LongLimit(&'static str),
    /// No group for Diffie-Hellman.
    #[error("no group for Diffie-Hellman: give at least one")]
    NoGroup,
    /// No version of TLS.
    #[error("no TLS version is configured: give at least one")]
    NoProtocol,
    /// No configured suite fits the versions and the kind of the key.
    #[error(
        "none of the suites fits the {key} key and a configured TLS version: give other suites, or \
         none for the defaults"
    )]
    NoSuite {
        /// The kind of the key, "rsa-2048".
        key: String,
    },
    /// The number of cores differs from the number of workers.
    #[error("{cores} cores are given for {workers} workers: give one core per worker")]
    Pin {
        /// The number of cores.
        cores: usize,
        /// The number of workers.
        workers: usize,
    },
    /// `request_bytes_max` is out of range.
    #[error("the request limit is {0} bytes: give a limit between 256 bytes and 1 MiB")]
    RequestBytes(usize),
    /// A suite with RSA key exchange, which was not allowed.
    #[error(
        "{0} is RSA key exchange, which has no forward secrecy: allow it (`allow_rsa_kx`) or leave \
         the suite out"
    )]
    RsaKeyExchange(Suite),
    /// No workers, or too many.
    #[error("{0} workers: give a number from 1 to {WORKERS_MAX}")]
    Workers(usize),
    /// A time limit or bound of zero.
    #[error("the limit `{0}` is zero: give a positive one")]
    ZeroLimit(&'static str),
}

/// Input that is refused.
#[derive(Debug, ThisError)]
pub enum Rejected {
    /// The certificate's file holds no certificate, or a broken one.
    #[error("no usable certificate: {0}: give PEM, the server's certificate first")]
    Certificate(String),
    /// The engine refuses this key. There is no silent fallback.
    #[error(
        "engine {engine} does not support this {key} key (provider {instead} would sign): give an \
         RSA key of two primes and 1024 to 8192 bits, or, if the processor has AVX-512 IFMA or \
         AVX2, BMI2 and ADX, a key on P-256; or choose engine openssl"
    )]
    Engine {
        /// The configured engine.
        engine: Engine,
        /// The kind of the key.
        key: String,
        /// The provider that would serve the key instead.
        instead: String,
    },
    /// The certificate, or its key, is refused.
    #[error("{}: {why}", file.display())]
    File {
        /// The file of the chain, or of the key.
        file: PathBuf,
        /// The reason.
        why: Box<Self>,
    },
    /// The key does not match the certificate.
    #[error("the private key does not match the certificate: give a matching pair")]
    KeyMismatch,
    /// The private key cannot be read: not PEM, encrypted, or of an unknown kind.
    #[error(
        "no usable private key: {0}: give an unencrypted PEM key: RSA, ECDSA on P-256 or P-384, or \
         Ed25519"
    )]
    Key(String),
    /// A file could not be read.
    #[error("cannot read {what} {}: {why}{}", path.display(), remedy_for_path(why))]
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
#[derive(Debug, ThisError)]
pub enum Unavailable {
    /// The access log could not be opened for appending.
    #[error("cannot append to the access log {}: {why}{}", path.display(), remedy_for_path(why))]
    AccessLog {
        /// The path of the log.
        path: PathBuf,
        /// The cause.
        why: io::Error,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {at}: {}", remedy_for_address(*at, why))]
    Listen {
        /// The configured address.
        at: SocketAddr,
        /// The cause.
        why: io::Error,
    },
    /// OpenSSL failed in a step of the preparation.
    #[error(
        "OpenSSL failed {doing}: {why}: is it version 3.0 or later, with its default provider?"
    )]
    OpenSsl {
        /// The step.
        doing: &'static str,
        /// OpenSSL's error.
        why: String,
    },
    /// A worker could not be pinned to its core.
    #[error(
        "cannot pin a worker to core {core}: {why}: give cores that this process may use \
         (`taskset -p $$` lists them)"
    )]
    Pin {
        /// The configured logical core.
        core: usize,
        /// The cause.
        why: io::Error,
    },
    /// A thread, an event queue or a clock was refused.
    #[error("the system refused {doing}: {why}{}", remedy_for_system(why))]
    System {
        /// The step.
        doing: &'static str,
        /// The cause.
        why: io::Error,
    },
}

impl Misuse {
    /// Checks time limits, given with their names.
    pub(crate) fn check_times(times: &[(&'static str, Duration)]) -> Result<(), Self> {
        for (name, time) in times {
            match *time {
                Duration::ZERO => return Err(Self::ZeroLimit(name)),
                time if time > WAIT_MAX => return Err(Self::LongLimit(name)),
                _ => {}
            }
        }
        Ok(())
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

fn remedy_for_address(address: SocketAddr, why: &io::Error) -> String {
    match Errno::from_io_error(why) {
        Some(Errno::ADDRINUSE) => format!(
            "the port is in use: stop the other server (`ss -ltnp 'sport = :{0}'` names it) or \
             take another port",
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
