//! A worker's connection to Redis. No call waits.
//!
//! A session leaves before its ID reaches the client, which may come to another server at once.
//! Replies come in the order of the commands. If one is late, or is not what was asked for, the worker closes the connection, does without
//! Redis for a second, and then connects again; until then no handshake waits.

use core::sync::atomic::Ordering;
use core::time::Duration;
use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;

use std::time::Instant;

use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use zeroize::{Zeroize as _, Zeroizing};

use super::cache::{Cache, SESSION_BYTES_MAX, count};
use super::identifier::{SessionId, maker, open};
use super::resp::{Parsed, Reply, command, parse};
use super::{Redis, identifier};
use crate::certificate::read;
use crate::error::Error;
use crate::notice::{Notice, Notices};
use crate::tickets::{TicketKey, Tickets};

/// Time without Redis after a failure.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest time to connect and to log in.
const CONNECT_LIMIT: Duration = Duration::from_secs(1);
/// The maximum number of commands without a reply.
const COMMANDS_MAX: usize = 4096;
/// The maximum number of bytes that wait to be sent.
const UNSENT_BYTES_MAX: usize = 1024 * 1024;
/// The longest value: a session with its nonce and tag.
const VALUE_BYTES_MAX: usize = SESSION_BYTES_MAX + 64;
/// Sessions have this prefix before their ID, so that other programs can use the same Redis.
const PREFIX: &[u8] = b"tollgate:";

/// The connection that waits for a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    /// Its key in its worker.
    pub(crate) key: usize,
    /// Its number, unique within the server: another connection may have the key by then.
    pub(crate) number: u64,
}

/// The password of Redis.
pub(crate) type Password = Arc<Zeroizing<Vec<u8>>>;

/// Reads a password: the first line of a file.
pub(crate) fn password(path: &Path) -> Result<Password, Error> {
    let mut bytes = read("the password of Redis", path)?;
    let end = bytes.iter().position(|byte| b"\r\n".contains(byte)).unwrap_or(bytes.len());
    bytes.truncate(end);
    Ok(Arc::new(bytes))
}

/// A command whose reply has not come.
struct Sent {
    command: Command,
    deadline: Instant,
}

enum Command {
    LogIn,
    /// The last command before the connection is used.
    Ping,
    Store,
    Remove,
    Find(SessionId, Owner),
}

/// A worker's connection to Redis.
pub(crate) struct Remote {
    redis: Redis,
    password: Option<Password>,
    registry: Registry,
    token: Token,
    cache: Arc<Cache>,
    tickets: Arc<Tickets>,
    notices: Arc<Notices>,
    socket: Option<TcpStream>,
    /// Redis has answered on this connection.
    is_up: bool,
    /// The socket may have bytes.
    may_read: bool,
    /// When to connect again.
    retry: Instant,
    sent: VecDeque<Sent>,
    /// The number of the last commands in `sent` that wait for the next tick.
    queued: usize,
    unsent: Vec<u8>,
    received: Vec<u8>,
    answered: Vec<Owner>,
}

impl Remote {
    /// Connects at the first [tick](Self::tick).
    pub(crate) fn new(
        redis: &Redis,
        password: Option<Password>,
        (registry, token): (Registry, Token),
        (cache, tickets): (&Arc<Cache>, &Arc<Tickets>),
        notices: &Arc<Notices>,
    ) -> Self {
        Self {
            redis: redis.clone(),
            password,
            registry,
            token,
            cache: Arc::clone(cache),
            tickets: Arc::clone(tickets),
            notices: Arc::clone(notices),
            socket: None,
            is_up: false,
            may_read: false,
            retry: Instant::now(),
            sent: VecDeque::new(),
            queued: 0,
            unsent: Vec::new(),
            received: Vec::new(),
            answered: Vec::new(),
        }
    }

    /// Asks for a session. Returns false if the handshake must do without it.
    pub(super) fn ask(&mut self, id: &SessionId, owner: Owner, now: Instant) -> bool {
        let may = self.may_send();
        if may {
            self.send(Command::Find(*id, owner), &[b"GET", &name(id)], now + self.redis.limit);
        } else {
            count(&self.cache.counts.redis_unasked);
        }
        may
    }

    /// Stores a session for its life, in seconds.
    pub(super) fn store(&mut self, key: &TicketKey, id: &SessionId, der: &[u8], seconds: i64) {
        let sealed = if self.may_send() { identifier::seal(key, id, der).ok() } else { None };
        let Some(sealed) = sealed else {
            return count(&self.cache.counts.redis_unstored);
        };
        let life = seconds.max(1).to_string();
        let deadline = Instant::now() + self.redis.limit;
        let parts = [b"SET", &name(id)[..], &sealed, b"EX", life.as_bytes()];
        self.send(Command::Store, &parts, deadline);
    }

    /// Removes a session.
    pub(super) fn remove(&mut self, id: &SessionId) {
        if self.may_send() {
            let deadline = Instant::now() + self.redis.limit;
            self.send(Command::Remove, &[b"DEL", &name(id)], deadline);
        }
    }

    fn may_send(&self) -> bool {
        self.is_up && self.sent.len() < COMMANDS_MAX && self.unsent.len() < UNSENT_BYTES_MAX
    }

    fn send(&mut self, kind: Command, parts: &[&[u8]], deadline: Instant) {
        command(&mut self.unsent, parts);
        self.sent.push_back(Sent { command: kind, deadline });
        self.queued += 1;
        // the next tick meets an error again, and acts on it
        let _ = self.flush();
    }

    /// The socket has an event.
    pub(crate) const fn wake(&mut self) {
        self.may_read = true;
    }

    /// Returns how long the worker may wait for events.
    pub(crate) fn wait(&self, now: Instant) -> Duration {
        let next = match (&self.socket, self.sent.front()) {
            (Some(_), Some(sent)) => sent.deadline,
            (Some(_), None) => now + PAUSE,
            (None, _) => self.retry,
        };
        next.saturating_duration_since(now)
    }

    /// Connects, sends, receives, and gives up what is late. Returns the connections whose question
    /// is answered, or will not be.
    pub(crate) fn tick(&mut self, now: Instant) -> Vec<Owner> {
        if self.socket.is_none() && now >= self.retry {
            self.connect(now).unwrap_or_else(|why| self.fail(&why.to_string(), now));
        }
        // The time of Redis begins now, not when this thread was busy with handshakes.
        let begins = now + self.redis.limit;
        for sent in self.sent.iter_mut().rev().take(core::mem::take(&mut self.queued)) {
            sent.deadline = sent.deadline.max(begins);
        }
        if let Err(why) = self.exchange(now) {
            self.fail(&why.to_string(), now);
        }
        core::mem::take(&mut self.answered)
    }

    fn connect(&mut self, now: Instant) -> io::Result<()> {
        let mut socket = TcpStream::connect(self.redis.address)?;
        socket.set_nodelay(true)?;
        let both = Interest::READABLE | Interest::WRITABLE;
        self.registry.register(&mut socket, self.token, both)?;
        self.socket = Some(socket);
        let deadline = now + CONNECT_LIMIT;
        if let Some(password) = self.password.clone() {
            let user = self.redis.user.clone();
            let user = user.as_ref().map(String::as_bytes);
            let parts = [Some(&b"AUTH"[..]), user, Some(&password[..])];
            let parts: Vec<&[u8]> = parts.into_iter().flatten().collect();
            self.send(Command::LogIn, &parts, deadline);
        }
        self.send(Command::Ping, &[b"PING"], deadline);
        Ok(())
    }

    fn exchange(&mut self, now: Instant) -> io::Result<()> {
        if self.socket.is_none() {
            return Ok(());
        }
        self.flush()?;
        let is_late = self.sent.front().is_some_and(|sent| sent.deadline <= now);
        // what has come in time counts, even if this thread was busy
        if core::mem::take(&mut self.may_read) || is_late {
            self.receive(now)?;
        }
        match self.sent.front() {
            Some(sent) if sent.deadline <= now => Err(io::Error::other("no answer in time")),
            _ => Ok(()),
        }
    }

    /// Sends what waits, as much as the kernel takes.
    fn flush(&mut self) -> io::Result<()> {
        let Some(socket) = &mut self.socket else {
            return Ok(());
        };
        while !self.unsent.is_empty() {
            match socket.write(&self.unsent) {
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => return Err(why),
            }
        }
        Ok(())
    }

    fn receive(&mut self, now: Instant) -> io::Result<()> {
        let mut piece = [0; 4096];
        loop {
            let socket = self.socket.as_mut().expect("the caller has checked it");
            match socket.read(&mut piece) {
                Ok(0) => return Err(io::Error::other("it closed the connection")),
                Ok(count) => self.received.extend_from_slice(&piece[..count]),
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(why) if why.kind() == io::ErrorKind::Interrupted => continue,
                Err(why) => return Err(why),
            }
            let received = core::mem::take(&mut self.received);
            let mut at = 0;
            loop {
                match parse(&received[at..], VALUE_BYTES_MAX) {
                    Parsed::Partial => break,
                    Parsed::Nonsense => return Err(nonsense()),
                    Parsed::Reply(reply, used) => {
                        self.take(&reply, now)?;
                        at += used;
                    }
                }
            }
            self.received = received;
            self.received.drain(..at);
        }
    }

    /// Handles the reply to the oldest command.
    fn take(&mut self, reply: &Reply<'_>, now: Instant) -> io::Result<()> {
        let Sent { command, deadline } = self.sent.pop_front().ok_or_else(nonsense)?;
        let counts = &self.cache.counts;
        match (command, reply) {
            (Command::LogIn | Command::Ping, Reply::Error(why)) => {
                let why = String::from_utf8_lossy(why);
                return Err(io::Error::other(format!(
                    "it refused the login: {}",
                    why.escape_debug()
                )));
            }
            (Command::LogIn, Reply::Status(_)) | (Command::Remove, Reply::Integer) => {}
            (Command::Ping, Reply::Status(b"PONG")) => self.begin(),
            (Command::Store, Reply::Status(_)) => count(&counts.redis_stored),
            // for example, if it has no memory left
            (Command::Store, Reply::Error(_)) => count(&counts.redis_unstored),
            (Command::Remove, Reply::Error(_)) => {}
            (Command::Find(id, owner), Reply::Value(Some(sealed))) => {
                let opened = maker(&self.tickets, &id).and_then(|key| open(&key, &id, sealed));
                match opened {
                    Some(session) => {
                        self.cache.put(id, Arc::new(session), Instant::now());
                        count(&counts.redis_found);
                    }
                    None => count(&counts.redis_unreadable),
                }
                self.answered.push(owner);
            }
            (Command::Find(_, owner), Reply::Value(None) | Reply::Error(_)) => {
                count(&counts.redis_absent);
                self.answered.push(owner);
            }
            (command, _) => {
                // `fail` then answers its owner too
                self.sent.push_front(Sent { command, deadline: deadline.max(now) });
                return Err(nonsense());
            }
        }
        Ok(())
    }

    /// Redis has answered: from now on it is used.
    fn begin(&mut self) {
        self.is_up = true;
        count(&self.cache.counts.redis_workers);
        if !self.cache.has_redis.swap(true, Ordering::Relaxed) {
            self.notices.say(&Notice::Redis { address: self.redis.address, failure: None });
        }
    }

    /// Closes the connection. Those that wait for an answer do without.
    fn fail(&mut self, why: &str, now: Instant) {
        self.socket = None;
        // it may have the password
        self.unsent.zeroize();
        self.received.clear();
        let counts = &self.cache.counts;
        for sent in self.sent.drain(..) {
            if let Command::Find(_, owner) = sent.command {
                count(&counts.redis_unanswered);
                self.answered.push(owner);
            }
        }
        if core::mem::take(&mut self.is_up) {
            counts.redis_workers.fetch_sub(1, Ordering::Relaxed);
        }
        count(&counts.redis_failures);
        self.retry = now + PAUSE;
        if self.cache.has_redis.swap(false, Ordering::Relaxed) {
            let failure = Some(why.to_owned());
            self.notices.say(&Notice::Redis { address: self.redis.address, failure });
        }
    }
}

/// Returns the name of a session in Redis.
fn name(id: &SessionId) -> Vec<u8> {
    [PREFIX, id].concat()
}

fn nonsense() -> io::Error {
    io::Error::other("it answered what nobody asked for: is it Redis?")
}
