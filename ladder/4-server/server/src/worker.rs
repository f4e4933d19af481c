//! A worker: one thread with its listener, its event loop, its TLS context and its connections.
//!
//! Each socket is registered once, edge-triggered. A connection runs until it would block, or until
//! its turn is used up.

use core::net::IpAddr;
use core::time::Duration;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use mio::event::Source as _;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use openssl::ssl::SslStream;
use rustix::io::Errno;
use slab::Slab;

use crate::connection::{Connection, Context, Turn, failed_to_open};
use crate::failure::Failure;
use crate::log::Journal;
use crate::notice::Notice;
use crate::setup::Setup;

const LISTENER: Token = Token(usize::MAX - 1);
/// The token that wakes a worker from outside.
pub(crate) const WAKE: Token = Token(usize::MAX - 2);

/// Time between checks of deadlines.
const SWEEP: Duration = Duration::from_millis(100);
/// Pause in accepting when no file descriptors are left.
const PAUSE: Duration = Duration::from_millis(100);
/// The maximum number of connections accepted in one turn of the event loop.
const ACCEPTS_MAX: usize = 64;
/// The maximum number of such turns when the server begins to stop, so that a flood does not keep it.
const LAST_ACCEPTS_MAX: usize = 256;
/// The longest time for writing the journal when the worker ends.
const LOG_TIMEOUT: Duration = Duration::from_secs(1);
/// More than the number of times that the engine pauses a handshake.
const PAUSES_MAX: usize = 32;
/// The maximum number of events taken from the kernel in one call.
const EVENTS_MAX: usize = 1024;

/// The state of one worker. Fields are dropped in this order: connections before the TLS context.
pub(crate) struct Worker {
    connections: Slab<Connection<TcpStream>>,
    listener: Option<TcpListener>,
    poll: Poll,
    cx: Context,
    setup: Arc<Setup>,
    /// The listener may have pending connections.
    accept_ready: bool,
    /// The end of a pause in accepting.
    paused: Option<Instant>,
    /// Connections that need another turn.
    again: Vec<usize>,
    next_sweep: Instant,
}

impl Worker {
    pub(crate) fn new(
        setup: Arc<Setup>,
        mut listener: TcpListener,
        poll: Poll,
        cx: Context,
    ) -> io::Result<Self> {
        listener.register(poll.registry(), LISTENER, Interest::READABLE)?;
        Ok(Self {
            connections: Slab::new(),
            listener: Some(listener),
            poll,
            next_sweep: cx.now + SWEEP,
            cx,
            setup,
            accept_ready: true,
            paused: None,
            again: Vec::new(),
        })
    }

    /// Serves until the server stops. Returns the number of connections that were cut off.
    pub(crate) fn run(mut self, journal: Journal) -> u64 {
        self.cx.journal = journal;
        let mut events = Events::with_capacity(EVENTS_MAX);
        loop {
            self.cx.now = Instant::now();
            self.begin_draining();
            if let Some(deadline) = self.cx.draining
                && (self.connections.is_empty() || self.cx.now >= deadline)
            {
                let cut = self.close_remaining();
                self.cx.journal.finish(deadline.max(self.cx.now) + LOG_TIMEOUT);
                return cut;
            }
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
                            connection.client_has_closed();
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
    }

    /// Returns how long to wait for events, or `None` if there is no limit.
    fn wait(&self) -> Option<Duration> {
        let now = self.cx.now;
        if !self.again.is_empty() || (self.accept_ready && self.may_accept()) {
            return Some(Duration::ZERO);
        }
        let until = |then: Instant| then.saturating_duration_since(now);
        let sweep = (!self.connections.is_empty()).then(|| until(self.next_sweep));
        let waits =
            [sweep, self.paused.map(until), self.cx.draining.map(until), self.cx.journal.wait(now)];
        waits.into_iter().flatten().min()
    }

    fn may_accept(&self) -> bool {
        self.listener.is_some()
            && self.paused.is_none()
            && self.connections.len() < self.cx.limits.connections_max
    }

    /// Accepts up to [`ACCEPTS_MAX`] connections.
    fn accept(&mut self) {
        if self.paused.is_some_and(|until| self.cx.now >= until) {
            self.paused = None;
        }
        for _ in 0..ACCEPTS_MAX {
            if !self.accept_ready {
                return;
            }
            if self.connections.len() >= self.cx.limits.connections_max {
                let notice = Notice::ConnectionsMax(self.cx.limits.connections_max);
                return self.cx.shared.notify(&notice);
            }
            if self.paused.is_some() {
                return;
            }
            let Some(listener) = &self.listener else {
                return;
            };
            match listener.accept() {
                Ok((socket, client)) => self.admit(socket, client.ip().to_canonical()),
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => self.accept_ready = false,
                Err(why) => self.accept_failed(&why),
            }
        }
    }

    fn accept_failed(&mut self, why: &io::Error) {
        let short_of = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
        // Other errors, such as ECONNABORTED, concern only the connection.
        if Errno::from_io_error(why).is_some_and(|errno| short_of.contains(&errno)) {
            self.paused = Some(self.cx.now + PAUSE);
            self.cx.tally().descriptor_pauses.add(1);
            self.cx.shared.notify(&Notice::Descriptors);
        }
    }

    fn admit(&mut self, mut socket: TcpStream, client: IpAddr) {
        let tally = self.cx.tally();
        // Unique within the server, without a counter shared between workers.
        let number =
            tally.connections.read() * self.setup.config.workers as u64 + self.cx.worker as u64 + 1;
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
        entry.insert(Connection::new(stream, (number, client), cx.now, &cx.limits));
    }

    /// Calls `act` for a connection, and acts on its result.
    fn with(
        &mut self,
        key: usize,
        act: impl FnOnce(&mut Connection<TcpStream>, &mut Context) -> Turn,
    ) {
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
                let both = Interest::READABLE | Interest::WRITABLE;
                // Fails only because of a bug; the deadline then ends the connection.
                let registry = self.poll.registry();
                let _ = connection.socket().reregister(registry, Token(key), both);
            }
            Turn::Wait => {}
            Turn::Close => self.remove(key),
        }
    }

    fn turn(&mut self, key: usize) {
        self.with(key, |connection, cx| connection.turn(cx));
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
        let late = |(key, connection): (usize, &Connection<TcpStream>)| {
            (connection.deadline() <= now && !connection.is_paused()).then_some(key)
        };
        let late: Vec<usize> = self.connections.iter().filter_map(late).collect();
        for key in late {
            self.with(
                key,
                |connection, cx| {
                    if connection.expire(cx) { Turn::Close } else { connection.turn(cx) }
                },
            );
        }
    }

    /// Begins to stop if the server stops: accepts connections that the kernel has completed,
    /// closes the listener, and gives each connection a turn to end.
    fn begin_draining(&mut self) {
        let Some(deadline) = self.cx.shared.stop_deadline() else {
            return;
        };
        if self.cx.draining.is_some() {
            return;
        }
        self.accept_ready = true;
        for _ in 0..LAST_ACCEPTS_MAX {
            if self.accept_ready && self.may_accept() {
                self.accept();
            }
        }
        if let Some(mut listener) = self.listener.take() {
            let _ = self.poll.registry().deregister(&mut listener);
        }
        self.paused = None;
        self.cx.draining = Some(deadline);
        let keys: Vec<usize> = self.connections.iter().map(|(key, _)| key).collect();
        for key in keys {
            self.with(key, |connection, cx| {
                connection.drain(cx.now);
                connection.turn(cx)
            });
        }
    }

    /// Completes paused handshakes, which the engine pauses a few times at most.
    fn complete_paused(&mut self) {
        let paused = |(key, connection): (usize, &Connection<TcpStream>)| {
            connection.is_paused().then_some(key)
        };
        for _ in 0..PAUSES_MAX {
            let paused: Vec<usize> = self.connections.iter().filter_map(paused).collect();
            for key in paused {
                self.turn(key);
            }
        }
    }

    /// Drops the remaining connections; returns how many were cut off.
    fn close_remaining(&mut self) -> u64 {
        self.complete_paused();
        let keys: Vec<usize> = self.connections.iter().map(|(key, _)| key).collect();
        let mut cut = 0;
        for key in keys {
            self.with(key, |connection, cx| {
                cut += u64::from(connection.cut(cx));
                Turn::Close
            });
        }
        cut
    }
}
