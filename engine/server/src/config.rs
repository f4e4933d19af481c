//! What a server is told before it starts.

use core::fmt;
use core::net::{Ipv4Addr, SocketAddr};
use core::str::FromStr;
use core::time::Duration;
use std::path::PathBuf;

use crate::error::Misuse;
use crate::suite::{Group, Protocol, Suite, UnknownName};
use crate::{Certificate, Notify};

/// The most worker threads of one server.
pub const WORKERS_MAX: usize = 1024;

/// The longest that a server waits for anything: a day.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Who does the private-key operations of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// OpenSSL's default provider.
    OpenSsl,
    /// Our provider, built in; RSA keys only.
    Tollgate,
}

impl Engine {
    /// The word for it in flags, logs and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenSsl => "openssl",
            Self::Tollgate => "tollgate",
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Engine {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        match name {
            "openssl" => Ok(Self::OpenSsl),
            "tollgate" => Ok(Self::Tollgate),
            _ => Err(UnknownName {
                what: "engine",
                name: name.to_owned(),
                known: vec!["openssl", "tollgate"],
            }),
        }
    }
}

/// Whether a client may come back without a full handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resumption {
    /// Never: no tickets, no session cache, no session ID to offer again.
    Off,
    /// With tickets, under keys that the server makes at start and all workers share.
    Tickets,
}

/// Everything a server is told. [`Config::default`] listens on a free port of 127.0.0.1 with one
/// worker and a self-signed RSA-2048 certificate.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where to listen; port 0 takes a free one.
    pub address: SocketAddr,
    /// Worker threads, 1 to [`WORKERS_MAX`]; each has its own listener, loop and TLS context.
    pub workers: usize,
    /// The logical core of each worker, one per worker; none: the scheduler decides.
    pub pin: Option<Vec<usize>>,
    /// Who does the private-key operations.
    pub engine: Engine,
    /// The certificate and its key.
    pub certificate: Certificate,
    /// The versions that are spoken, at least one.
    pub protocols: Vec<Protocol>,
    /// Suites, best first: the server's order counts. Empty: AES-128-GCM first, no CBC.
    pub suites: Vec<Suite>,
    /// Groups, best first; at least one.
    pub groups: Vec<Group>,
    /// Whether suites with RSA key exchange may be offered. They lack forward secrecy.
    pub allow_rsa_kx: bool,
    /// Whether the key may be RSA of 1,024 bits: insecure, for comparisons with papers only.
    pub allow_rsa_1024: bool,
    /// Whether sessions are resumed.
    pub resumption: Resumption,
    /// The folder whose files are served, if any.
    pub root: Option<PathBuf>,
    /// The file that access-log lines are appended to, if any.
    pub access_log: Option<PathBuf>,
    /// Bounds and time limits.
    pub limits: Limits,
    /// Where remarks of a running server go.
    pub notify: Notify,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            workers: 1,
            pin: None,
            engine: Engine::OpenSsl,
            certificate: Certificate::default(),
            protocols: vec![Protocol::Tls12, Protocol::Tls13],
            suites: Vec::new(),
            groups: vec![Group::X25519, Group::P256],
            allow_rsa_kx: false,
            allow_rsa_1024: false,
            resumption: Resumption::Off,
            root: None,
            access_log: None,
            limits: Limits::default(),
            notify: Notify::default(),
        }
    }
}

/// The bounds of every queue and the limit of every wait of a server.
///
/// Time limits are looked at every 100 ms, so a wait may last that much longer. None is longer than
/// a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From accepting a connection to the end of its handshake.
    pub handshake: Duration,
    /// Between a response (or the handshake) and the first byte of the next request.
    pub idle: Duration,
    /// From the first byte of a request to its last, the body that is skipped included.
    pub request: Duration,
    /// How long a client may take nothing of a response.
    pub write: Duration,
    /// How long a closed connection waits for the client to close too.
    pub linger: Duration,
    /// The longest request line with headers, in bytes; also the longest body that is skipped.
    pub request_bytes_max: usize,
    /// The most open connections of one worker; beyond it, clients wait in the kernel's queue.
    pub connections_max: usize,
    /// Connections that the kernel completes ahead of a worker (`listen(2)`).
    pub backlog: i32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            idle: Duration::from_secs(15),
            request: Duration::from_secs(10),
            write: Duration::from_secs(30),
            linger: Duration::from_secs(1),
            request_bytes_max: 16 * 1024,
            connections_max: 16 * 1024,
            backlog: 4096,
        }
    }
}

impl Config {
    /// What no certificate, file or socket is needed to see.
    ///
    /// # Errors
    ///
    /// [`Misuse`]: the caller broke the documented contract.
    pub(crate) fn check(&self) -> Result<(), Misuse> {
        if !(1..=WORKERS_MAX).contains(&self.workers) {
            return Err(Misuse::Workers(self.workers));
        }
        if let Some(cores) = &self.pin
            && cores.len() != self.workers
        {
            return Err(Misuse::Pin { cores: cores.len(), workers: self.workers });
        }
        if self.protocols.is_empty() {
            return Err(Misuse::NoProtocol);
        }
        if self.groups.is_empty() {
            return Err(Misuse::NoGroup);
        }
        let rsa_kx = self.suites.iter().find(|suite| suite.is_rsa_key_exchange());
        if let Some(suite) = rsa_kx
            && !self.allow_rsa_kx
        {
            return Err(Misuse::RsaKeyExchange(*suite));
        }
        self.limits.check()
    }

    /// The suites to offer with a key of that kind, best first, those of one protocol only.
    pub(crate) fn suites_of(&self, protocol: Protocol, key: crate::KeyKind) -> Vec<Suite> {
        let mut suites = self.suites.clone();
        if suites.is_empty() {
            suites = Suite::defaults(self.allow_rsa_kx);
        }
        suites.retain(|suite| {
            self.protocols.contains(&protocol) && suite.protocol() == protocol && suite.suits(key)
        });
        suites
    }
}

impl Limits {
    fn check(&self) -> Result<(), Misuse> {
        let times = [
            ("handshake", self.handshake),
            ("idle", self.idle),
            ("request", self.request),
            ("write", self.write),
            ("linger", self.linger),
        ];
        if let Some((name, _)) = times.iter().find(|(_, time)| time.is_zero()) {
            return Err(Misuse::ZeroLimit(name));
        }
        if let Some((name, _)) = times.iter().find(|(_, time)| *time > WAIT_MAX) {
            return Err(Misuse::LongLimit(name));
        }
        if !(256..=1024 * 1024).contains(&self.request_bytes_max) {
            return Err(Misuse::RequestBytes(self.request_bytes_max));
        }
        if self.connections_max == 0 {
            return Err(Misuse::ZeroLimit("connections_max"));
        }
        if self.backlog <= 0 {
            return Err(Misuse::ZeroLimit("backlog"));
        }
        Ok(())
    }
}
