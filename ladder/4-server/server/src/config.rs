//! The configuration of a server.

use core::net::{Ipv4Addr, SocketAddr};
use core::time::Duration;
use std::path::PathBuf;

use crate::certificate::Certificate;
use crate::error::{Misuse, WORKERS_MAX};
use crate::kinds::{Engine, KeyKind};
use crate::notice::Notify;
use crate::suite::{Group, Protocol, Suite};

/// The resumption of sessions by clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resumption {
    /// A cache of 20,000 sessions, which all workers share. Clients get session IDs: in TLS 1.3 as
    /// tickets, in TLS 1.2 instead of them.
    Cache,
    /// No tickets, session cache or session IDs.
    Off,
    /// Tickets, with a key that all workers share.
    Tickets,
}

/// The configuration of a server. The default listens on a free port of 127.0.0.1 with one worker
/// and a self-signed RSA-2048 certificate.
#[derive(Clone, Debug)]
pub struct Config {
    /// The address to listen on; port 0 chooses a free port.
    pub address: SocketAddr,
    /// The number of worker threads, 1 to [`WORKERS_MAX`]; each has its own listener, event loop
    /// and TLS context.
    pub workers: usize,
    /// The logical cores, one per worker; `None` leaves the choice to the scheduler.
    pub pin: Option<Vec<usize>>,
    /// The implementation of private-key operations.
    pub engine: Engine,
    /// The certificate and its key.
    pub certificate: Certificate,
    /// Trust anchors in PEM. If there are any, each client must present a certificate whose chain
    /// ends at one of them, and sign with its key; a resumed session needs neither.
    pub client_roots: Option<Vec<u8>>,
    /// The versions of TLS, at least one.
    pub protocols: Vec<Protocol>,
    /// Suites in order of preference; the server's order decides. If this list is empty, the server
    /// uses the default suites: AES-128-GCM first, no CBC.
    pub suites: Vec<Suite>,
    /// Groups in order of preference, at least one.
    pub groups: Vec<Group>,
    /// Offers suites with RSA key exchange, which lack forward secrecy. A TLS 1.2 client without
    /// `signature_algorithms` is then restricted to these suites; if they are not offered, its
    /// handshake fails.
    pub allow_rsa_kx: bool,
    /// Accepts an RSA key of 1024 bits: insecure, for comparisons with papers only.
    pub allow_rsa_1024: bool,
    /// The resumption of sessions by clients.
    pub resumption: Resumption,
    /// The folder whose files are served, if any.
    pub root: Option<PathBuf>,
    /// The access log to append to, if any.
    pub access_log: Option<PathBuf>,
    /// Bounds and time limits.
    pub limits: Limits,
    /// Receives notices of the running server.
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
            client_roots: None,
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

/// The bounds that concern the clients of a server.
///
/// Time limits are checked every 100 ms, so a wait may last that much longer. No limit may exceed a
/// day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest time from accepting a connection to the end of its handshake.
    pub handshake: Duration,
    /// The longest time between a response (or the handshake) and the first byte of the next
    /// request.
    pub idle: Duration,
    /// The longest time from the first byte of a request to its last byte.
    pub request: Duration,
    /// The longest time in which a client accepts no bytes of a response.
    pub write: Duration,
    /// The longest request line with headers, in bytes.
    pub request_bytes_max: usize,
    /// The maximum number of open connections of one worker. Further clients wait in the kernel's
    /// queue.
    pub connections_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            idle: Duration::from_secs(15),
            request: Duration::from_secs(10),
            write: Duration::from_secs(30),
            request_bytes_max: 16 * 1024,
            connections_max: 16 * 1024,
        }
    }
}

impl Config {
    /// Checks everything that needs no certificate, file or socket.
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

    /// Returns the suites of one protocol to offer with a key of this kind, in order of preference.
    pub(crate) fn suites_of(&self, protocol: Protocol, key: KeyKind) -> Vec<Suite> {
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
        ];
        Misuse::check_times(&times)?;
        if !(256..=1024 * 1024).contains(&self.request_bytes_max) {
            return Err(Misuse::RequestBytes(self.request_bytes_max));
        }
        if self.connections_max == 0 {
            return Err(Misuse::ZeroLimit("connections_max"));
        }
        Ok(())
    }
}
