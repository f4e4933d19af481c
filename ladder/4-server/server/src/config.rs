//! The configuration of a server.

use core::net::{Ipv4Addr, SocketAddr};
use core::time::Duration;
use std::path::PathBuf;

use crate::certificate::Certificate;
use crate::error::Error;
use crate::kinds::{Engine, KeyKind};
use crate::suite::{Group, Protocol, Suite};

/// The maximum number of worker threads in one server.
const WORKERS_MAX: usize = 1024;

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
    /// The number of worker threads, 1 to 1024; each has its own listener, event loop
    /// and TLS context.
    pub workers: usize,
    /// The logical cores, one per worker; `None` leaves the choice to the scheduler.
    pub pin: Option<Vec<usize>>,
    /// The implementation of private-key operations.
    pub engine: Engine,
    /// The certificate and its key.
    pub certificate: Certificate,
    /// The versions of TLS, at least one.
    pub protocols: Vec<Protocol>,
    /// Suites in order of preference; the server's order decides. If this list is empty, the server
    /// uses the default suites: AES-128-GCM first, and RSA key exchange last.
    pub suites: Vec<Suite>,
    /// Groups in order of preference, at least one.
    pub groups: Vec<Group>,
    /// The resumption of sessions by clients.
    pub resumption: Resumption,
    /// The folder whose files are served, if any.
    pub root: Option<PathBuf>,
    /// The access log to append to, if any.
    pub access_log: Option<PathBuf>,
    /// The longest handshake, pause between requests, and request; and the longest time in which a
    /// client accepts no byte of a response. It is checked every 100 ms.
    pub time_limit: Duration,
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
            resumption: Resumption::Off,
            root: None,
            access_log: None,
            time_limit: Duration::from_secs(15),
        }
    }
}

impl Config {
    /// Checks everything that needs no certificate, file or socket.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let workers = self.workers;
        if !(1..=WORKERS_MAX).contains(&workers) {
            let text = format!("{workers} workers: give a number from 1 to {WORKERS_MAX}");
            return Err(Error::new(text));
        }
        if let Some(cores) = &self.pin
            && cores.len() != workers
        {
            return Err(Error::new(format!(
                "{} cores are given for {workers} workers: give one core per worker",
                cores.len()
            )));
        }
        if self.protocols.is_empty() {
            return Err(Error::new("no TLS version is configured: give at least one"));
        }
        if self.groups.is_empty() {
            return Err(Error::new("no group for Diffie-Hellman: give at least one"));
        }
        Ok(())
    }

    /// Returns the suites of one protocol to offer with a key of this kind, in order of preference.
    pub(crate) fn suites_of(&self, protocol: Protocol, key: KeyKind) -> Vec<Suite> {
        let mut suites = self.suites.clone();
        if suites.is_empty() {
            suites = Suite::DEFAULTS.to_vec();
        }
        suites.retain(|suite| {
            self.protocols.contains(&protocol) && suite.protocol() == protocol && suite.suits(key)
        });
        suites
    }
}
