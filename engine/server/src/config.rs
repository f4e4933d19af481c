//! The configuration of a server.

use core::net::{Ipv4Addr, SocketAddr};
use core::str::FromStr;
use core::time::Duration;
use std::path::PathBuf;

use crate::certificate::Certificate;
use crate::error::{Error, Misuse, WORKERS_MAX};
use crate::identities::Identities;
use crate::kinds::{Engine, KeyKind};
use crate::listener::Listen;
use crate::log::LogFormat;
use crate::notice::Notify;
use crate::proxy::Proxy;
use crate::sessions::Sessions;
use crate::spill::Spill;
use crate::suite::{Group, Protocol, Suite};
use crate::unknown_name::UnknownName;

/// The resumption of sessions by clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resumption {
    /// A cache of sessions, which all workers share and, with [`Sessions::redis`], several servers.
    /// Clients get session IDs: in TLS 1.3 as tickets, in TLS 1.2 instead of them.
    Cache,
    /// No tickets, session cache or session IDs.
    Off,
    /// Tickets, with keys that all workers share. The server makes a new one each hour, and accepts
    /// tickets of the last three, unless [`Config::ticket_keys`] is set.
    Tickets,
}

impl FromStr for Resumption {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let all = [(Self::Cache, "cache"), (Self::Off, "off"), (Self::Tickets, "tickets")];
        UnknownName::find("resumption", name, &all, |(_, name)| [name]).map(|(value, _)| value)
    }
}

/// The configuration of a server. The default listens on a free port of 127.0.0.1 with one worker
/// and a self-signed RSA-2048 certificate.
#[derive(Clone, Debug)]
pub struct Config {
    /// The address to listen on.
    pub address: Listen,
    /// Several processes of the same user may listen on [`address`](Self::address): the kernel
    /// distributes connections among them. Otherwise a port in use is an error.
    pub shared_port: bool,
    /// The number of worker threads, 1 to [`WORKERS_MAX`]; each has its own listener, event loop
    /// and TLS context.
    pub workers: usize,
    /// The logical cores, one per worker; `None` leaves the choice to the scheduler.
    pub pin: Option<Vec<usize>>,
    /// The implementation of private-key operations.
    pub engine: Engine,
    /// The certificate and its key.
    pub certificate: Certificate,
    /// Further certificates. A client that asks for a name (SNI) gets the certificates that have it
    /// in their `subjectAltName`, also as `*.example.com`: one with RSA, one with ECDSA, one with
    /// Ed25519, or several of these. Other clients get [`certificate`](Self::certificate).
    pub more_certificates: Vec<Certificate>,
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
    /// Offers HTTP/2 to clients beside HTTP/1.1.
    pub http2: bool,
    /// Offers suites with RSA key exchange, which lack forward secrecy. A TLS 1.2 client without
    /// `signature_algorithms` is then restricted to these suites; if they are not offered, its
    /// handshake fails.
    pub allow_rsa_kx: bool,
    /// Accepts an RSA key of 1024 bits: insecure, for comparisons with papers only.
    pub allow_rsa_1024: bool,
    /// Each connection begins with a header of the PROXY protocol, version 1 or 2, which has the
    /// address of the client. For servers that only a load balancer can reach: the server believes
    /// every header.
    pub proxy_protocol: bool,
    /// The resumption of sessions by clients.
    pub resumption: Resumption,
    /// The cache of sessions, with [`Resumption::Cache`].
    pub sessions: Sessions,
    /// A file with one to three ticket keys of 80 bytes, for several servers that resume each
    /// other's sessions. The first one encrypts. [`Running::reload`](crate::Running::reload) reads
    /// it again.
    pub ticket_keys: Option<PathBuf>,
    /// The folder whose files are served, if any.
    pub root: Option<PathBuf>,
    /// The kernel encrypts records (kTLS), and sends the files of [`root`](Self::root) without
    /// copying them to this process. If the kernel lacks the suite of a connection, OpenSSL encrypts.
    ///
    /// A write to a client that has gone then raises SIGPIPE. Programs in Rust ignore it; others must.
    pub kernel_tls: bool,
    /// Passes all requests on to back ends, instead of answering them.
    pub proxy: Option<Proxy>,
    /// The access log to append to, if any.
    pub access_log: Option<PathBuf>,
    /// The format of the access log.
    pub log_format: LogFormat,
    /// Passes connections on to another address, or closes them, while the load is high.
    pub spill: Option<Spill>,
    /// Address of a second listener, with plain HTTP, that answers `/metrics`. Give it an address
    /// that only the site's own machines reach.
    pub metrics: Option<Listen>,
    /// Address of a listener with plain HTTP that redirects each request to `https:` and the port
    /// of [`address`](Self::address).
    pub redirect: Option<Listen>,
    /// The program should call [`hide_memory`](crate::hide_memory()) before the server starts, and
    /// [`confine`](crate::confine()) once it has started. The server does not do so itself, because
    /// its process may have more to do.
    pub seccomp: bool,
    /// Bounds and time limits.
    pub limits: Limits,
    /// Receives notices of the running server.
    pub notify: Notify,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into(),
            shared_port: false,
            workers: 1,
            pin: None,
            engine: Engine::OpenSsl,
            certificate: Certificate::default(),
            more_certificates: Vec::new(),
            client_roots: None,
            protocols: vec![Protocol::Tls12, Protocol::Tls13],
            suites: Vec::new(),
            groups: vec![Group::X25519, Group::P256],
            http2: false,
            allow_rsa_kx: false,
            allow_rsa_1024: false,
            proxy_protocol: false,
            resumption: Resumption::Off,
            sessions: Sessions::default(),
            ticket_keys: None,
            root: None,
            kernel_tls: false,
            proxy: None,
            access_log: None,
            log_format: LogFormat::Json,
            metrics: None,
            redirect: None,
            spill: None,
            seccomp: false,
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
    /// The longest time from the first byte of a request to its last byte, including a body that is
    /// skipped.
    pub request: Duration,
    /// The longest time in which a client accepts no bytes of a response.
    pub write: Duration,
    /// The longest request line with headers, and the longest body that is skipped, in bytes.
    pub request_bytes_max: usize,
    /// The maximum number of open connections of one worker. Further clients wait in the kernel's
    /// queue.
    pub connections_max: usize,
    /// The maximum number of open connections of one client address, or of one IPv6 network of 64
    /// bits; further ones are closed at once. `None` sets no limit.
    pub connections_per_address: Option<usize>,
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
            connections_per_address: None,
        }
    }
}

impl Config {
    /// Reads all certificates and keys; `old` has those that were read before.
    pub(crate) fn identities(&self, old: Option<&Identities>) -> Result<Identities, Error> {
        Identities::load([&self.certificate].into_iter().chain(&self.more_certificates), old)
    }

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
        if self.ticket_keys.is_some() && self.resumption == Resumption::Off {
            return Err(Misuse::TicketKeys);
        }
        self.sessions.check()?;
        if self.sessions != Sessions::default() && self.resumption != Resumption::Cache {
            return Err(Misuse::SessionsWithoutCache);
        }
        if self.sessions.redis.is_some() && self.ticket_keys.is_none() {
            return Err(Misuse::RedisWithoutKeys);
        }
        if self.kernel_tls && self.root.is_none() {
            return Err(Misuse::KernelTlsWithoutRoot);
        }
        if let Some(proxy) = &self.proxy {
            if self.root.is_some() {
                return Err(Misuse::ProxyAndRoot);
            }
            proxy.check()?;
        }
        if let Some(spill) = &self.spill {
            spill.check(&self.address)?;
        }
        self.limits.check()
    }

    /// Returns the suites of one protocol to offer with keys of these kinds, in order of preference.
    pub(crate) fn suites_of(&self, protocol: Protocol, keys: &[KeyKind]) -> Vec<Suite> {
        let mut suites = self.suites.clone();
        if suites.is_empty() {
            suites = Suite::defaults(self.allow_rsa_kx);
        }
        suites.retain(|suite| {
            self.protocols.contains(&protocol)
                && suite.protocol() == protocol
                && keys.iter().any(|key| suite.suits(*key))
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
        Misuse::of_times(&times)?;
        if !(256..=1024 * 1024).contains(&self.request_bytes_max) {
            return Err(Misuse::RequestBytes(self.request_bytes_max));
        }
        if self.connections_max == 0 {
            return Err(Misuse::ZeroLimit("connections_max"));
        }
        if self.connections_per_address == Some(0) {
            return Err(Misuse::ZeroLimit("connections_per_address"));
        }
        Ok(())
    }
}
