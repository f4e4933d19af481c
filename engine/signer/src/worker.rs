//! A worker: a thread with an event loop. A turn takes the requests that have come, runs their
//! operations in batches, writes the audit log, and answers.

mod accepting;

use core::sync::atomic::Ordering;
use core::time::Duration;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Instant;

use mio::net::{TcpListener, UnixListener};
use mio::{Events, Interest, Poll, Token, Waker};
use slab::Slab;
use tollgate_keyless::{ErrorCode, Frame, Message, Operation, PONG, RESPONSE, Ski};
use tollgate_queue::{PrivateJob, Ticket};
use zeroize::Zeroizing;

use self::accepting::TOO_MANY;
use crate::answer::{finish, submit};
use crate::audit::Lines;
use crate::connection::{Connection, State};
use crate::keys::Key;
use crate::limiter::Limiters;
use crate::policy::Policy;
use crate::shared::Shared;
use crate::shares::Shares;
use crate::stream::Stream;

const UNIX: Token = Token(usize::MAX - 1);
const TCP: Token = Token(usize::MAX - 2);
const WAKE: Token = Token(usize::MAX - 3);

/// The maximum number of handshakes that go on in a turn: each may need a signature of its own.
const HANDSHAKES_MAX: usize = 8;
/// The time between two checks of limits.
const SWEEP: Duration = Duration::from_millis(100);

/// The listeners of a worker; all workers have the same sockets.
pub(crate) struct Listeners {
    pub(crate) unix: Option<UnixListener>,
    pub(crate) tcp: Option<TcpListener>,
}

pub(crate) struct Worker {
    number: usize,
    poll: Poll,
    listeners: Listeners,
    connections: Slab<Connection>,
    shared: Arc<Shared>,
    generation: u64,
    policy: Arc<Policy>,
    /// Connections that have more to do without another event.
    again: Vec<usize>,
    pending: Vec<Pending>,
    lines: Lines,
    /// For lines about connections, and about requests above the rate of their client.
    limiters: Limiters,
    shares: Shares,
    /// The next client is accepted with TLS, if both listeners have one.
    is_tls_next: bool,
    /// The number of handshakes that may go on in this turn.
    handshakes_left: usize,
    swept: Instant,
}

/// An operation of this turn.
struct Pending {
    connection: usize,
    id: u32,
    operation: Operation,
    ski: Option<Ski>,
    submitted: Result<(Ticket<PrivateJob>, Arc<Key>), ErrorCode>,
}

impl Worker {
    pub(crate) fn new(
        number: usize,
        mut listeners: Listeners,
        shared: Arc<Shared>,
    ) -> io::Result<(Self, Waker)> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKE)?;
        if let Some(listener) = &mut listeners.unix {
            poll.registry().register(listener, UNIX, Interest::READABLE)?;
        }
        if let Some(listener) = &mut listeners.tcp {
            poll.registry().register(listener, TCP, Interest::READABLE)?;
        }
        let (generation, policy) = shared.policy();
        let shares = Shares::new(shared.engine.turn_max);
        let worker = Self {
            number,
            poll,
            listeners,
            connections: Slab::new(),
            shared,
            generation,
            policy,
            again: Vec::new(),
            pending: Vec::new(),
            lines: Lines::default(),
            limiters: Limiters::default(),
            shares,
            is_tls_next: false,
            handshakes_left: 0,
            swept: Instant::now(),
        };
        Ok((worker, waker))
    }

    /// Turns until the signer stops. Returns the number of connections that were cut off.
    pub(crate) fn run(mut self) -> usize {
        let mut events = Events::with_capacity(1024);
        let mut accepts_more = false;
        loop {
            let is_idle = self.connections.is_empty() && !self.limiters.are_pending();
            let wait = match (accepts_more || !self.again.is_empty(), is_idle) {
                (true, _) => Some(Duration::ZERO),
                (false, true) => None,
                (false, false) => Some(SWEEP),
            };
            if self.poll.poll(&mut events, wait).is_err() {
                events.clear();
            }
            self.shared.turns[self.number].fetch_add(1, Ordering::Relaxed);
            self.handshakes_left = HANDSHAKES_MAX;
            self.follow_policy();
            let mut ready = core::mem::take(&mut self.again);
            for event in &events {
                if let Token(key) = event.token()
                    && let Some(connection) = self.connections.get_mut(key)
                {
                    connection.is_readable |= event.is_readable() || event.is_read_closed();
                    ready.push(key);
                }
            }
            let deadline = self.shared.stop_deadline();
            if deadline.is_some() {
                self.listeners = Listeners { unix: None, tcp: None };
                accepts_more = false;
                ready = self.connections.iter().map(|(key, _)| key).collect();
                ready.iter().for_each(|key| self.connections[*key].is_readable = true);
            } else {
                accepts_more = self.accept(&mut ready);
            }
            ready.sort_unstable();
            ready.dedup();
            self.turn(&ready);
            self.sweep();
            self.log();
            if let Some(deadline) = deadline {
                self.close_idle();
                if self.connections.is_empty() || Instant::now() >= deadline {
                    return self.connections.len();
                }
            }
        }
    }

    /// Takes new settings. Connections whose peer is no client any more are closed, and so are those
    /// whose certificates other trust anchors have verified.
    fn follow_policy(&mut self) {
        if self.shared.generation() == self.generation {
            return;
        }
        let old = Arc::clone(&self.policy);
        self.limiters.end(&mut self.lines, &old);
        (self.generation, self.policy) = self.shared.policy();
        let roots = |policy: &Policy| policy.tls.as_ref().map(|tls| tls.roots.clone());
        let are_other_roots = roots(&old) != roots(&self.policy);
        let refused: Vec<usize> = self
            .connections
            .iter()
            .filter(|(_, connection)| match (&connection.state, &connection.stream) {
                (State::Handshake, _) => are_other_roots,
                (State::Open { .. }, Stream::Tls(_)) if are_other_roots => true,
                (State::Open { identity, .. }, _) => self.policy.client(identity).is_none(),
            })
            .map(|(key, _)| key)
            .collect();
        refused.into_iter().for_each(|key| self.close(key, "not allowed any more"));
    }

    /// Takes the requests of these connections, runs them, and answers.
    fn turn(&mut self, ready: &[usize]) {
        self.shares.begin();
        // Another connection is the first in each turn, because the operations of a turn are limited.
        let first =
            ready.len() - (self.swept.elapsed().subsec_nanos() as usize) % ready.len().max(1);
        for key in ready[first.min(ready.len())..].iter().chain(&ready[..first.min(ready.len())]) {
            if let Err(why) = self.take(*key) {
                let reason = match why.kind() {
                    ErrorKind::PermissionDenied => "refused: no client",
                    ErrorKind::QuotaExceeded => TOO_MANY,
                    _ if self.connections.get(*key).is_some_and(Connection::is_shaking_hands) => {
                        "refused: handshake failed"
                    }
                    _ => "failed",
                };
                self.close(*key, reason);
            }
        }
        self.answer();
        for key in ready {
            self.send(*key);
        }
    }

    /// Takes the requests that a connection has sent.
    fn take(&mut self, key: usize) -> io::Result<()> {
        let Some(connection) = self.connections.get_mut(key) else {
            return Ok(());
        };
        if connection.is_shaking_hands() {
            let Some(left) = self.handshakes_left.checked_sub(1) else {
                self.again.push(key);
                return Ok(());
            };
            self.handshakes_left = left;
            match connection.stream.shake_hands() {
                Ok(Some(peer)) if self.policy.client(&peer.identity).is_some() => {
                    connection.opens(peer);
                    self.shared.counters.handshakes.fetch_sub(1, Ordering::Relaxed);
                    self.opened(key)?;
                }
                Ok(_) => return Err(ErrorKind::PermissionDenied.into()),
                Err(why) if why.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(why) => return Err(why),
            }
        }
        let limits = self.policy.limits;
        let connection = &mut self.connections[key];
        connection.receive(&limits)?;
        let State::Open { identity, .. } = &connection.state else {
            return Ok(());
        };
        let client = self.policy.client(identity).ok_or(ErrorKind::PermissionDenied)?;
        let caller = client.account.caller(&self.shared.engine.queue)?;
        let now = self.shared.started.elapsed();
        for _ in 0..limits.requests_max {
            if connection.has_request(&limits) && !self.shares.allows(client.number) {
                break;
            }
            let Some(request) = connection.next(&limits) else {
                break;
            };
            self.shares.count(client.number);
            let id = request.id;
            let message = request.read.and_then(|range| {
                let body = connection.body(range);
                Message::read(Frame { id, body }).map_err(|_| ErrorCode::Format)
            });
            let read = message.and_then(|message| {
                Operation::from_code(message.opcode).map(|operation| (message, operation))
            });
            match read {
                Err(why) => {
                    self.shared.counters.count(None, Err(why));
                    connection.refuse(id, why);
                }
                Ok((message, operation @ Operation::Ping)) => {
                    let payload = message.payload.to_vec();
                    self.shared.counters.count(Some(operation), Ok(()));
                    connection.answer(id, PONG, &payload);
                }
                Ok((message, operation)) => {
                    let allowed = client.check_rate(now);
                    let submitted = allowed.and_then(|()| {
                        let key = client.key(message.ski, operation)?;
                        let ticket = submit(caller, key, operation, message.payload)?;
                        Ok((ticket, Arc::clone(key)))
                    });
                    let ski = message.ski;
                    self.pending.push(Pending { connection: key, id, operation, ski, submitted });
                }
            }
        }
        Ok(())
    }

    /// Runs the operations of this turn, writes their lines, and adds their answers.
    fn answer(&mut self) {
        type Results = Vec<(usize, u32, Operation, Result<Zeroizing<Vec<u8>>, ErrorCode>)>;
        let mut results: Results = Vec::with_capacity(self.pending.len());
        for Pending { connection, id, operation, ski, submitted } in self.pending.drain(..) {
            let result = submitted.and_then(|(ticket, key)| finish(ticket, operation, &key));
            if let Some(at) = self.connections.get(connection)
                && let State::Open { identity, .. } = &at.state
            {
                let client = self.policy.client(identity);
                let outcome = result.as_ref().map(|_| ()).map_err(|why| *why);
                let is_over = outcome == Err(ErrorCode::OverRate);
                if !is_over || self.limiters.allows(client) {
                    let name = client.map_or("", |client| &client.name);
                    self.lines.operation((&at.peer, name), operation, ski, outcome);
                }
            }
            results.push((connection, id, operation, result));
        }
        let is_logged = self.log();
        for (connection, id, operation, result) in results {
            let result = if is_logged { result } else { Err(ErrorCode::Internal) };
            let counters = &self.shared.counters;
            counters.count(Some(operation), result.as_ref().map(|_| ()).map_err(|why| *why));
            if !is_logged {
                counters.audit_failures.fetch_add(1, Ordering::Relaxed);
            }
            if let Some(connection) = self.connections.get_mut(connection) {
                match result {
                    Ok(payload) => connection.answer(id, RESPONSE, &payload),
                    Err(why) => connection.refuse(id, why),
                }
            }
        }
    }

    /// Writes the lines of this turn to the audit log, and returns whether they are there.
    fn log(&mut self) -> bool {
        let Some(audit) = self.shared.audit.as_ref().filter(|_| !self.lines.is_empty()) else {
            self.lines.clear();
            return true;
        };
        let written = audit.write(&self.lines);
        self.lines.clear();
        let was_broken = self.shared.is_audit_broken.swap(written.is_err(), Ordering::Relaxed);
        if let Err(why) = &written
            && !was_broken
        {
            let text = "the audit log cannot be written, so operations are refused until it can";
            (self.shared.say)(&format!(
                "{text} ({why}): make room, or send SIGUSR1 for a new file"
            ));
        }
        written.is_ok()
    }

    /// Sends the answers of a connection, and ends it if it has ended.
    fn send(&mut self, key: usize) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        if let Err(_closed) = connection.send() {
            return self.close(key, "failed");
        }
        let has_more = connection.has_request(&self.policy.limits);
        if connection.is_flushed() && (connection.ends || connection.has_ended && !has_more) {
            let why = if connection.ends { "cannot be read" } else { "ended" };
            return self.close(key, why);
        }
        if has_more || connection.may_read() {
            self.again.push(key);
        }
    }

    fn sweep(&mut self) {
        let now = Instant::now();
        if now.duration_since(self.swept) < SWEEP {
            return;
        }
        self.swept = now;
        self.limiters.sum_up(&mut self.lines, &self.policy);
        let expired: Vec<(usize, &str)> = self
            .connections
            .iter()
            .filter_map(|(key, connection)| {
                Some((key, connection.expired(&self.policy.limits, now)?))
            })
            .collect();
        expired.into_iter().for_each(|(key, why)| self.close(key, why));
    }

    /// Closes connections that wait for nothing. The signer is stopping.
    fn close_idle(&mut self) {
        let limits = self.policy.limits;
        let idle =
            |connection: &Connection| connection.is_flushed() && !connection.has_request(&limits);
        let idle: Vec<usize> =
            self.connections.iter().filter(|(_, it)| idle(it)).map(|(key, _)| key).collect();
        idle.into_iter().for_each(|key| self.close(key, "the signer stops"));
    }

    fn close(&mut self, key: usize, why: &str) {
        let Some(mut connection) = self.connections.try_remove(key) else {
            return;
        };
        connection.stream.end();
        let client = match &connection.state {
            State::Open { identity, .. } => self.policy.client(identity),
            State::Handshake => None,
        };
        if let State::Handshake = connection.state {
            self.shared.counters.handshakes.fetch_sub(1, Ordering::Relaxed);
            self.refused(&connection.peer, why);
        } else {
            self.limiters.connection(&mut self.lines, &connection.peer, client, why);
        }
        self.shared.counters.open.fetch_sub(1, Ordering::Relaxed);
        self.again.retain(|other| *other != key);
    }
}

impl Drop for Worker {
    /// Writes the lines about the ends of connections. After a panic, others may have the places of
    /// its connections.
    fn drop(&mut self) {
        let shaking = self.connections.iter().filter(|(_, it)| it.is_shaking_hands()).count();
        let counters = &self.shared.counters;
        counters.open.fetch_sub(self.connections.len() as u64, Ordering::Relaxed);
        counters.handshakes.fetch_sub(shaking as u64, Ordering::Relaxed);
        self.limiters.end(&mut self.lines, &self.policy);
        self.log();
    }
}
