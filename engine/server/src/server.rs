//! Starting and stopping a server.

use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;
use std::sync::{Arc, mpsc};
use std::time::Instant;
use std::{net, thread};

use crate::certificate::Credentials;
use crate::config::Config;
use crate::counters::Counters;
use crate::error::{Error, Unavailable, WAIT_MAX};
use crate::kinds::KeyKind;
use crate::listener::Listen;
use crate::log::Writer;
use crate::plain::{Pages, PlainHttp};
use crate::proxy::Checker;
use crate::setup::Setup;
use crate::workers::Workers;

/// Additional time for a stop, to write the log and to end the threads.
const STOP_MARGIN: Duration = Duration::from_secs(3);

/// Starts servers.
#[derive(Debug)]
pub struct Server;

impl Server {
    /// Starts a server. It accepts connections when the function returns.
    ///
    /// # Errors
    ///
    /// Contradictory settings, an unusable certificate or key, a key that the engine refuses, a
    /// port in use, missing permissions, or no free descriptors. The message is one line that says
    /// what to do. No threads are left running.
    pub fn start(config: Config) -> Result<Running, Error> {
        let setup = Arc::new(Setup::new(config)?);
        let config = &setup.config;
        let identities = setup.identities.newest();
        let certificate_pem = identities.default().chain_pem()?;
        setup.check(&identities, None)?;
        let refuse = |why| Unavailable::Listen { at: config.address.clone(), why };
        let (address, sockets) =
            config.address.open(config.workers, config.shared_port).map_err(refuse)?;
        let mut workers = Workers::default();
        let (ready_to, ready) = mpsc::channel();
        for (index, socket) in sockets.into_iter().enumerate() {
            workers.spawn(index, net::TcpListener::from(socket), &setup, ready_to.clone())?;
        }
        drop(ready_to);
        workers.wait_until_ready(&ready)?;
        let plain = |at: &Option<Listen>, pages| {
            at.as_ref().map(|at| PlainHttp::start(at, pages)).transpose()
        };
        let shared = Arc::clone(&setup.shared);
        let metrics = plain(&config.metrics, Pages::Metrics(Box::new(move || shared.metrics())))?;
        let redirect = plain(&config.redirect, Pages::Redirect(address.port()))?;
        let checker = checker(&setup)?;
        let writer = workers.begin(&setup, address)?;
        Ok(Running {
            address,
            certificate_pem,
            kind: identities.default().key.kind,
            setup,
            workers,
            checker,
            metrics,
            redirect,
            writer,
        })
    }

    /// Checks everything that a start would check, except for addresses and the access log, and
    /// returns the kind of the key.
    ///
    /// # Errors
    ///
    /// As [`Server::start`].
    pub fn check(config: Config) -> Result<KeyKind, Error> {
        let setup = Setup::new(config)?;
        let identities = setup.identities.newest();
        setup.check(&identities, None)?;
        Ok(identities.default().key.kind)
    }
}

/// Starts the checks of back ends, if there are any.
fn checker(setup: &Setup) -> Result<Option<Checker>, Error> {
    let check = setup.config.proxy.as_ref().and_then(|proxy| proxy.health.clone());
    let (backends, notices) = (setup.shared.backends(), setup.shared.notices());
    check.map(|check| Checker::start(check, Arc::clone(backends), Arc::clone(notices))).transpose()
}

/// A running server. Dropping it stops it at once.
pub struct Running {
    address: SocketAddr,
    certificate_pem: Vec<u8>,
    kind: KeyKind,
    setup: Arc<Setup>,
    workers: Workers,
    checker: Option<Checker>,
    metrics: Option<PlainHttp>,
    redirect: Option<PlainHttp>,
    writer: Option<Writer>,
}

impl Running {
    /// Returns the address that the server listens on, with the chosen port.
    #[must_use]
    pub const fn addr(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address of the metrics, with the chosen port.
    #[must_use]
    pub fn metrics_addr(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().map(|page| page.address)
    }

    /// Returns the address of the redirects, with the chosen port.
    #[must_use]
    pub fn redirect_addr(&self) -> Option<SocketAddr> {
        self.redirect.as_ref().map(|page| page.address)
    }

    /// Returns the certificate chain in PEM, for a client that should trust a self-signed one.
    #[must_use]
    pub fn certificate_pem(&self) -> &[u8] {
        &self.certificate_pem
    }

    /// Returns the kind of the server's key.
    #[must_use]
    pub const fn key_kind(&self) -> KeyKind {
        self.kind
    }

    /// Returns the counters.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.setup.shared.counters()
    }

    /// Reads the files of certificates, their keys and ticket keys again, and uses them for new
    /// connections. If one of them is not usable, nothing changes. Certificates and keys whose files
    /// have not changed stay as they are, and so does a self-signed one.
    ///
    /// # Errors
    ///
    /// As [`Server::start`], about these files.
    pub fn reload(&self) -> Result<(), Error> {
        let old = self.setup.identities.newest();
        let identities = Arc::new(self.setup.config.identities(Some(&old))?);
        let is_new = identities.new_since(Some(&old)).next().is_some();
        if is_new {
            self.setup.check(&identities, Some(&old))?;
        }
        if let Some(file) = &self.setup.config.ticket_keys {
            self.setup.tickets.reload(file)?;
        }
        let notices = identities.new_since(Some(&old)).filter_map(Credentials::notice);
        notices.for_each(|notice| self.setup.shared.say(&notice));
        // also without news: a worker may have failed to use these certificates before
        self.setup.identities.replace(identities);
        self.workers.wake();
        Ok(())
    }

    /// Returns whether every worker turns its event loop within `limit`.
    #[must_use]
    pub fn responds(&self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit.min(WAIT_MAX);
        let shared = &self.setup.shared;
        let turns = || -> Vec<u64> {
            (0..self.setup.config.workers).map(|at| shared.tally(at).loop_turns.read()).collect()
        };
        let before = turns();
        self.workers.wake();
        loop {
            if turns().iter().zip(&before).all(|(now, then)| now > then) {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Opens the access log again, after another program has moved it. The new file begins with
    /// the start line of the old one. If it cannot be opened, the old one stays in use, with a
    /// [`Notice`](crate::Notice).
    pub fn reopen_log(&self) {
        if let Some(writer) = &self.writer {
            writer.reopen();
        }
    }

    /// Stops the server. It accepts no new connections, and answers requests that open connections
    /// have sent until `limit` has passed; then it closes the remaining connections and writes the
    /// log. Takes at most three seconds longer than `limit`, and `limit` is at most a day.
    #[must_use = "the report tells what was cut off or lost"]
    pub fn stop(mut self, limit: Duration) -> Report {
        self.end(limit)
    }

    fn end(&mut self, limit: Duration) -> Report {
        let begun = Instant::now();
        let deadline = begun + limit.min(WAIT_MAX);
        self.setup.shared.stop(deadline);
        self.workers.wake();
        self.checker = None;
        (self.metrics, self.redirect) = (None, None);
        let (connections_cut, workers_lost) = self.workers.join(deadline + STOP_MARGIN);
        let log = self.writer.take();
        let log_complete = log.is_none_or(|log| log.finish(deadline + STOP_MARGIN));
        let counters = self.setup.shared.counters();
        Report {
            log_complete: log_complete && counters.log_lines_lost == 0,
            counters,
            connections_cut,
            workers_lost,
            took: begun.elapsed(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.setup.shared.stop_deadline().is_none() {
            self.end(Duration::ZERO);
        }
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("address", &self.address).finish_non_exhaustive()
    }
}

/// The result of stopping a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The final counters.
    pub counters: Counters,
    /// The number of connections that were cut off because they had not ended within the limit.
    pub connections_cut: u64,
    /// The number of workers that panicked or did not end; anything but zero is a bug.
    pub workers_lost: usize,
    /// Every line of the access log was written, including the stop line; true if there is no log.
    pub log_complete: bool,
    /// The duration of the stop.
    pub took: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_servers_are_send_and_sync() {
        const fn shareable<T: Send + Sync>() {}
        const { shareable::<Running>() };
    }
}
