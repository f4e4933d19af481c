//! Starting and stopping a server.

use core::fmt;
use core::net::SocketAddr;
use core::sync::atomic::Ordering;
use std::net;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

use mio::{Poll, Waker};

use crate::config::Config;
use crate::counters::Counters;
use crate::error::Error;
use crate::kinds::KeyKind;
use crate::listener::listen;
use crate::log::{Log, SCHEMA, StartLine, now_us};
use crate::setup::Setup;
use crate::worker::{WAKE, work};

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
        let mut setup = Setup::new(config)?;
        let (address, count) = (setup.config.address, setup.config.workers);
        let (address, sockets) = listen(address, count).map_err(Error::listen(address))?;
        setup.log = start_log(&setup, address)?;
        let setup = Arc::new(setup);
        let mut running = Running { address, setup, workers: Vec::new() };
        let (ready_sender, ready) = mpsc::channel();
        for (index, socket) in sockets.into_iter().enumerate() {
            running.spawn(index, net::TcpListener::from(socket), ready_sender.clone())?;
        }
        drop(ready_sender);
        for _ in 0..count {
            let panicked = |_| Error::new("a worker panicked during its preparation");
            ready.recv().map_err(panicked)??;
        }
        Ok(running)
    }
}

/// Starts the access log, if the configuration names one.
fn start_log(setup: &Setup, address: SocketAddr) -> Result<Option<Log>, Error> {
    let config = &setup.config;
    let start = StartLine {
        time_us: now_us(),
        schema: SCHEMA,
        address: address.to_string(),
        engine: config.engine.name().to_owned(),
        provider: config.engine.provider().to_owned(),
        key: setup.credentials.kind.to_string(),
        workers: config.workers as u64,
        openssl: openssl::version::version().to_owned(),
    };
    config.access_log.as_deref().map(|path| Log::start(path, start)).transpose()
}

/// A running server. Dropping it stops it.
pub struct Running {
    address: SocketAddr,
    setup: Arc<Setup>,
    workers: Vec<(Waker, JoinHandle<u64>)>,
}

impl Running {
    /// Starts a worker's thread. The thread reports to `ready` that the worker is prepared, or why
    /// the preparation failed.
    fn spawn(
        &mut self,
        index: usize,
        socket: net::TcpListener,
        ready: mpsc::Sender<Result<(), Error>>,
    ) -> Result<(), Error> {
        let poll = Poll::new().map_err(Error::system("an event queue"))?;
        let waker = Waker::new(poll.registry(), WAKE).map_err(Error::system("a waker"))?;
        let setup = Arc::clone(&self.setup);
        let thread = thread::Builder::new()
            .name(format!("worker-{index}"))
            .spawn(move || work(index, socket, poll, &setup, ready))
            .map_err(Error::system("a worker thread"))?;
        self.workers.push((waker, thread));
        Ok(())
    }

    /// Returns the address that the server listens on, with the chosen port.
    #[must_use]
    pub const fn addr(&self) -> SocketAddr {
        self.address
    }

    /// Returns the kind of the server's key.
    #[must_use]
    pub fn key_kind(&self) -> KeyKind {
        self.setup.credentials.kind
    }

    /// Returns the counters.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.setup.counters()
    }

    /// Stops the server: closes its connections and writes the log.
    #[must_use = "the report tells what was cut off or lost"]
    pub fn stop(mut self) -> Report {
        self.end()
    }

    fn end(&mut self) -> Report {
        self.setup.is_stopping.store(true, Ordering::Release);
        let (mut connections_cut, mut workers_lost) = (0, 0);
        for (waker, _) in &self.workers {
            // Fails only if the worker has ended.
            let _ = waker.wake();
        }
        for (_, thread) in self.workers.drain(..) {
            match thread.join() {
                Ok(cut) => connections_cut += cut,
                Err(_) => workers_lost += 1, // the panic has been printed
            }
        }
        let is_written = self.setup.log.as_ref().is_none_or(Log::finish);
        Report {
            log_complete: is_written && workers_lost == 0,
            counters: self.setup.counters(),
            connections_cut,
            workers_lost,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.setup.is_stopping() {
            self.end();
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
    /// The number of handshakes, requests and responses that were cut off.
    pub connections_cut: u64,
    /// The number of workers that panicked; anything but zero is a bug.
    pub workers_lost: usize,
    /// Every line of the access log was written, including the stop line; true if there is no log.
    pub log_complete: bool,
}

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::io::{self, Read, Write};
    use std::net::TcpStream;
    use std::time::Instant;

    use openssl::ssl::{Ssl, SslContext, SslMethod, SslStream};

    use super::*;
    use crate::{Engine, Failure};

    /// Keeps what a client sends.
    struct Sent(Vec<u8>);

    impl Read for Sent {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::WouldBlock.into())
        }
    }

    impl Write for Sent {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn client_hello() -> Vec<u8> {
        let context = SslContext::builder(SslMethod::tls_client()).unwrap().build();
        let mut client = SslStream::new(Ssl::new(&context).unwrap(), Sent(Vec::new())).unwrap();
        client.connect().unwrap_err();
        client.get_ref().0.clone()
    }

    /// Clients that give up while they wait for an overloaded server.
    #[test]
    fn a_client_that_has_closed_before_its_handshake_costs_no_signature() {
        const CLIENTS: u64 = 20;
        let setup = Setup::new(Config { engine: Engine::Tollgate, ..Config::default() }).unwrap();
        let (address, mut sockets) = listen(setup.config.address, 1).unwrap();
        let hello = client_hello();
        for _ in 0..CLIENTS {
            TcpStream::connect(address).unwrap().write_all(&hello).unwrap();
        }
        let setup = Arc::new(setup);
        let mut running = Running { address, setup, workers: vec![] };
        let (ready, _) = mpsc::channel();
        running.spawn(0, sockets.remove(0).into(), ready).unwrap();
        let since = Instant::now();
        while running.counters().failed(Failure::Closed) < CLIENTS {
            assert!(since.elapsed() < Duration::from_secs(20));
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(running.stop().counters.signer.operations.unwrap().signatures, 0);
    }
}
