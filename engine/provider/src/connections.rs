//! The connections of a process to its signer, on a Unix socket.
//!
//! A thread that has an operation takes a connection of its process, or opens one. It sends the
//! request and waits for the answer, up to a limit. A child that was forked has connections of its
//! own.
#![forbid(unsafe_code)]

use core::fmt;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::io::{self, ErrorKind};
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

/// The signer of a process: its connections that are not in use.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    idle: Mutex<Idle>,
    last_id: AtomicU32,
}

#[derive(Debug, Default)]
struct Idle {
    connections: Vec<OwnedFd>,
    /// The signer did not answer in time: until then, operations fail at once, so that a server with
    /// one thread still serves others.
    silent_until: Option<Instant>,
}

/// The maximum number of connections that are kept.
const IDLE_MAX: usize = 64;
/// The longest body of an answer, in bytes: the size of the longest key, and the other items.
const BODY_MAX: usize = 2048;
/// The time between two attempts to connect while the queue of the signer's socket is full.
const RETRY: Duration = Duration::from_millis(1);

/// The reason why there is no result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The signer refused it.
    Refused(ErrorCode),
    /// The signer cannot be reached, or closed the connection.
    Gone(io::Error),
    /// The signer did not answer in time.
    Late,
    /// It did not answer an earlier operation in time.
    Silent,
    /// The answer is not one of this protocol.
    Nonsense,
    /// The result is not that of this operation.
    Wrong,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(code) => write!(f, "refused: {code}"),
            Self::Gone(why) => write!(f, "cannot be reached ({why}): start it, or check `remote`"),
            Self::Late => f.write_str("did not answer in time: look at its load and messages"),
            Self::Silent => f.write_str("has not answered lately: look at its load and messages"),
            Self::Nonsense => f.write_str("gave no valid answer: check that it is tollgate signer"),
            Self::Wrong => f.write_str("gave a wrong result, which was not used: test its machine"),
        }
    }
}

impl Connections {
    /// Lets operations fail at once until this time: the signer does not answer.
    pub(crate) fn is_silent_until(&self, time: Instant) {
        self.idle().silent_until = Some(time);
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request and waits for its answer. If an old connection has ended, the request goes
    /// over a new one: a signer that was started again has forgotten its connections.
    pub(crate) fn ask(
        &self,
        path: &Path,
        (ski, operation, payload): (Ski, Operation, &[u8]),
        deadline: Instant,
    ) -> Result<Zeroizing<Vec<u8>>, Failure> {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed);
        let mut request = Vec::new();
        Message { id, opcode: operation.code(), ski: Some(ski), payload }.write(&mut request);
        let old = {
            let mut idle = self.idle();
            if idle.silent_until.is_some_and(|until| Instant::now() < until) {
                return Err(Failure::Silent);
            }
            idle.connections.pop()
        };
        let (connection, answer) = match old.map(|old| exchange(old, id, &request, deadline)) {
            None | Some(Err(Failure::Gone(_))) => {
                self.idle().connections.clear(); // they have ended too
                let new = open(path, deadline)?;
                exchange(new, id, &request, deadline)?
            }
            Some(result) => result?,
        };
        let mut idle = self.idle();
        if idle.connections.len() < IDLE_MAX {
            idle.connections.push(connection);
        }
        answer.map_err(Failure::Refused)
    }
}

/// Connects to the signer.
fn open(path: &Path, deadline: Instant) -> Result<OwnedFd, Failure> {
    let gone = |why: Errno| Failure::Gone(why.into());
    let address = SocketAddrUnix::new(path).map_err(gone)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).map_err(gone)?;
    loop {
        match connect(&socket, &address) {
            Ok(()) => return Ok(socket),
            // The queue of the socket is full. No event says when it is not.
            Err(Errno::AGAIN) if Instant::now() < deadline => thread::sleep(RETRY),
            Err(Errno::AGAIN) => return Err(Failure::Late),
            Err(Errno::INTR) => {}
            Err(why) => return Err(gone(why)),
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
            Err(why) => return Err(Failure::Gone(why.into())),
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
            Ok((_, 0)) if len == 0 => {
                return Err(Failure::Gone(ErrorKind::ConnectionReset.into()));
            }
            Ok((_, 0)) => return Err(Failure::Nonsense),
            Ok((_, count)) => len += count,
            Err(Errno::AGAIN) => wait(&connection, PollFlags::IN, deadline)?,
            Err(Errno::INTR) => {}
            Err(why) => return Err(Failure::Gone(why.into())),
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
            Err(why) => return Err(Failure::Gone(why.into())),
        }
    }
}
