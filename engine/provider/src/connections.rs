//! The connections of a process to its signer, on a Unix socket.
//!
//! A thread that has an operation takes a connection of its process, or opens one. It sends the
//! request and waits for the answer, up to a limit. A child that was forked has connections of its
//! own.
//!
//! If the signer does not answer in time, there is a silence: operations fail at once, so that a
//! server with one thread still serves others. At its end one operation tries; the others still fail.
//! If there is no answer again, the next silence is twice as long.
#![forbid(unsafe_code)]

mod failure;
mod idle;
#[cfg(test)]
mod tests;

use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv,
    send, socket_with,
};
use tollgate_keyless::{
    ErrorCode, HEADER_BYTES, Message, Operation, REFUSAL, RESPONSE, Ski, Split, split,
};
use zeroize::Zeroizing;

pub(crate) use self::failure::Failure;
use self::idle::Idle;

/// The signer of a process.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    state: Mutex<State>,
    last_id: AtomicU32,
}

#[derive(Debug, Default)]
struct State {
    /// The connections that are not in use.
    idle: Vec<Idle>,
    silence: Option<Silence>,
}

/// A time in which operations fail at once.
#[derive(Clone, Copy, Debug)]
struct Silence {
    until: Instant,
    length: Duration,
}

/// An operation's beginning: an old connection, if there is one, and whether it tries after a
/// silence.
struct Turn {
    old: Option<OwnedFd>,
    is_trial: bool,
}

/// The maximum number of connections that are kept.
const IDLE_MAX: usize = 64;
/// The longest silence, if the limit of an operation is not longer.
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// The longest body of an answer, in bytes: the size of the longest key, and the other items.
const BODY_MAX: usize = 2048;
/// The time between two attempts to connect while the queue of the signer's socket is full.
const RETRY: Duration = Duration::from_millis(1);

impl Connections {
    /// Sends a request and waits for its answer, up to a limit. If an old connection has ended, the
    /// request goes over a new one: a signer that was started again has forgotten its connections.
    pub(crate) fn ask(
        &self,
        path: &Path,
        (ski, operation, payload): (Ski, Operation, &[u8]),
        limit: Duration,
    ) -> Result<Zeroizing<Vec<u8>>, Failure> {
        let deadline = Instant::now() + limit;
        let id = self.last_id.fetch_add(1, Ordering::Relaxed);
        let mut request = Vec::new();
        Message { id, opcode: operation.code(), ski: Some(ski), payload }.write(&mut request);
        let Turn { old, is_trial } = self.begin(limit)?;
        let over = |connection| exchange(connection, id, &request, deadline);
        let result = match old.map(over) {
            None => open(path, deadline).and_then(over),
            Some(Err(Failure::Closed)) => {
                self.state().idle.clear(); // they have ended too
                open(path, deadline).and_then(over)
            }
            Some(result) => result,
        };
        self.end(result, is_trial, limit)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, limit: Duration) -> Result<Turn, Failure> {
        let mut state = self.state();
        let now = Instant::now();
        let is_trial = match &mut state.silence {
            None => false,
            Some(silence) if now < silence.until => return Err(Failure::Silent),
            // The trial ends before.
            Some(silence) => {
                silence.until = now + 2 * limit;
                true
            }
        };
        while let Some(mut idle) = state.idle.pop() {
            if let Some(old) = idle.take() {
                return Ok(Turn { old: Some(old), is_trial });
            }
        }
        Ok(Turn { old: None, is_trial })
    }

    /// Keeps the connection, and begins or ends a silence.
    fn end(
        &self,
        result: Result<Answered, Failure>,
        is_trial: bool,
        limit: Duration,
    ) -> Result<Zeroizing<Vec<u8>>, Failure> {
        let mut state = self.state();
        match result {
            Ok((connection, answer)) => {
                state.silence = None;
                if state.idle.len() < IDLE_MAX {
                    state.idle.push(Idle::new(connection));
                }
                answer.map_err(Failure::Refused)
            }
            Err(Failure::Late) => {
                state.idle.clear();
                let length = match state.silence {
                    None => Some(limit),
                    Some(last) => is_trial.then(|| (2 * last.length).min(SILENCE_MAX).max(limit)),
                };
                // If there is none, another operation has begun the silence.
                if let Some(length) = length {
                    state.silence = Some(Silence { until: Instant::now() + length, length });
                }
                Err(Failure::Late)
            }
            // Operations fail without a wait.
            Err(why) => {
                state.silence = None;
                Err(why)
            }
        }
    }
}

/// Connects to the signer.
fn open(path: &Path, deadline: Instant) -> Result<OwnedFd, Failure> {
    let address = SocketAddrUnix::new(path).map_err(Failure::Gone)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
    let socket = socket.map_err(Failure::Gone)?;
    loop {
        match connect(&socket, &address) {
            Ok(()) => return Ok(socket),
            // The queue of the socket is full. No event says when it is not.
            Err(Errno::AGAIN) if Instant::now() < deadline => thread::sleep(RETRY),
            Err(Errno::AGAIN) => return Err(Failure::Late),
            Err(Errno::INTR) => {}
            Err(why) => return Err(Failure::Gone(why)),
        }
    }
}

/// The answer of a signer, and the connection, which can be used again.
type Answered = (OwnedFd, Result<Zeroizing<Vec<u8>>, ErrorCode>);

/// Sends a request over a connection that no other thread uses, and returns the answer. After a
/// failure, the connection is closed.
fn exchange(
    connection: OwnedFd,
    id: u32,
    request: &[u8],
    deadline: Instant,
) -> Result<Answered, Failure> {
    let mut sent = 0;
    while sent < request.len() {
        // NOSIGNAL: the program may not ignore SIGPIPE.
        match send(&connection, &request[sent..], SendFlags::NOSIGNAL) {
            Ok(count) => sent += count,
            Err(Errno::AGAIN) => wait(&connection, PollFlags::OUT, deadline)?,
            Err(Errno::INTR) => {}
            Err(_) => return Err(Failure::Closed),
        }
    }
    // Of full size, because growing would leave copies of a decrypted message in memory.
    let mut received = Zeroizing::new([0_u8; HEADER_BYTES + BODY_MAX]);
    let mut len = 0;
    loop {
        match split(&received[..len], BODY_MAX) {
            Split::Frame { frame, len: whole } if whole == len && frame.id == id => {
                let message = Message::read(frame).map_err(|_| Failure::Nonsense)?;
                let answer = match (message.opcode, message.payload) {
                    (RESPONSE, result) => Ok(Zeroizing::new(result.to_vec())),
                    (REFUSAL, [code]) => {
                        Err(ErrorCode::from_number(*code).ok_or(Failure::Nonsense)?)
                    }
                    _ => return Err(Failure::Nonsense),
                };
                return Ok((connection, answer));
            }
            Split::Frame { .. } | Split::Broken { .. } => return Err(Failure::Nonsense),
            Split::Partial => {}
        }
        match recv(&connection, &mut received[len..], RecvFlags::empty()) {
            Ok((_, count)) if count > 0 => len += count,
            Err(Errno::AGAIN) => wait(&connection, PollFlags::IN, deadline)?,
            Err(Errno::INTR) => {}
            Ok(_) | Err(_) if len > 0 => return Err(Failure::Cut),
            Ok(_) | Err(_) => return Err(Failure::Closed),
        }
    }
}

/// Waits until the connection is ready, or until the deadline.
fn wait(connection: &OwnedFd, events: PollFlags, deadline: Instant) -> Result<(), Failure> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Failure::Late);
        }
        let left = Timespec::try_from(left).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
        match poll(&mut [PollFd::new(connection, events)], Some(&left)) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(_) => return Err(Failure::Closed),
        }
    }
}
