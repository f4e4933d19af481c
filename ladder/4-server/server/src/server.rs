//! Starting and stopping a server.

use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;
use std::net;
use std::sync::{Arc, mpsc};
use std::time::Instant;

use crate::config::Config;
use crate::counters::Counters;
use crate::error::{Error, Unavailable, WAIT_MAX};
use crate::kinds::KeyKind;
use crate::listener::listen;
use crate::log::Writer;
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
        let certificate_pem = setup.credentials.chain_pem()?;
        let refuse = |why| Unavailable::Listen { at: config.address, why };
        let (address, sockets) = listen(config.address, config.workers).map_err(refuse)?;
        let mut workers = Workers::default();
        let (ready_to, ready) = mpsc::channel();
        for (index, socket) in sockets.into_iter().enumerate() {
            workers.spawn(index, net::TcpListener::from(socket), &setup, ready_to.clone())?;
        }
        drop(ready_to);
        workers.wait_until_ready(&ready)?;
        let writer = workers.serve(&setup, address)?;
        Ok(Running { address, certificate_pem, setup, workers, writer })
    }
}

/// A running server. Dropping it stops it at once.
pub struct Running {
    address: SocketAddr,
    certificate_pem: Vec<u8>,
    setup: Arc<Setup>,
    workers: Workers,
    writer: Option<Writer>,
}

impl Running {
    /// Returns the address that the server listens on, with the chosen port.
    #[must_use]
    pub const fn addr(&self) -> SocketAddr {
        self.address
    }

    /// Returns the certificate chain in PEM, for a client that should trust a self-signed one.
    #[must_use]
    pub fn certificate_pem(&self) -> &[u8] {
        &self.certificate_pem
    }

    /// Returns the kind of the server's key.
    #[must_use]
    pub fn key_kind(&self) -> KeyKind {
        self.setup.credentials.kind
    }

    /// Returns the counters.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.setup.shared.counters()
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
