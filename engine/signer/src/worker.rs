//! A worker: a thread with an event loop. A turn takes the requests that have come, runs a batch of
//! operations, writes the audit log, and answers. So the next requests of those who got answers
//! come while the other operations wait, and batches stay full.

mod accepting;
mod answering;

use core::sync::atomic::Ordering;
use core::time::Duration;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Instant;

use mio::net::{TcpListener, UnixListener};
use mio::{Events, Interest, Poll, Token, Waker};
use slab::Slab;
use tollgate_keyless::{ErrorCode, Frame, Message, Operation, PONG, Ski};
use tollgate_queue::{PrivateJob, Ticket};

use self::accepting::TOO_MANY;
use self::answering::Until;
use crate::answer::submit;
use crate::audit::Lines;
use crate::connection::{Connection, REQUESTS_MAX, State};
use crate::keys::Key;
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
    /// The operations without an answer: no more than the engine has slots for a worker.
    pending: Vec<Pending>,
    lines: Lines,
    /// The bytes of a read on their way to a connection.
    piece: Box<[u8]>,
    shares: Shares,
    /// The next client is accepted with TLS, if both listeners have one.
    is_tls_next: bool,
    /// A client may wait at a listener.
    clients_wait: bool,
    /// The number of handshakes that may go on in this turn.
    handshakes_left: usize,
    swept: Instant,
}

/// The place where an answer is to go: a connection, and the number of its request.
#[derive(Clone, Copy)]
struct Origin {
    connection: usize,
    id: u32,
}

/// An operation without an answer.
struct Pending {
    origin: Origin,
    operation: Operation,
    ski: Option<Ski>,
    work: Work,
}

enum Work {
    Refused(ErrorCode),
    Submitted(Ticket<PrivateJob>, Arc<Key>),
}

impl Worker {
    pub(crate) fn new(
        number: usize,
        mut listeners: Listeners,
        shared: Arc<Shared>,
    ) -> io::Result<(Self, Arc<Waker>)> {
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKE)?);
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
            piece: Box::new([0; 16 * 1024]),
            shares,
            is_tls_next: false,
            clients_wait: true,
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
            let wait = self.wait(accepts_more);
            if self.poll.poll(&mut events, wait).is_err() {
                events.clear();
            }
            self.shared.turns[self.number].fetch_add(1, Ordering::Relaxed);
            self.handshakes_left = HANDSHAKES_MAX;
            self.follow_policy();
            let mut ready = core::mem::take(&mut self.again);
            for event in &events {
                self.clients_wait |= matches!(event.token(), UNIX | TCP);
                if let Token(key) = event.token()
                    && self
                        .connections
                        .get_mut(key)
                        .is_some_and(|connection| connection.note(event))
                {
                    ready.push(key);
                }
            }
            let deadline = self.shared.stop_deadline();
            if deadline.is_some() {
                self.listeners = Listeners { unix: None, tcp: None };
                ready = self.connections.iter().map(|(key, _)| key).collect();
                ready.iter().for_each(|key| self.connections[*key].is_readable = true);
            }
            accepts_more = self.accept(&mut ready);
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

    /// Returns the longest wait for an event.
    fn wait(&self, accepts_more: bool) -> Option<Duration> {
        if accepts_more || !self.again.is_empty() || !self.pending.is_empty() {
            return Some(Duration::ZERO);
        }
        let is_busy = !self.connections.is_empty() || self.clients_wait;
        (is_busy || self.shared.has_left_out(&self.policy)).then_some(SWEEP)
    }

    /// Takes new settings. Connections whose peer is no client any more are closed, and so are
    /// those whose certificates other trust anchors have verified.
    fn follow_policy(&mut self) {
        if self.shared.generation() == self.generation {
            return;
        }
        // The operations so far were allowed; their answers leave under the same settings.
        let answered = self.answer(Until::All);
        self.again.extend(answered);
        let old = Arc::clone(&self.policy);
        self.shared.log_left_out(&mut self.lines, &old, true);
        (self.generation, self.policy) = self.shared.policy();
        let roots = |policy: &Policy| policy.tls.as_ref().map(|tls| tls.files.roots.clone());
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

    /// Takes the requests of these connections, runs a batch, and answers.
    fn turn(&mut self, ready: &[usize]) {
        self.shares.begin(self.pending.len());
        // Another connection is the first in each turn, because the operations of a turn are
        // limited.
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
        let mut ready = ready.to_vec();
        ready.extend(self.answer(Until::Batch));
        ready.sort_unstable();
        ready.dedup();
        for key in ready {
            self.send(key);
        }
    }

    /// Goes on with a handshake, and returns whether the connection is open.
    fn shake_hands(&mut self, key: usize) -> io::Result<bool> {
        let connection = &mut self.connections[key];
        if !connection.is_shaking_hands() {
            return Ok(true);
        }
        let Some(left) = self.handshakes_left.checked_sub(1) else {
            self.again.push(key);
            return Ok(false);
        };
        self.handshakes_left = left;
        match connection.stream.shake_hands() {
            Ok(Some(peer)) if self.policy.client(&peer.identity).is_some() => {
                connection.opens(peer);
                self.shared.counters.handshakes.fetch_sub(1, Ordering::Relaxed);
                self.opened(key)?;
                Ok(true)
            }
            Ok(_) => Err(ErrorKind::PermissionDenied.into()),
            Err(why) if why.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(why) => Err(why),
        }
    }

    /// Takes the requests that a connection has sent.
    fn take(&mut self, key: usize) -> io::Result<()> {
        if !self.connections.contains(key) || !self.shake_hands(key)? {
            return Ok(());
        }
        let connection = &mut self.connections[key];
        connection.receive(&mut self.piece)?;
        let State::Open { identity, .. } = &connection.state else {
            return Ok(());
        };
        let client = self.policy.client(identity).ok_or(ErrorKind::PermissionDenied)?;
        let caller = client.account.caller(&self.shared.engine.queue)?;
        let now = self.shared.started.elapsed();
        for _ in 0..REQUESTS_MAX {
            if connection.has_request() && !self.shares.allows(client.number) {
                break;
            }
            let Some(request) = connection.next() else {
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
                Ok((Message { ski, payload, .. }, operation)) => {
                    let allowed = client.check_rate(now).and_then(|()| client.key(ski, operation));
                    let origin = Origin { connection: key, id };
                    let submitted = allowed.and_then(|key| {
                        let ticket = submit(caller, key, operation, payload)?;
                        Ok(Work::Submitted(ticket, Arc::clone(key)))
                    });
                    let work = submitted.unwrap_or_else(Work::Refused);
                    connection.running += 1;
                    self.pending.push(Pending { origin, operation, ski, work });
                }
            }
        }
        Ok(())
    }

    /// Sends the answers of a connection, and ends it if it has ended.
    fn send(&mut self, key: usize) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        if let Err(_closed) = connection.send() {
            return self.close(key, "failed");
        }
        let has_more = connection.has_request();
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
        self.shared.log_left_out(&mut self.lines, &self.policy, false);
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
        let idle = |connection: &Connection| connection.is_flushed() && !connection.has_request();
        let idle: Vec<usize> = self
            .connections
            .iter()
            .filter(|(_, connection)| idle(connection))
            .map(|(key, _)| key)
            .collect();
        idle.into_iter().for_each(|key| self.close(key, "the signer stops"));
    }

    fn close(&mut self, key: usize, why: &str) {
        let Some(mut connection) = self.connections.try_remove(key) else {
            return;
        };
        connection.stream.end();
        let client = connection.client(&self.policy);
        let who = (&*connection.peer, client.map_or("", |client| &client.name));
        if connection.running > 0 {
            for gone in self.pending.extract_if(.., |waiting| waiting.origin.connection == key) {
                self.lines.operation(who, (gone.operation, gone.ski), "abandoned");
            }
        }
        if let State::Handshake = connection.state {
            self.shared.counters.handshakes.fetch_sub(1, Ordering::Relaxed);
            self.refused(&connection.peer, why);
        } else {
            self.shared.log_connection(&mut self.lines, &connection.peer, client, why);
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
        self.shared.log_left_out(&mut self.lines, &self.policy, true);
        self.log();
    }
}
