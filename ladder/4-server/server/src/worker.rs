//! A worker: one thread with its listener, its event loop, its TLS context and its connections.
//!
//! Each socket is registered once, edge-triggered. A connection runs until it would block, or until
//! its turn is used up.

use core::net::IpAddr;
use core::time::Duration;
use std::io;
use std::net;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Once};
use std::time::Instant;

use mio::event::Source as _;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use openssl::ssl::SslStream;
use rustix::io::Errno;
use rustix::thread::CpuSet;
use slab::Slab;

use crate::connection::{Connection, Context, Turn, failed_to_open};
use crate::engine::{Acceptor, Handshakes};
use crate::error::Error;
use crate::failure::Failure;
use crate::setup::{Setup, warn_once};

const LISTENER: Token = Token(usize::MAX - 1);
/// The token that wakes a worker from outside.
pub(crate) const WAKE: Token = Token(usize::MAX - 2);

/// Time between checks of deadlines.
const SWEEP: Duration = Duration::from_millis(100);
/// Pause in accepting when no file descriptors are left.
const PAUSE: Duration = Duration::from_millis(100);
/// The maximum number of connections accepted in one turn of the event loop.
const ACCEPTS_MAX: usize = 64;
/// More than the number of times that the engine pauses a handshake.
const PAUSES_MAX: usize = 32;
/// The maximum number of events taken from the kernel in one call.
const EVENTS_MAX: usize = 1024;

/// Runs a worker thread. Returns the number of connections that were cut off.
pub(crate) fn work(
    index: usize,
    socket: net::TcpListener,
    poll: Poll,
    setup: &Arc<Setup>,
    ready: Sender<Result<(), Error>>,
) -> u64 {
    let tally = &setup.tallies[index];
    tally.start_cpu();
    let (worker, answer) = match Worker::new(index, socket, poll, setup) {
        Ok(worker) => (Some(worker), Ok(())),
        Err(why) => (None, Err(why)),
    };
    // Fails if another worker has failed.
    let _ = ready.send(answer);
    drop(ready);
    let cut = worker.map_or(0, Worker::run);
    tally.stop_cpu();
    cut
}

/// Pins the calling thread to one logical core.
fn pin(core: usize) -> Result<(), Error> {
    let refuse = |why: io::Error| {
        Error::new(format!(
            "cannot pin a worker to core {core}: {why}: give cores that this process may use \
             (`taskset -p $$` lists them)"
        ))
    };
    if core >= CpuSet::MAX_CPU {
        return Err(refuse(io::Error::other("there is no such core")));
    }
    let mut only = CpuSet::new();
    only.set(core);
    rustix::thread::sched_setaffinity(None, &only).map_err(|why| refuse(why.into()))
}

/// The state of one worker. Fields are dropped in this order: connections before the TLS context.
struct Worker {
    connections: Slab<Connection>,
    listener: TcpListener,
    poll: Poll,
    cx: Context,
    /// The listener may have pending connections.
    accept_ready: bool,
    /// The end of a pause in accepting.
    paused: Option<Instant>,
    /// Connections that need another turn.
    again: Vec<usize>,
    next_sweep: Instant,
}

impl Worker {
    fn new(
        index: usize,
        socket: net::TcpListener,
        poll: Poll,
        setup: &Arc<Setup>,
    ) -> Result<Self, Error> {
        if let Some(cores) = &setup.config.pin {
            pin(cores[index])?;
        }
        let acceptor = Acceptor::new(setup, Handshakes::MayPause)?;
        let cx = Context::new(index, Arc::clone(setup), acceptor);
        let mut listener = TcpListener::from_std(socket);
        listener
            .register(poll.registry(), LISTENER, Interest::READABLE)
            .map_err(Error::system("an event queue"))?;
        Ok(Self {
            connections: Slab::new(),
            listener,
            poll,
            next_sweep: cx.now + SWEEP,
            cx,
            accept_ready: true,
            paused: None,
            again: Vec::new(),
        })
    }

    /// Serves until the server stops. Returns the number of connections that were cut off.
    fn run(mut self) -> u64 {
        let mut events = Events::with_capacity(EVENTS_MAX);
        while !self.cx.setup.is_stopping() {
            self.cx.now = Instant::now();
            let wait = self.wait();
            // The call was interrupted by a signal, or there is a bug. There are no events in
            // either case.
            if self.poll.poll(&mut events, wait).is_err() {
                events.clear();
            }
            self.cx.tally().loop_turns.add(1);
            self.cx.now = Instant::now();
            for event in &events {
                match event.token() {
                    LISTENER => self.accept_ready = true,
                    WAKE => {}
                    Token(key) => {
                        if event.is_read_closed()
                            && let Some(connection) = self.connections.get_mut(key)
                        {
                            connection.has_client_closed = true;
                        }
                        self.turn(key);
                    }
                }
            }
            for key in core::mem::take(&mut self.again) {
                if let Some(connection) = self.connections.get_mut(key) {
                    connection.is_due_again = false;
                }
                self.turn(key);
            }
            self.accept();
            self.sweep();
            self.cx.journal.tick(self.cx.now);
        }
        let cut = self.close_remaining();
        self.cx.journal.flush();
        cut
    }

    /// Returns how long to wait for events, or `None` if there is no limit.
    fn wait(&self) -> Option<Duration> {
        let now = self.cx.now;
        if !self.again.is_empty() || (self.accept_ready && self.paused.is_none()) {
            return Some(Duration::ZERO);
        }
        let until = |then: Instant| then.saturating_duration_since(now);
        let sweep = (!self.connections.is_empty()).then(|| until(self.next_sweep));
        let waits = [sweep, self.paused.map(until), self.cx.journal.wait(now)];
        waits.into_iter().flatten().min()
    }

    /// Accepts up to [`ACCEPTS_MAX`] connections.
    fn accept(&mut self) {
        if self.paused.is_some_and(|until| self.cx.now >= until) {
            self.paused = None;
        }
        for _ in 0..ACCEPTS_MAX {
            if !self.accept_ready || self.paused.is_some() {
                return;
            }
            match self.listener.accept() {
                Ok((socket, client)) => self.admit(socket, client.ip().to_canonical()),
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => self.accept_ready = false,
                Err(why) => self.accept_failed(&why),
            }
        }
    }

    fn accept_failed(&mut self, why: &io::Error) {
        static DESCRIPTORS: Once = Once::new();

        let short_of = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
        // Other errors, such as ECONNABORTED, concern only the connection.
        if Errno::from_io_error(why).is_some_and(|errno| short_of.contains(&errno)) {
            self.paused = Some(self.cx.now + PAUSE);
            self.cx.tally().descriptor_pauses.add(1);
            warn_once(&DESCRIPTORS, || {
                "no file descriptors are left, so new connections wait: raise the limit \
                 (`ulimit -n`)"
                    .to_owned()
            });
        }
    }

    fn admit(&mut self, mut socket: TcpStream, client: IpAddr) {
        let tally = self.cx.tally();
        let workers = self.cx.setup.config.workers as u64;
        // Unique within the server, without a counter shared between workers.
        let number = tally.connections.read() * workers + self.cx.worker as u64 + 1;
        tally.connections.add(1);
        let entry = self.connections.vacant_entry();
        let (registry, cx) = (self.poll.registry(), &mut self.cx);
        // Out of memory: the connection is closed.
        let registered = registry.register(&mut socket, Token(entry.key()), Interest::READABLE);
        let stream = registered.ok().and_then(|()| {
            let ssl = cx.acceptor.connection().ok()?;
            SslStream::new(ssl, socket).ok()
        });
        let Some(stream) = stream else {
            cx.tally().connections_closed.add(1);
            return failed_to_open(number, client, Failure::Internal, cx);
        };
        entry.insert(Connection::new(stream, (number, client), cx));
    }

    /// Calls `act` for a connection, and acts on its result.
    fn with(&mut self, key: usize, act: impl FnOnce(&mut Connection, &mut Context) -> Turn) {
        // A connection may be removed before its event is handled.
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        match act(connection, &mut self.cx) {
            Turn::Again => {
                // Add the connection only once: it gets a turn for each entry.
                if !core::mem::replace(&mut connection.is_due_again, true) {
                    self.again.push(key);
                }
            }
            Turn::Wait if connection.begins_to_wait_for_writing() => {
                let interests = Interest::READABLE | Interest::WRITABLE;
                // Fails only because of a bug; the deadline then ends the connection.
                let registry = self.poll.registry();
                let _ = connection.socket().reregister(registry, Token(key), interests);
            }
            Turn::Wait => {}
            Turn::Close => self.remove(key),
        }
    }

    fn turn(&mut self, key: usize) {
        self.with(key, Connection::turn);
    }

    fn remove(&mut self, key: usize) {
        let mut connection = self.connections.remove(key);
        // Until a child of this process has called execve(2), it keeps the socket open: events of
        // the old connection would reach the next one with its key.
        let _ = self.poll.registry().deregister(connection.socket());
        self.cx.tally().connections_closed.add(1);
    }

    /// Ends connections whose deadline has passed.
    fn sweep(&mut self) {
        let now = self.cx.now;
        if now < self.next_sweep {
            return;
        }
        self.next_sweep = now + SWEEP;
        for key in self.keys(|connection| connection.deadline <= now && !connection.is_paused) {
            self.with(
                key,
                |connection, cx| {
                    if connection.expire(cx) { Turn::Close } else { connection.turn(cx) }
                },
            );
        }
    }

    fn keys(&self, is_chosen: impl Fn(&Connection) -> bool) -> Vec<usize> {
        let chosen = self.connections.iter().filter(|(_, connection)| is_chosen(connection));
        chosen.map(|(key, _)| key).collect()
    }

    /// Drops the remaining connections; returns how many were cut off.
    fn close_remaining(&mut self) -> u64 {
        // OpenSSL would leak the stack of a paused handshake's job.
        for _ in 0..PAUSES_MAX {
            for key in self.keys(|connection| connection.is_paused) {
                self.turn(key);
            }
        }
        let mut cut = 0;
        for key in self.keys(|_| true) {
            self.with(key, |connection, cx| {
                cut += u64::from(connection.cut(cx));
                Turn::Close
            });
        }
        cut
    }
}
