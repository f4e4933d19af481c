//! The configuration of a signer: the tables and keys of its file, which the documentation of
//! `tollgate signer` describes.

use core::net::SocketAddr;
use core::time::Duration;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::thread;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::error::Error;

/// The configuration of a signer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The path of the Unix socket.
    pub unix: Option<PathBuf>,
    /// The permissions of the socket's file, such as 0o660.
    #[serde(deserialize_with = "octal")]
    pub unix_mode: u32,
    /// The listener with TLS.
    pub tls: Option<TlsSettings>,
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
    #[serde(rename = "key")]
    pub keys: Vec<KeySettings>,
    /// The clients.
    #[serde(rename = "client")]
    pub clients: Vec<ClientSettings>,
    /// Bounds and time limits.
    pub limits: Limits,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            unix: None,
            unix_mode: 0o660,
            tls: None,
            audit_log: None,
            metrics: None,
            workers: thread::available_parallelism().map_or(1, usize::from),
            unit: UnitKind::Lanes,
            seccomp: true,
            keys: Vec::new(),
            clients: Vec::new(),
            limits: Limits::default(),
        }
    }
}

/// A kind of unit that the queue may prefer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UnitKind {
    /// The first GPU, for large batches of RSA operations. The lanes do everything else, and repeat
    /// the operations of a GPU that fails.
    Gpu,
    /// The lanes of the processor.
    Lanes,
}

/// A listener with TLS 1.3, whose clients have certificates.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
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

/// A key.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeySettings {
    /// The name in the settings of clients and in logs.
    pub name: String,
    /// The private key in PEM: RSA, or on P-256.
    pub file: PathBuf,
    /// Clients may be allowed the raw operation.
    #[serde(default)]
    pub raw: bool,
}

/// A client, known by its user or by its certificate.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
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
    #[serde(default = "sign")]
    pub allow: BTreeSet<Allowed>,
    /// The maximum number of operations in a second, 1 to 1,000,000. A client that has done none
    /// for a second may do as many at once.
    pub rate: Option<u32>,
}

/// A kind of operations that a client may request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Allowed {
    /// Decryption with implicit rejection, for TLS 1.2 with RSA key exchange.
    Decrypt,
    /// RSA without padding.
    Raw,
    /// Signatures.
    Sign,
}

fn sign() -> BTreeSet<Allowed> {
    BTreeSet::from([Allowed::Sign])
}

/// The bounds that concern the clients of a signer. Times are checked every 100 ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// The maximum number of open connections; further ones are closed at once.
    pub connections_max: usize,
    /// The longest time from accepting a connection to the end of its handshake.
    #[serde(deserialize_with = "seconds")]
    pub handshake: Duration,
    /// The longest time without a whole request.
    #[serde(deserialize_with = "seconds")]
    pub idle: Duration,
    /// The longest time in which a client accepts no bytes of an answer.
    #[serde(deserialize_with = "seconds")]
    pub write: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 1024,
            handshake: Duration::from_secs(10),
            idle: Duration::from_secs(3600),
            write: Duration::from_secs(10),
        }
    }
}

/// Reads a time in seconds, which may have decimals.
fn seconds<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    Duration::try_from_secs_f64(f64::deserialize(from)?).map_err(D::Error::custom)
}

/// Reads permissions as octal digits.
fn octal<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    let text = String::deserialize(from)?;
    let is_octal = (3..=4).contains(&text.len()) && text.bytes().all(|digit| digit < b'8');
    let mode = u32::from_str_radix(&text, 8).ok().filter(|mode| is_octal && *mode <= 0o777);
    let why = "these are no permissions: give three octal digits, such as \"0660\"";
    mode.ok_or_else(|| D::Error::custom(why))
}

/// The maximum number of worker threads.
pub(crate) const WORKERS_MAX: usize = 256;

/// The maximum rate of a client, in operations a second.
const RATE_MAX: u32 = 1_000_000;

/// The maximum number of connections.
const CONNECTIONS_MAX: usize = 1 << 16;

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
            let why = "the filter refuses the system calls of the GPU's driver: set `seccomp = \
                       false` too";
            return Err(Error::setting("unit", why));
        }
        if self.keys.is_empty() {
            let why = "no key: add a table [[key]] with `name` and `file`";
            return Err(Error::setting("key", why));
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
        self.limits.check()
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
        if !(1..=CONNECTIONS_MAX).contains(&self.connections_max) {
            let why = format!("give a number from 1 to {CONNECTIONS_MAX}");
            return Err(Error::setting("limits.connections_max", why));
        }
        Ok(())
    }
}
