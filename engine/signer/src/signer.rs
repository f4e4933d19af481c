//! Starting and stopping a signer.

use core::net::SocketAddr;
use core::sync::atomic::Ordering;
use core::time::Duration;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use mio::Waker;
use tollgate_cuda::Device;

use crate::audit::Audit;
use crate::config::{Config, UnitKind};
use crate::counters::Counts;
use crate::engine::Engine;
use crate::error::{Error, Say};
use crate::gpu::{self, Offloading};
use crate::listener::{LocalSocket, tcp};
use crate::metrics;
use crate::metrics_page::MetricsPage;
use crate::policy::Policy;
use crate::shared::Shared;
use crate::worker::{Listeners, Worker};

/// A signer that can start.
#[derive(Debug)]
pub struct Signer;

impl Signer {
    /// Starts a signer; `say` prints lines for its operator. A GPU serves this process only, and
    /// none of its children.
    ///
    /// # Errors
    ///
    /// A setting, a key or a certificate is not usable, or the system lacks a resource, such as the
    /// GPU.
    pub fn start(
        config: Config,
        say: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Running, Error> {
        config.check()?;
        let policy = Policy::load(&config, None)?;
        let gpu = match config.unit {
            UnitKind::Gpu => Some(gpu::open(config.workers)?),
            UnitKind::Lanes => None,
        };
        Self::start_with(config, policy, gpu, Arc::new(say))
    }

    /// Starts a signer on this device in place of the first GPU, such as an emulation in tests.
    /// `policy` decides which batches go to it.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn start_on(
        config: Config,
        device: Box<dyn Device>,
        policy: tollgate_cuda::Policy,
        say: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Running, Error> {
        config.check()?;
        let clients = Policy::load(&config, None)?;
        Self::start_with(config, clients, Some(Offloading { device, policy }), Arc::new(say))
    }

    fn start_with(
        config: Config,
        policy: Policy,
        gpu: Option<Offloading>,
        say: Say,
    ) -> Result<Running, Error> {
        let engine = Engine::start(config.workers, gpu, &say)?;
        let audit = config.audit_log.as_deref().map(Audit::open).transpose()?;
        let local = config.unix.as_deref().map(|path| LocalSocket::open(path, config.unix_mode));
        let local = local.transpose()?;
        let remote = config.tls.as_ref().map(|tls| tcp("tls.address", tls.address)).transpose()?;
        let shared = Arc::new(Shared::new(policy, config.workers, engine, audit, say));
        let (mut workers, mut wakers) = (Vec::new(), Vec::new());
        for number in 0..config.workers {
            let failed = |why| Error::system("starting a worker")(why);
            let listeners = Listeners {
                unix: local
                    .as_ref()
                    .map(|local| local.listener.try_clone())
                    .transpose()
                    .map_err(failed)?
                    .map(mio::net::UnixListener::from_std),
                tcp: remote
                    .as_ref()
                    .map(|(remote, _)| remote.try_clone())
                    .transpose()
                    .map_err(failed)?
                    .map(mio::net::TcpListener::from_std),
            };
            let (worker, waker) =
                Worker::new(number, listeners, Arc::clone(&shared)).map_err(failed)?;
            let thread = thread::Builder::new().name(format!("signer {number}"));
            workers.push(thread.spawn(move || worker.run()).map_err(failed)?);
            wakers.push(waker);
        }
        let page = |at| {
            let shared = Arc::clone(&shared);
            MetricsPage::start(at, Box::new(move || metrics::text(&shared.counts())))
        };
        let metrics = config.metrics.map(page).transpose()?;
        let address = remote.map(|(_, address)| address);
        Ok(Running { config, shared, address, local, workers, wakers, metrics })
    }

    /// Checks everything that a start would check, except for sockets, the audit log and the GPU.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn check(config: &Config) -> Result<(), Error> {
        config.check()?;
        Policy::load(config, None).map(drop)
    }
}

/// A running signer. Dropping it stops it at once.
pub struct Running {
    config: Config,
    shared: Arc<Shared>,
    address: Option<SocketAddr>,
    local: Option<LocalSocket>,
    workers: Vec<JoinHandle<usize>>,
    wakers: Vec<Arc<Waker>>,
    metrics: Option<MetricsPage>,
}

/// The result of [`Running::stop`].
#[derive(Clone, Debug)]
pub struct Report {
    /// The counts since the start.
    pub counts: Counts,
    /// Connections with requests that were not answered in time.
    pub connections_cut: usize,
    /// Workers that panicked.
    pub workers_lost: usize,
}

impl Running {
    /// Returns the address of TLS, with the chosen port.
    #[must_use]
    pub const fn addr(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Returns the address of the metrics, with the chosen port.
    #[must_use]
    pub fn metrics_addr(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().map(|page| page.address)
    }

    /// Returns the counts since the start.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.shared.counts()
    }

    /// Takes the keys, clients, certificates and limits of new settings. They hold for open
    /// connections too: a connection whose peer is no client any more is closed. If one of them is
    /// not usable, nothing changes.
    ///
    /// # Errors
    ///
    /// As [`Signer::start`]; a setting differs that needs a new start.
    pub fn reload(&self, config: &Config) -> Result<(), Error> {
        config.check()?;
        let address = |config: &Config| config.tls.as_ref().map(|tls| tls.address);
        let differs = [
            ("unix", config.unix != self.config.unix),
            ("unix_mode", config.unix_mode != self.config.unix_mode),
            ("tls.address", address(config) != address(&self.config)),
            ("audit_log", config.audit_log != self.config.audit_log),
            ("metrics", config.metrics != self.config.metrics),
            ("workers", config.workers != self.config.workers),
            ("unit", config.unit != self.config.unit),
            ("seccomp", config.seccomp != self.config.seccomp),
        ];
        if let Some((setting, _)) = differs.into_iter().find(|(_, differs)| *differs) {
            return Err(Error::setting(setting, "it has changed: start the signer again for it"));
        }
        let (_, old) = self.shared.policy();
        self.shared.replace(Policy::load(config, Some(&old))?);
        self.wake();
        Ok(())
    }

    /// Opens the audit log again, after another program has moved it.
    ///
    /// # Errors
    ///
    /// It cannot be opened; the old one stays in use.
    pub fn reopen_log(&self) -> Result<(), Error> {
        self.shared.audit.as_ref().map_or(Ok(()), Audit::reopen)
    }

    /// Returns whether each worker turns its event loop within `limit`.
    #[must_use]
    pub fn responds(&self, limit: Duration) -> bool {
        let turns = || -> Vec<u64> {
            self.shared.turns.iter().map(|turns| turns.load(Ordering::Relaxed)).collect()
        };
        let deadline = Instant::now() + limit.min(Duration::from_secs(3600));
        let before = turns();
        self.wake();
        while turns().iter().zip(&before).any(|(now, before)| now == before) {
            if Instant::now() >= deadline {
                return false;
            }
            thread::sleep(Duration::from_millis(1));
        }
        true
    }

    /// Stops the signer: it accepts no connections, answers the requests that have come until
    /// `limit` has passed, and closes all connections.
    #[must_use]
    pub fn stop(mut self, limit: Duration) -> Report {
        let (connections_cut, workers_lost) = self.end(Instant::now() + limit);
        Report { counts: self.counts(), connections_cut, workers_lost }
    }

    fn end(&mut self, deadline: Instant) -> (usize, usize) {
        self.local = None;
        self.shared.stop(deadline);
        self.wake();
        let ended: Vec<_> = self.workers.drain(..).map(JoinHandle::join).collect();
        let cut = ended.iter().filter_map(|ended| ended.as_ref().ok()).sum();
        (cut, ended.iter().filter(|ended| ended.is_err()).count())
    }

    fn wake(&self) {
        // A worker that has ended does not wake.
        self.wakers.iter().for_each(|waker| drop(waker.wake()));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end(Instant::now());
    }
}
