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

use crate::addresses::Counted;
use crate::connection::{BoundedReads, Connection, Context, Opened, Turn, failed_to_open};
use crate::failure::Failure;
use crate::ffi;
use crate::log::Journal;
use crate::notice::Notice;
use crate::sessions::{Owner, own};
use crate::setup::Setup;
use crate::spill::{Load, Spilled, Turns};

const LISTENER: Token = Token(usize::MAX - 1);
/// The token that wakes a worker from outside.
pub(crate) const WAKE: Token = Token(usize::MAX - 2);

/// The token of the worker's connection to Redis.
pub(crate) const REDIS: Token = Token(usize::MAX - 3);

/// The tokens of connections that are passed on begin here.
const SPILLED: usize = 1 << (usize::BITS - 2);

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
    /// The generation of the certificates in use.
    generation: u64,
    /// The listener may have pending connections.
    accept_ready: bool,
    /// The end of a pause in accepting.
    paused: Option<Instant>,
    /// Connections that need another turn.
    again: Vec<usize>,
    /// Connections that are passed on.
    spilled: Spilled,
    /// The times of the event loop.
    turns: Turns,
    next_sweep: Instant,
}

/// Connections of clients have even tokens, those to back ends odd ones.
const fn client_token(key: usize) -> Token {
    Token(key * 2)
}

pub(crate) const fn upstream_token(key: usize) -> Token {
    Token(key * 2 + 1)
}

const fn spilled_token(number: usize) -> Token {
    Token(SPILLED + number)
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
            generation: 0,
            accept_ready: true,
            paused: None,
            again: Vec::new(),
            spilled: Spilled::new(),
            turns: Turns::default(),
        })
    }

    /// Serves until the server stops. Returns the number of connections that were cut off.
    pub(crate) fn run(mut self, journal: Journal) -> u64 {
        self.cx.journal = journal;
        let mut events = Events::with_capacity(EVENTS_MAX);
        let mut began = Instant::now();
        loop {
            self.cx.now = Instant::now();
            self.begin_draining();
            if let Some(deadline) = self.cx.draining
                && ((self.connections.is_empty() && self.spilled.len() == 0)
                    || self.cx.now >= deadline)
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
            let woken = Instant::now();
            self.turns.add(woken - self.cx.now, self.cx.now - began);
            (self.cx.now, began) = (woken, woken);
            for event in &events {
                match event.token() {
                    LISTENER => self.accept_ready = true,
                    WAKE => {}
                    REDIS => {
                        if let Some(mut remote) = self.cx.store.remote() {
                            remote.wake();
                        }
                    }
                    Token(token) if token >= SPILLED => self.pass_on(token - SPILLED),
                    Token(token) if token % 2 == 0 => {
                        if event.is_read_closed()
                            && let Some(connection) = self.connections.get_mut(token / 2)
                        {
                            connection.client_has_closed();
                        }
                        self.turn(token / 2);
                    }
                    Token(token) => {
                        let upstreams = self.cx.upstreams.as_mut();
                        if let Some(owner) = upstreams.and_then(|ups| ups.owner(token / 2)) {
                            if let Some(connection) = self.connections.get_mut(owner.connection) {
                                connection.wake(owner.stream);
                            }
                            self.turn(owner.connection);
                        }
                    }
                }
            }
            for key in core::mem::take(&mut self.again) {
                if let Some(connection) = self.connections.get_mut(key) {
                    connection.is_due_again = false;
                }
                self.turn(key);
            }
            for number in self.spilled.take_again() {
                self.pass_on(number);
            }
            // a client that comes after a reload gets the new certificates
            self.renew_certificates();
            self.accept();
            self.sweep();
            self.ask_redis();
            self.cx.journal.tick(self.cx.now);
        }
    }

    /// Uses new certificates for new connections, if there are any.
    fn renew_certificates(&mut self) {
        let Self { setup, cx, generation, .. } = self;
        if let Some(newer) = setup.identities.newer(generation) {
            let acceptor = Arc::get_mut(&mut cx.acceptor).expect("only this worker has it");
            if let Err(why) = acceptor.renew(&setup.config, &newer, &cx.store) {
                cx.shared.say(&Notice::OldCertificates { why: why.to_string() });
            }
        }
    }

    /// Exchanges questions and answers with Redis. A handshake whose answer has come, or comes too
    /// late, goes on.
    fn ask_redis(&mut self) {
        loop {
            let answered = match self.cx.store.remote() {
                Some(mut remote) => remote.tick(Instant::now()),
                None => return,
            };
            if answered.is_empty() {
                return;
            }
            for Owner { key, number } in answered {
                if let Some(connection) = self.connections.get_mut(key)
                    && connection.number() == number
                {
                    connection.session_answered();
                    self.turn(key);
                }
            }
        }
    }

    /// Returns how long to wait for events, or `None` if there is no limit.
    fn wait(&self) -> Option<Duration> {
        let now = self.cx.now;
        let has_more = !self.again.is_empty() || self.spilled.has_more();
        if has_more || (self.accept_ready && self.may_accept()) {
            return Some(Duration::ZERO);
        }
        let until = |then: Instant| then.saturating_duration_since(now);
        // idle connections to back ends are closed when the next client comes, or by the back end
        let is_empty = self.connections.is_empty() && self.spilled.len() == 0;
        let sweep = (!is_empty).then(|| until(self.next_sweep));
        let redis = self.cx.store.remote().map(|remote| remote.wait(now));
        let waits = [
            sweep,
            redis,
            self.paused.map(until),
            self.cx.draining.map(until),
            self.cx.journal.wait(now),
        ];
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
                let connections_max = self.cx.limits.connections_max;
                return self.cx.shared.say(&Notice::ConnectionsMax { connections_max });
            }
            if self.paused.is_some() {
                return;
            }
            let Some(listener) = &self.listener else {
                return;
            };
            match listener.accept() {
                Ok((socket, client)) if self.is_full() => {
                    self.spill(socket, client.ip().to_canonical());
                }
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
            self.cx.shared.say(&Notice::Descriptors);
        }
    }

    fn admit(&mut self, mut socket: TcpStream, client: IpAddr) {
        let tally = self.cx.tally();
        // Unique within the server, without a counter shared between workers.
        let number =
            tally.connections.read() * self.setup.config.workers as u64 + self.cx.worker as u64 + 1;
        tally.connections.add(1);
        let has_preface = self.setup.config.proxy_protocol;
        let counted = self.enter(client);
        let entry = self.connections.vacant_entry();
        let (registry, cx, setup) = (self.poll.registry(), &mut self.cx, &self.setup);
        let opened = counted.and_then(|counted| {
            // Out of memory: the connection is closed.
            let failed = |_| Failure::Internal;
            let token = client_token(entry.key());
            registry.register(&mut socket, token, Interest::READABLE).map_err(failed)?;
            let mut ssl = cx.acceptor.connection().map_err(|_| Failure::Internal)?;
            if setup.config.sessions.redis.is_some() {
                own(&mut ssl, Owner { key: entry.key(), number });
            }
            let stream = SslStream::new(ssl, BoundedReads::new(socket));
            let stream = stream.map_err(|_| Failure::Internal)?;
            if setup.config.kernel_tls {
                ffi::write_directly(&stream).map_err(|_| Failure::Internal)?;
            }
            Ok((stream, counted))
        });
        let (stream, counted) = match opened {
            Ok(opened) => opened,
            Err(failure) => {
                cx.tally().connections_closed.add(1);
                return failed_to_open(number, client, failure, cx);
            }
        };
        let key = entry.key();
        let opened = Opened { number, key, client, counted, has_preface, now: cx.now };
        entry.insert(Connection::new(stream, opened, &cx.limits));
        cx.handshakes += 1;
    }

    /// Returns whether the load is above a limit, so that new connections are not for this worker.
    fn is_full(&self) -> bool {
        self.setup.config.spill.as_ref().is_some_and(|spill| {
            let (handshakes, connections) = (self.cx.handshakes, self.connections.len());
            spill.is_full(&Load { handshakes, connections, turns: self.turns })
        })
    }

    /// Counts a connection of an address. Behind a load balancer, the address is known later.
    fn enter(&self, client: IpAddr) -> Result<Option<Counted>, Failure> {
        if self.setup.config.proxy_protocol { Ok(None) } else { self.cx.shared.enter(client) }
    }

    /// Passes a connection on to another address, or closes it.
    fn spill(&mut self, socket: TcpStream, client: IpAddr) {
        let spill = self.setup.config.spill.as_ref().expect("without it, no worker is full");
        self.cx.shared.say(&Notice::Spill { to: spill.to });
        let counted = self.enter(client);
        let to = spill.to.filter(|_| self.spilled.len() < spill.spilled_max);
        let (Some(to), Ok(counted)) = (to, counted) else {
            return self.cx.tally().refused.add(1);
        };
        self.cx.tally().spilled.add(1);
        let until = (to, self.cx.now + spill.connect);
        let registry = (self.poll.registry(), spilled_token as fn(usize) -> Token);
        if self.spilled.begin(socket, counted, until, registry).is_err() {
            self.cx.tally().spill_failures.add(1);
        }
    }

    /// Moves bytes of a connection that is passed on.
    fn pass_on(&mut self, number: usize) {
        let idle = self.setup.config.spill.as_ref().map(|spill| spill.idle).unwrap_or_default();
        if self.spilled.turn(number, (self.cx.now, idle)) {
            self.cx.tally().spill_failures.add(1);
        }
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
                let _ = connection.socket().reregister(registry, client_token(key), both);
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
        connection.release_upstreams(&mut self.cx);
        self.cx.tally().connections_closed.add(1);
    }

    /// Ends connections whose deadline has passed.
    fn sweep(&mut self) {
        let now = self.cx.now;
        if now < self.next_sweep {
            return;
        }
        self.next_sweep = now + SWEEP;
        let unconnected = self.spilled.sweep(now);
        self.cx.tally().spill_failures.add(unconnected);
        if let Some(upstreams) = &mut self.cx.upstreams {
            upstreams.sweep(now);
        }
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
            // A socket of systemd stays open, and would wake this worker for each client.
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
        let mut cut = self.spilled.len() as u64;
        for key in keys {
            self.with(key, |connection, cx| {
                cut += u64::from(connection.cut(cx));
                Turn::Close
            });
        }
        cut
    }
}
