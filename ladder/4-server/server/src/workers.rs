//! Starts, wakes and joins the worker threads.

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

use crate::connection::Context;
use crate::engine::{Acceptor, Handshakes};
use crate::error::{Error, Unavailable};
use crate::log::{Batches, Journal, SCHEMA, StartLine, Writer, now_us};
use crate::notice::Notice;
use crate::setup::Setup;
use crate::shared::Shared;
use crate::worker::{WAKE, Worker};

/// The worker threads. If dropped before [`Workers::serve`], they end without serving.
#[derive(Default)]
pub(crate) struct Workers {
    wakers: Vec<Waker>,
    journals: Vec<Sender<Journal>>,
    threads: Vec<JoinHandle<u64>>,
}

impl Workers {
    /// Starts a worker's thread. The thread reports to `ready` that the worker is prepared, or why
    /// the preparation failed.
    pub(crate) fn spawn(
        &mut self,
        index: usize,
        socket: net::TcpListener,
        setup: &Arc<Setup>,
        ready: Sender<Result<(), Error>>,
    ) -> Result<(), Error> {
        let poll = Poll::new().map_err(Unavailable::system("an event queue"))?;
        let waker = Waker::new(poll.registry(), WAKE).map_err(Unavailable::system("a waker"))?;
        let (journal_sender, journal) = mpsc::channel();
        let setup = Arc::clone(setup);
        let thread = thread::Builder::new()
            .name(format!("worker-{index}"))
            .spawn(move || work(index, socket, poll, &setup, ready, &journal))
            .map_err(Unavailable::system("a worker thread"))?;
        self.wakers.push(waker);
        self.journals.push(journal_sender);
        self.threads.push(thread);
        Ok(())
    }

    /// Waits until every worker has created its TLS context and checked its engine.
    pub(crate) fn wait_until_ready(
        &self,
        ready: &Receiver<Result<(), Error>>,
    ) -> Result<(), Error> {
        for _ in &self.threads {
            let panicked = || io::Error::other("it panicked during preparation");
            ready.recv().map_err(|_| Unavailable::system("a worker")(panicked()))??;
        }
        Ok(())
    }

    /// Opens the log and makes the workers serve.
    pub(crate) fn serve(
        &mut self,
        setup: &Setup,
        address: SocketAddr,
    ) -> Result<Option<Writer>, Error> {
        let shared = &setup.shared;
        let log = start_log(setup, address)?;
        let (writer, to) = log.unzip();
        for sender in self.journals.drain(..) {
            // Fails if the worker has ended, which `join` reports.
            let _ = sender.send(Journal::new(to.clone(), Arc::clone(shared.log())));
        }
        Ok(writer)
    }

    /// Makes every worker check whether the server stops.
    pub(crate) fn wake(&self) {
        for waker in &self.wakers {
            // Fails only if the worker has ended.
            let _ = waker.wake();
        }
    }

    /// Joins the workers. Returns the number of connections that were cut off, and the number of
    /// threads that panicked or did not end before `deadline`.
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

impl Drop for Workers {
    fn drop(&mut self) {
        self.journals.clear();
        for thread in self.threads.drain(..) {
            // The thread ends, because it gets no journal. A panic was already reported.
            let _ = thread.join();
        }
    }
}

/// Starts the access log, if the configuration names one.
pub(crate) fn start_log(
    setup: &Setup,
    address: SocketAddr,
) -> Result<Option<(Writer, Batches)>, Error> {
    let Setup { config, credentials, shared, .. } = setup;
    let start = StartLine {
        time_us: now_us(),
        schema: SCHEMA,
        address: address.to_string(),
        engine: config.engine.name().to_owned(),
        provider: config.engine.provider().to_owned(),
        key: credentials.kind.to_string(),
        workers: config.workers as u64,
        openssl: openssl::version::version().to_owned(),
    };
    let log = config.access_log.as_deref();
    log.map(|path| Writer::start(path, start, shared.log())).transpose()
}

/// Runs the event loop of a worker thread.
fn work(
    index: usize,
    socket: net::TcpListener,
    poll: Poll,
    setup: &Arc<Setup>,
    ready: Sender<Result<(), Error>>,
    journal: &Receiver<Journal>,
) -> u64 {
    let tally = setup.shared.tally(index);
    tally.start_cpu();
    let worker = prepare(index, socket, poll, setup);
    let (worker, answer) = match worker {
        Ok(worker) => (Some(worker), Ok(())),
        Err(why) => (None, Err(why)),
    };
    // Fails if another worker has failed; then no journal is sent either.
    let _ = ready.send(answer);
    drop(ready);
    let cut = match (worker, journal.recv()) {
        (Some(worker), Ok(journal)) => run(worker, journal, index, &setup.shared),
        _ => 0,
    };
    tally.stop_cpu();
    cut
}

/// Serves, and reports a panic at once, because the rest of the server continues.
fn run(worker: Worker, journal: Journal, index: usize, shared: &Shared) -> u64 {
    // Unwind safe: the worker is dropped, and the counters are consistent at any time.
    let served = catch_unwind(AssertUnwindSafe(|| worker.run(journal)));
    served.unwrap_or_else(|panic| {
        shared.notify(&Notice::WorkerLost(index));
        resume_unwind(panic)
    })
}

fn prepare(
    index: usize,
    socket: net::TcpListener,
    poll: Poll,
    setup: &Arc<Setup>,
) -> Result<Worker, Error> {
    if let Some(cores) = &setup.config.pin {
        pin(cores[index])?;
    }
    let acceptor = Acceptor::new(setup, Handshakes::MayPause)?;
    let cx = Context::new(index, setup, Arc::new(acceptor));
    Worker::new(Arc::clone(setup), mio::net::TcpListener::from_std(socket), poll, cx)
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
