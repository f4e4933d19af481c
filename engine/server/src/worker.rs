//! A worker: one thread with its listener, its event loop, its TLS context and its connections.
//!
//! Each socket is registered once, edge-triggered. A connection runs until it would block, or until
//! its turn is used up.

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

use crate::config::Limits;
use crate::connection::{BoundedReads, Connection, Context, Turn, failed_to_open};
use crate::engine::Acceptor;
use crate::http::{Date, RECORD_BYTES_MAX};
use crate::log::Journal;
use crate::notice::Notice;
use crate::shared::Shared;

const LISTENER: Token = Token(usize::MAX - 1);
/// The token that wakes a worker from outside.
pub(crate) const WAKE: Token = Token(usize::MAX - 2);

/// Time between checks of deadlines.
const SWEEP: Duration = Duration::from_millis(100);
/// Pause in accepting when no file descriptors are left.
const PAUSE: Duration = Duration::from_millis(100);
/// The maximum number of connections accepted in one turn of the event loop.
const ACCEPTS_MAX: usize = 64;
/// The longest time for writing the journal when the worker ends.
const LOG_TIMEOUT: Duration = Duration::from_secs(1);
/// The maximum number of events taken from the kernel in one call.
const EVENTS_MAX: usize = 1024;

/// The state of one worker. Fields are dropped in this order: connections before the TLS context.
pub(crate) struct Worker {
    connections: Slab<Connection<TcpStream>>,
    listener: Option<TcpListener>,
    poll: Poll,
    acceptor: Acceptor,
    index: usize,
    workers: usize,
    shared: Arc<Shared>,
    limits: Limits,
    accepted: u64,
    /// The listener may have pending connections.
    accept_ready: bool,
    /// The end of a pause in accepting.
    paused: Option<Instant>,
    /// Connections that need another turn.
    again: Vec<usize>,
    /// The deadline for finishing, once the server stops.
    draining: Option<Instant>,
    next_sweep: Instant,
    date: Date,
    scratch: Box<[u8; RECORD_BYTES_MAX]>,
}

impl Worker {
    /// Creates a worker.
    pub(crate) fn new(
        index: usize,
        workers: usize,
        mut listener: TcpListener,
        acceptor: Acceptor,
        poll: Poll,
        shared: Arc<Shared>,
        limits: Limits,
    ) -> io::Result<Self> {
        listener.register(poll.registry(), LISTENER, Interest::READABLE)?;
        Ok(Self {
            connections: Slab::new(),
            listener: Some(listener),
            poll,
            acceptor,
            index,
            workers,
            shared,
            limits,
            accepted: 0,
            accept_ready: true,
            paused: None,
            again: Vec::new(),
            draining: None,
            next_sweep: Instant::now() + SWEEP,
            date: Date::default(),
            scratch: Box::new([0; RECORD_BYTES_MAX]),
        })
    }

    /// Serves until the server stops. Returns the number of connections that were cut off.
    pub(crate) fn run(mut self, mut journal: Journal) -> u64 {
        let mut events = Events::with_capacity(EVENTS_MAX);
        loop {
            let now = Instant::now();
            self.begin_draining(now, &mut journal);
            if let Some(deadline) = self.draining
                && (self.connections.is_empty() || now >= deadline)
            {
                let cut = self.close_remaining(now, &mut journal);
                journal.finish(deadline.max(now) + LOG_TIMEOUT);
                return cut;
            }
            let wait = self.wait(now, &journal);
            // The call was interrupted by a signal, or there is a bug. There are no events in
            // either case.
            if self.poll.poll(&mut events, wait).is_err() {
                events.clear();
            }
            self.shared.tally(self.index).loop_turns.add(1);
            let now = Instant::now();
            for event in &events {
                match event.token() {
                    LISTENER => self.accept_ready = true,
                    WAKE => {}
                    Token(key) => self.turn(key, now, &mut journal),
                }
            }
            for key in core::mem::take(&mut self.again) {
                if let Some(connection) = self.connections.get_mut(key) {
                    connection.is_due_again = false;
                }
                self.turn(key, now, &mut journal);
            }
            self.accept(now, &mut journal);
            self.sweep(now, &mut journal);
            journal.tick(now);
        }
    }

    /// Returns how long to wait for events, or `None` for a wait without limit.
    fn wait(&self, now: Instant, journal: &Journal) -> Option<Duration> {
        if !self.again.is_empty() || (self.accept_ready && self.may_accept()) {
            return Some(Duration::ZERO);
        }
        let until = |then: Instant| then.saturating_duration_since(now);
        let sweep = (!self.connections.is_empty()).then(|| until(self.next_sweep));
        [sweep, self.paused.map(until), self.draining.map(until), journal.wait(now)]
            .into_iter()
            .flatten()
            .min()
    }

    fn may_accept(&self) -> bool {
        self.listener.is_some()
            && self.paused.is_none()
            && self.connections.len() < self.limits.connections_max
    }

    /// Accepts up to [`ACCEPTS_MAX`] connections.
    fn accept(&mut self, now: Instant, journal: &mut Journal) {
        if self.paused.is_some_and(|until| now >= until) {
            self.paused = None;
        }
        for _ in 0..ACCEPTS_MAX {
            if !self.accept_ready {
                return;
            }
            if self.connections.len() >= self.limits.connections_max {
                let connections_max = self.limits.connections_max;
                return self.shared.say(&Notice::ConnectionsMax { connections_max });
            }
            if self.paused.is_some() {
                return;
            }
            let Some(listener) = &self.listener else {
                return;
            };
            match listener.accept() {
                Ok((socket, _)) => self.admit(socket, now, journal),
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => self.accept_ready = false,
                Err(why) => self.accept_failed(&why, now),
            }
        }
    }

    fn accept_failed(&mut self, why: &io::Error, now: Instant) {
        let short_of = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
        // Other errors, such as ECONNABORTED, concern only the connection.
        if Errno::from_io_error(why).is_some_and(|errno| short_of.contains(&errno)) {
            self.paused = Some(now + PAUSE);
            self.shared.tally(self.index).descriptor_pauses.add(1);
            self.shared.say(&Notice::Descriptors);
        }
    }

    fn admit(&mut self, mut socket: TcpStream, now: Instant, journal: &mut Journal) {
        // Unique within the server, without a counter shared between workers.
        let number = self.accepted * self.workers as u64 + self.index as u64 + 1;
        self.accepted += 1;
        let tally = self.shared.tally(self.index);
        tally.connections.add(1);
        let entry = self.connections.vacant_entry();
        let registry = self.poll.registry();
        let registered = registry.register(&mut socket, Token(entry.key()), Interest::READABLE);
        let ssl = registered.ok().and_then(|()| self.acceptor.connection().ok());
        let stream = ssl.and_then(|ssl| SslStream::new(ssl, BoundedReads::new(socket)).ok());
        let Some(stream) = stream else {
            // Out of memory: the connection is closed.
            tally.connections_closed.add(1);
            return failed_to_open(number, now, tally, journal);
        };
        entry.insert(Connection::new(stream, number, now, &self.limits));
    }

    /// Calls `act` for a connection, and acts on its result.
    fn with(
        &mut self,
        key: usize,
        now: Instant,
        journal: &mut Journal,
        act: impl FnOnce(&mut Connection<TcpStream>, &mut Context<'_>) -> Turn,
    ) {
        // A connection may be removed before its event is handled.
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        let shared = &*self.shared;
        let mut cx = Context {
            now,
            limits: &self.limits,
            tally: shared.tally(self.index),
            journal,
            shared,
            acceptor: &self.acceptor,
            date: &mut self.date,
            scratch: &mut self.scratch,
            draining: self.draining.is_some(),
        };
        match act(connection, &mut cx) {
            Turn::Again => {
                // Added once, because each entry is a turn.
                if !core::mem::replace(&mut connection.is_due_again, true) {
                    self.again.push(key);
                }
            }
            Turn::Wait if connection.begins_to_wait_for_writing() => {
                let both = Interest::READABLE | Interest::WRITABLE;
                // Fails only because of a bug; the deadline then ends the connection.
                let _ = connection.socket().reregister(self.poll.registry(), Token(key), both);
            }
            Turn::Wait => {}
            Turn::Close => self.remove(key),
        }
    }

    fn turn(&mut self, key: usize, now: Instant, journal: &mut Journal) {
        self.with(key, now, journal, |connection, cx| connection.turn(cx));
    }

    fn remove(&mut self, key: usize) {
        drop(self.connections.remove(key));
        self.shared.tally(self.index).connections_closed.add(1);
    }

    /// Ends connections whose deadline has passed.
    fn sweep(&mut self, now: Instant, journal: &mut Journal) {
        if now < self.next_sweep {
            return;
        }
        self.next_sweep = now + SWEEP;
        let late = |(key, connection): (usize, &Connection<TcpStream>)| {
            (connection.deadline() <= now).then_some(key)
        };
        let late: Vec<usize> = self.connections.iter().filter_map(late).collect();
        for key in late {
            self.with(key, now, journal, |connection, cx| {
                if connection.expire(cx) { Turn::Close } else { connection.turn(cx) }
            });
        }
    }

    /// Begins to stop if the server stops: accepts connections that the kernel has completed,
    /// closes the listener, and gives each connection a turn to end.
    fn begin_draining(&mut self, now: Instant, journal: &mut Journal) {
        let Some(deadline) = self.shared.stop_deadline() else {
            return;
        };
        if self.draining.is_some() {
            return;
        }
        self.accept_ready = true;
        while self.accept_ready && self.may_accept() {
            self.accept(now, journal);
        }
        self.listener = None;
        self.paused = None;
        self.draining = Some(deadline);
        let keys: Vec<usize> = self.connections.iter().map(|(key, _)| key).collect();
        for key in keys {
            self.with(key, now, journal, |connection, cx| {
                connection.drain(now);
                connection.turn(cx)
            });
        }
    }

    /// Drops the remaining connections; returns how many were cut off.
    fn close_remaining(&mut self, now: Instant, journal: &mut Journal) -> u64 {
        let keys: Vec<usize> = self.connections.iter().map(|(key, _)| key).collect();
        let mut cut = 0;
        for key in keys {
            self.with(key, now, journal, |connection, cx| {
                cut += u64::from(connection.cut(cx));
                Turn::Close
            });
        }
        cut
    }
}
