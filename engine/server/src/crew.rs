//! The worker threads, from outside: hired, prepared, set to work, woken, sent home.

use core::net::SocketAddr;
use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::io;
use std::net;
use std::panic::{catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use mio::{Poll, Waker};
use rustix::thread::CpuSet;
use zeroize::Zeroizing;

use crate::certificate::{Credentials, KeyKind};
use crate::config::Config;
use crate::engine::Acceptor;
use crate::error::{Error, Unavailable};
use crate::ffi::TicketKeys;
use crate::log::{Batches, Journal, SCHEMA, StartLine, Writer};
use crate::log_time::now_us;
use crate::notice::Notice;
use crate::shared::Shared;
use crate::worker::{WAKE, Worker};

/// What every worker thread starts from.
pub(crate) struct Plan {
    pub(crate) config: Config,
    pub(crate) credentials: Credentials,
    pub(crate) tickets: Zeroizing<TicketKeys>,
    pub(crate) shared: Arc<Shared>,
}

/// The worker threads, from outside. Dropped before [`Crew::begin`], it sends them home.
#[derive(Default)]
pub(crate) struct Crew {
    wakers: Vec<Waker>,
    go: Vec<Sender<Journal>>,
    threads: Vec<JoinHandle<u64>>,
}

impl Crew {
    /// Starts a worker's thread; it says on `ready` when it is prepared, or why not.
    pub(crate) fn hire(
        &mut self,
        index: usize,
        socket: net::TcpListener,
        plan: &Arc<Plan>,
        ready: Sender<Result<(), Error>>,
    ) -> Result<(), Error> {
        let poll = Poll::new().map_err(Unavailable::system("an event queue"))?;
        let waker = Waker::new(poll.registry(), WAKE)
            .map_err(Unavailable::system("an event to wake by"))?;
        let (go, gone) = mpsc::channel();
        let plan = Arc::clone(plan);
        let thread = thread::Builder::new()
            .name(format!("worker-{index}"))
            .spawn(move || work(index, socket, poll, &plan, ready, &gone))
            .map_err(Unavailable::system("a worker thread"))?;
        self.wakers.push(waker);
        self.go.push(go);
        self.threads.push(thread);
        Ok(())
    }

    /// Waits until every worker has its TLS context and has proven its engine.
    pub(crate) fn wait_until_ready(
        &self,
        ready: &Receiver<Result<(), Error>>,
    ) -> Result<(), Error> {
        for _ in &self.threads {
            // Workers that are gone without a word have panicked.
            let gone = || io::Error::other("it panicked while it prepared itself");
            ready.recv().map_err(|_| Unavailable::system("a worker")(gone()))??;
        }
        Ok(())
    }

    /// Opens the log and lets the workers run.
    pub(crate) fn begin(
        &mut self,
        plan: &Plan,
        address: SocketAddr,
    ) -> Result<Option<Writer>, Error> {
        let shared = &plan.shared;
        let log = start_log(&plan.config, plan.credentials.kind, address, shared)?;
        let (writer, to) = log.unzip();
        for go in self.go.drain(..) {
            // A worker that is gone shows when it is joined.
            let _ = go.send(Journal::new(to.clone(), Arc::clone(shared.log())));
        }
        Ok(writer)
    }

    /// Makes every worker look whether the server stops.
    pub(crate) fn wake(&self) {
        for waker in &self.wakers {
            // It fails only for a worker that is gone.
            let _ = waker.wake();
        }
    }

    /// Joins the workers; answers how many connections were cut off, and how many threads panicked
    /// or did not end until `deadline`.
    pub(crate) fn join(&mut self, deadline: Instant) -> (u64, usize) {
        let (mut cut, mut lost) = (0, 0);
        for thread in self.threads.drain(..) {
            while !thread.is_finished() && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(1));
            }
            if !thread.is_finished() {
                lost += 1;
                continue;
            }
            match thread.join() {
                Ok(connections) => cut += connections,
                Err(_) => lost += 1,
            }
        }
        (cut, lost)
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.go.clear();
        for thread in self.threads.drain(..) {
            // It did not begin to serve, so it ends by itself; a panic has been told already.
            let _ = thread.join();
        }
    }
}

/// Starts the access log, if one is asked for.
pub(crate) fn start_log(
    config: &Config,
    key: KeyKind,
    address: SocketAddr,
    shared: &Shared,
) -> Result<Option<(Writer, Batches)>, Error> {
    let start = StartLine {
        time_us: now_us(),
        schema: SCHEMA,
        address: address.to_string(),
        engine: config.engine.name().to_owned(),
        provider: config.engine.provider().to_owned(),
        key: key.to_string(),
        workers: config.workers as u64,
        openssl: openssl::version::version().to_owned(),
    };
    let log = config.access_log.as_deref();
    log.map(|path| Writer::start(path, start, shared.log())).transpose()
}

/// A worker thread from beginning to end.
fn work(
    index: usize,
    socket: net::TcpListener,
    poll: Poll,
    plan: &Plan,
    ready: Sender<Result<(), Error>>,
    go: &Receiver<Journal>,
) -> u64 {
    let tally = plan.shared.tally(index);
    tally.start_cpu();
    let worker = prepare(index, socket, poll, plan);
    let (worker, answer) = match worker {
        Ok(worker) => (Some(worker), Ok(())),
        Err(why) => (None, Err(why)),
    };
    // Nobody listens when another worker has failed already; then there is no `go` either.
    let _ = ready.send(answer);
    drop(ready);
    let cut = match (worker, go.recv()) {
        (Some(worker), Ok(journal)) => run(worker, journal, index, &plan.shared),
        _ => 0,
    };
    tally.stop_cpu();
    cut
}

/// Serves; a panic is said at once, because the rest of the server goes on.
fn run(worker: Worker, journal: Journal, index: usize, shared: &Shared) -> u64 {
    // What it was changing is gone with the worker; counters are whole at any time.
    let served = catch_unwind(AssertUnwindSafe(|| worker.run(journal)));
    served.unwrap_or_else(|panic| {
        shared.say(&Notice::WorkerLost { worker: index });
        resume_unwind(panic)
    })
}

fn prepare(
    index: usize,
    socket: net::TcpListener,
    poll: Poll,
    plan: &Plan,
) -> Result<Worker, Error> {
    let Plan { config, credentials, tickets, shared } = plan;
    if let Some(cores) = &config.pin {
        pin(cores[index])?;
    }
    let acceptor = Acceptor::new(config, credentials, tickets)?;
    let listener = mio::net::TcpListener::from_std(socket);
    let shared = Arc::clone(shared);
    Worker::new(index, config.workers, listener, acceptor, poll, shared, config.limits)
        .map_err(Unavailable::system("an event queue"))
}

/// Pins the calling thread to one logical core.
fn pin(core: usize) -> Result<(), Error> {
    let refuse = |why| Unavailable::Pin { core, why };
    if core >= CpuSet::MAX_CPU {
        return Err(refuse(io::Error::other("there is no such core")).into());
    }
    let mut only = CpuSet::new();
    only.set(core);
    rustix::thread::sched_setaffinity(None, &only).map_err(|why| refuse(why.into()))?;
    Ok(())
}
