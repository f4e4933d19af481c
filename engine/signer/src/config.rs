//! The configuration of a signer.

use core::net::SocketAddr;
use core::time::Duration;
use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::error::Error;
use crate::token::KeyUri;

/// The configuration of a signer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The path of the Unix socket.
    pub unix: Option<PathBuf>,
    /// The permissions of the socket's file, such as 0o660.
    pub unix_mode: u32,
    /// The listener with TLS.
    pub tls: Option<TlsSettings>,
    /// Other signers, which have the keys of stubs.
    pub relay: Option<RelaySettings>,
    /// The module of tokens, which have the keys with a URI.
    pub tokens: Option<TokenSettings>,
    /// The file that each operation is written to before its result leaves.
    pub audit_log: Option<PathBuf>,
    /// Address of a listener with plain HTTP that answers `/metrics`.
    pub metrics: Option<SocketAddr>,
    /// The number of worker threads, 1 to 256.
    pub workers: usize,
    /// The unit that the queue prefers.
    pub unit: UnitKind,
    /// The program should hide its memory and confine itself to the system calls of a signer.
    pub seccomp: bool,
    /// The keys.
    pub keys: Vec<KeySettings>,
    /// The clients.
    pub clients: Vec<ClientSettings>,
    /// Bounds and time limits.
    pub limits: Limits,
}

/// A kind of unit that the queue may prefer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitKind {
    /// The first GPU, for large batches of RSA operations. The lanes do everything else, and repeat the
    /// operations of a GPU that fails.
    Gpu,
    /// The lanes of the processor.
    Lanes,
}

impl UnitKind {
    /// The kinds with their names in settings.
    pub const ALL: [(Self, &'static str); 2] = [(Self::Gpu, "gpu"), (Self::Lanes, "lanes")];
}

/// A listener with TLS 1.3, whose clients have certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsSettings {
    /// The address; port 0 chooses a free port.
    pub address: SocketAddr,
    /// The chain of the signer's certificate in PEM.
    pub chain: PathBuf,
    /// The private key of the certificate in PEM.
    pub key: PathBuf,
    /// Trust anchors of clients in PEM.
    pub client_roots: PathBuf,
}

/// The upstream signers, which have the keys of stubs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelaySettings {
    /// The chain of this signer's certificate in PEM, which proves it to them.
    pub chain: PathBuf,
    /// The private key of the certificate in PEM.
    pub key: PathBuf,
    /// Trust anchors of the upstream signers in PEM.
    pub roots: PathBuf,
    /// The longest time for an operation, all signers together.
    pub limit: Duration,
    /// The time after which another signer is asked too; `None` for the 95th percentile of the last
    /// answers.
    pub hedge_after: Option<Duration>,
    /// The maximum share of operations for which another signer is asked too, in percent.
    pub hedge_percent_max: u32,
    /// The signers. Each operation goes to the first one that is there.
    pub upstreams: Vec<UpstreamSettings>,
}

/// An upstream signer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamSettings {
    /// The name in logs and metrics.
    pub name: String,
    /// Its address.
    pub address: SocketAddr,
    /// A DNS name or URI in the `subjectAltName` of its certificate; its common name if it has no
    /// `subjectAltName`.
    pub certificate: String,
}

/// A key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySettings {
    /// The name in the settings of clients and in logs.
    pub name: String,
    /// The place of its private half.
    pub source: KeySource,
    /// Clients may be allowed the raw operation.
    pub raw: bool,
}

/// The place of a private key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// A file.
    File {
        /// The private key in PEM: RSA, or on P-256. Or its stub, if upstream signers have the key.
        file: PathBuf,
        /// The private key of the stub, for operations that no upstream signer does.
        fallback: Option<PathBuf>,
    },
    /// A token.
    Token(KeyUri),
}

/// A PKCS#11 module, whose tokens have keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenSettings {
    /// The library.
    pub module: PathBuf,
    /// The file with the PIN of the tokens.
    pub pin_file: Option<PathBuf>,
    /// The sessions with each token, 1 to 64: the operations that it does at the same time.
    pub sessions: usize,
    /// The longest time for an operation.
    pub limit: Duration,
}

/// A client, known by its user or by its certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientSettings {
    /// The name in logs.
    pub name: String,
    /// The number of the user whose processes are this client, on the Unix socket.
    pub uid: Option<u32>,
    /// A DNS name or URI in the `subjectAltName` of the client's certificate; its common name if it
    /// has no `subjectAltName`.
    pub certificate: Option<String>,
    /// The names of its keys.
    pub keys: Vec<String>,
    /// Its operations.
    pub allow: BTreeSet<Allowed>,
    /// The maximum number of operations in a second, 1 to 1,000,000. A client that has done none for a
    /// second may do as many at once.
    pub rate: Option<u32>,
}

/// A kind of operations that a client may request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Allowed {
    /// Decryption with implicit rejection, for TLS 1.2 with RSA key exchange.
    Decrypt,
    /// RSA without padding.
    Raw,
    /// Signatures.
    Sign,
}

impl Allowed {
    /// The kinds with their names in settings.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Decrypt, "decrypt"), (Self::Raw, "raw"), (Self::Sign, "sign")];
}

/// The bounds that concern the clients of a signer. Times are checked every 100 ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum number of open connections; further ones are closed at once.
    pub connections_max: usize,
    /// The maximum number of requests of one connection in a turn. Further ones wait in the
    /// connection.
    pub requests_max: usize,
    /// The longest body of a frame, in bytes.
    pub frame_bytes_max: usize,
    /// The longest time from accepting a connection to the end of its handshake.
    pub handshake: Duration,
    /// The longest time without a whole request.
    pub idle: Duration,
    /// The longest time in which a client accepts no bytes of an answer.
    pub write: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 1024,
            requests_max: 64,
            frame_bytes_max: 4096,
            handshake: Duration::from_secs(10),
            idle: Duration::from_secs(3600),
            write: Duration::from_secs(10),
        }
    }
}

/// The maximum number of worker threads.
pub(crate) const WORKERS_MAX: usize = 256;

/// The maximum rate of a client, in operations a second.
const RATE_MAX: u32 = 1_000_000;

/// The maximum number of upstream signers.
const UPSTREAMS_MAX: usize = 4;

/// The maximum number of sessions with a token.
const SESSIONS_MAX: usize = 64;

/// The maximum of `relay.limit` and `pkcs11.limit`.
const OPERATION_MAX: Duration = Duration::from_secs(60);

/// The maximum of `relay.hedge_percent_max`: more would double the load of signers that are slow because
/// of their load.
const HEDGE_PERCENT_MAX: u32 = 50;

/// The limit of all waits.
const WAIT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

impl Config {
    /// Checks everything that needs no file and no socket.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.unix.is_none() && self.tls.is_none() {
            return Err(Error::setting("unix", "no listener: give `unix`, [tls], or both"));
        }
        if self.unix_mode > 0o777 {
            return Err(Error::setting("unix_mode", "give permissions such as \"0660\""));
        }
        if !(1..=WORKERS_MAX).contains(&self.workers) {
            let why = format!("{} workers: give a number from 1 to {WORKERS_MAX}", self.workers);
            return Err(Error::setting("workers", why));
        }
        if self.unit == UnitKind::Gpu && self.seccomp {
            let why = "the filter refuses the system calls of the GPU's driver: set `seccomp = false` \
                       too";
            return Err(Error::setting("unit", why));
        }
        if self.keys.is_empty() {
            return Err(Error::setting(
                "key",
                "no key: add a table [[key]] with `name`, and `file` or `pkcs11`",
            ));
        }
        if self.clients.is_empty() {
            let why = "no client: add a table [[client]] with `name`, `uid` or `certificate`, and \
                       `keys`";
            return Err(Error::setting("client", why));
        }
        let is_rate = |rate: &u32| (1..=RATE_MAX).contains(rate);
        if self.clients.iter().filter_map(|client| client.rate).any(|rate| !is_rate(&rate)) {
            let why = format!("give a number of operations a second from 1 to {RATE_MAX}");
            return Err(Error::setting("client.rate", why));
        }
        if let Some(relay) = &self.relay {
            relay.check()?;
        }
        if let Some(tokens) = &self.tokens {
            tokens.check()?;
            if self.seccomp {
                let why = "the filter refuses the system calls of PKCS#11 modules: set `seccomp = false` \
                           too";
                return Err(Error::setting("pkcs11.module", why));
            }
        } else if self.keys.iter().any(|key| matches!(key.source, KeySource::Token(_))) {
            let why = "there is no [pkcs11]: add it, with `module` and `pin_file`";
            return Err(Error::setting("key.pkcs11", why));
        }
        self.limits.check()
    }
}

impl RelaySettings {
    fn check(&self) -> Result<(), Error> {
        let count = self.upstreams.len();
        if !(1..=UPSTREAMS_MAX).contains(&count) {
            let why = format!("{count} signers: give 1 to {UPSTREAMS_MAX} tables [[upstream]]");
            return Err(Error::setting("upstream", why));
        }
        for (at, one) in self.upstreams.iter().enumerate() {
            let others = || self.upstreams[..at].iter();
            if one.name.is_empty() || others().any(|other| other.name == one.name) {
                let why = "it is empty, or another signer has the same: give each its own";
                return Err(Error::setting("upstream.name", why));
            }
            if others().any(|other| other.address == one.address) {
                let why = format!("{} is there twice: leave one out", one.address);
                return Err(Error::setting("upstream.address", why));
            }
            if one.certificate.is_empty() {
                let why = "give the name in the certificate of the signer";
                return Err(Error::setting("upstream.certificate", why));
            }
        }
        if self.limit.is_zero() || self.limit > OPERATION_MAX {
            let why = "give a time above 0, at most a minute (60)";
            return Err(Error::setting("relay.limit", why));
        }
        if self.hedge_after.is_some_and(|after| after.is_zero() || after >= self.limit) {
            let why = "give a time above 0 and below `relay.limit`";
            return Err(Error::setting("relay.hedge_after", why));
        }
        if self.hedge_percent_max > HEDGE_PERCENT_MAX {
            let why = format!("give a number from 0 to {HEDGE_PERCENT_MAX}");
            return Err(Error::setting("relay.hedge_percent_max", why));
        }
        Ok(())
    }
}

impl TokenSettings {
    fn check(&self) -> Result<(), Error> {
        if !(1..=SESSIONS_MAX).contains(&self.sessions) {
            let why = format!("give a number from 1 to {SESSIONS_MAX}");
            return Err(Error::setting("pkcs11.sessions", why));
        }
        if self.limit.is_zero() || self.limit > OPERATION_MAX {
            let why = "give a time above 0, at most a minute (60)";
            return Err(Error::setting("pkcs11.limit", why));
        }
        Ok(())
    }
}

impl Limits {
    fn check(&self) -> Result<(), Error> {
        let times = [("handshake", self.handshake), ("idle", self.idle), ("write", self.write)];
        for (name, time) in times {
            if time.is_zero() || time > WAIT_MAX {
                let why = "give a time above 0, at most a day (86400)";
                return Err(Error::setting(format!("limits.{name}"), why));
            }
        }
        let numbers = [
            ("connections_max", self.connections_max, 1..=1 << 16),
            ("requests_max", self.requests_max, 1..=1 << 10),
            // the longest key has 1024 bytes, and other items some hundred more; the answer to a ping
            // has its payload, and fits a frame
            ("frame_bytes_max", self.frame_bytes_max, 1536..=0x8000),
        ];
        for (name, number, allowed) in numbers {
            if !allowed.contains(&number) {
                let why = format!("give a number from {} to {}", allowed.start(), allowed.end());
                return Err(Error::setting(format!("limits.{name}"), why));
            }
        }
        Ok(())
    }
}
