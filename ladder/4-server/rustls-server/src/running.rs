//! The threads of a server, started and stopped.

use core::net::{Ipv4Addr, SocketAddr};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use rustix::thread::{CpuSet, sched_setaffinity};
use rustls::ServerConfig;
use tollgate_load::thread_cpu;
use tollgate_queue::{PrivateJob, Queue};

use crate::config::{Config, refused};
use crate::connection::serve;
use crate::counts::{CountReferee, Counts};

/// Pause of a thread after `accept` has failed.
const PAUSE: Duration = Duration::from_millis(10);

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    engine: Option<Queue<PrivateJob>>,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// The shared state of the threads.
#[derive(Debug)]
struct Shared {
    config: Arc<ServerConfig>,
    counts: Arc<Counts>,
    /// CPU time of each thread at the end of its last connection.
    cpu_ns: Vec<AtomicU64>,
    listener: TcpListener,
    stopping: AtomicBool,
}

impl Running {
    /// Starts a server; when this returns it accepts connections.
    ///
    /// # Errors
    ///
    /// In one line: the key is not usable, a core does not exist, or there is no thread or port.
    pub fn start(config: &Config) -> io::Result<Self> {
        if config.threads == 0 {
            return Err(refused("a server without threads: give at least 1"));
        }
        let engine = config.engine()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            config: Arc::new(config.tls(engine.as_ref())?),
            counts: Arc::default(),
            cpu_ns: (0..config.threads).map(|_| AtomicU64::new(0)).collect(),
            listener,
            stopping: AtomicBool::new(false),
        });
        let mut running = Self { address, engine, shared, threads: Vec::new() };
        // A thread inherits the cores of the thread that spawns it.
        let spawn = || {
            pin(&config.cores)?;
            (0..config.threads).try_for_each(|index| running.spawn(index))
        };
        let spawned = thread::scope(|scope| scope.spawn(spawn).join());
        spawned.map_err(|_| io::Error::other("a thread panicked while it spawned others"))??;
        Ok(running)
    }

    fn spawn(&mut self, index: usize) -> io::Result<()> {
        let shared = Arc::clone(&self.shared);
        let thread = thread::Builder::new().name(format!("rustls-{index}"));
        self.threads.push(thread.spawn(move || shared.work(index))?);
        Ok(())
    }

    /// Returns the address on which it listens.
    #[must_use]
    pub const fn addr(&self) -> SocketAddr {
        self.address
    }

    /// Returns a referee for a load generator.
    #[must_use]
    pub fn referee(&self) -> CountReferee {
        CountReferee::new(&self.shared.counts)
    }

    /// Returns the CPU time of all threads; a thread updates its part at the end of each
    /// connection.
    #[must_use]
    pub fn cpu(&self) -> Duration {
        let load = |ns: &AtomicU64| Duration::from_nanos(ns.load(Ordering::Relaxed));
        self.shared.cpu_ns.iter().map(load).sum()
    }

    /// Returns the engine, if the server signs with it.
    #[must_use]
    pub const fn engine(&self) -> Option<&Queue<PrivateJob>> {
        self.engine.as_ref()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::Release);
        for _ in &self.threads {
            // wakes a thread that waits in accept; the others check the flag
            let _ = TcpStream::connect(self.address);
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join(); // a panic has been printed already
        }
    }
}

/// Pins the calling thread, and threads that it spawns, to these logical cores. If there are none,
/// any core may run them.
fn pin(cores: &[usize]) -> io::Result<()> {
    if cores.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    for &core in cores {
        if core >= CpuSet::MAX_CPU {
            return Err(refused(format!("core {core}: there is no such core")));
        }
        set.set(core);
    }
    sched_setaffinity(None, &set).map_err(|why| refused(format!("cores {cores:?}: {why}")))
}

impl Shared {
    /// Runs a worker thread.
    fn work(&self, index: usize) {
        loop {
            let accepted = self.listener.accept();
            if self.stopping.load(Ordering::Acquire) {
                return;
            }
            match accepted {
                // The client reports its own errors.
                Ok((socket, _)) => drop(serve(&self.config, socket, &self.counts)),
                Err(_) => thread::sleep(PAUSE), // no descriptors, or the client has closed
            }
            let ns = u64::try_from(thread_cpu().as_nanos()).unwrap_or(u64::MAX);
            self.cpu_ns[index].store(ns, Ordering::Relaxed);
        }
    }
}
