//! A request on its way to the signer, and what has come of its answer.

use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv,
    send, socket_with,
};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use tollgate_keyless::{ErrorCode, HEADER_BYTES, Message, Reply, Split, split};
use zeroize::Zeroizing;

use super::failure::Failure;

/// The longest body of an answer, in bytes: the size of the longest key, and the other items.
pub(super) const BODY_MAX: usize = 2048;
/// The time between two attempts to connect while the queue of the signer's socket is full.
const RETRY: Duration = Duration::from_millis(1);
/// The shortest time of a timer.
const TICK: Duration = Duration::from_nanos(1);

/// The answer of a signer.
pub(crate) type Answer = Result<Zeroizing<Vec<u8>>, ErrorCode>;

/// A request, which alone uses its connection. If it is dropped before its end, the connection is
/// closed, so that no other request gets its answer. Without `Debug`: it holds decrypted messages.
pub(crate) struct Flight {
    id: u32,
    request: Vec<u8>,
    sent: usize,
    /// Of full size, because growing would leave copies of a decrypted message in memory.
    received: Zeroizing<Vec<u8>>,
    len: usize,
    pub(super) socket: Option<OwnedFd>,
    /// Ends the wait of a paused job. Other requests need none.
    timer: Option<OwnedFd>,
    /// The connection has served other requests. If it has ended meanwhile, another one is opened.
    pub(super) is_old: bool,
    /// It tries whether a silence has ended.
    pub(super) is_trial: bool,
    /// Earlier signers have used up its time. If it is late, that may not be due to this signer.
    pub(crate) is_short: bool,
    deadline: Instant,
    permit: Option<Permit>,
}

/// One of the requests that jobs are paused for.
#[derive(Debug)]
pub(super) struct Permit(pub(super) Arc<AtomicUsize>);

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Flight {
    pub(super) fn new(
        id: u32,
        request: Vec<u8>,
        old: Option<OwnedFd>,
        deadline: Instant,
        is_trial: bool,
    ) -> Self {
        Self {
            id,
            request,
            sent: 0,
            received: Zeroizing::new(vec![0; HEADER_BYTES + BODY_MAX]),
            len: 0,
            is_old: old.is_some(),
            socket: old,
            timer: None,
            is_trial,
            is_short: false,
            deadline,
            permit: None,
        }
    }

    /// Takes a permit to be paused, if fewer than `max` have one.
    pub(super) fn permit(&mut self, paused: &Arc<AtomicUsize>, max: usize) -> bool {
        if self.permit.is_none() {
            let permit = (paused.fetch_add(1, Ordering::Relaxed), Permit(Arc::clone(paused)));
            self.permit = Some(permit).filter(|(others, _)| *others < max).map(|(_, it)| it);
        }
        self.permit.is_some()
    }

    /// Goes over a new connection.
    pub(super) fn start_again(&mut self) {
        (self.socket, self.is_old, self.sent) = (None, false, 0);
    }

    /// Connects, sends and receives as far as that is possible without a wait. Returns `None` if
    /// the answer has not come.
    pub(super) fn advance(&mut self, path: &Path) -> Result<Option<Answer>, Failure> {
        if self.socket.is_none() {
            match open(path) {
                Ok(socket) => self.socket = Some(socket),
                Err(Errno::AGAIN) => return self.pending(),
                Err(why) => return Err(Failure::Gone(why)),
            }
        }
        let Some(socket) = &self.socket else {
            return self.pending();
        };
        if self.sent < self.request.len() {
            // NOSIGNAL: the program may not ignore SIGPIPE.
            match send(socket, &self.request[self.sent..], SendFlags::NOSIGNAL) {
                Ok(count) => self.sent += count,
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(_) => return Err(Failure::Closed),
            }
            return self.pending(); // no signer has answered yet
        }
        loop {
            match recv(socket, &mut self.received[self.len..], RecvFlags::empty()) {
                Ok((_, count)) if count > 0 => self.len += count,
                Err(Errno::AGAIN) => return self.pending(),
                Err(Errno::INTR) => {}
                Ok(_) | Err(_) if self.len > 0 => return Err(Failure::Cut),
                Ok(_) | Err(_) => return Err(Failure::Closed),
            }
            if let Some(answer) = self.answer()? {
                return Ok(Some(answer));
            }
        }
    }

    fn pending(&self) -> Result<Option<Answer>, Failure> {
        if Instant::now() < self.deadline { Ok(None) } else { Err(Failure::Late) }
    }

    /// Waits until it can go on, or until the deadline.
    pub(super) fn wait(&self) -> Result<(), Failure> {
        let Some(socket) = &self.socket else {
            // The queue of the signer's socket is full. No event says when it is not.
            thread::sleep(RETRY);
            return Ok(());
        };
        let left = self.deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
        let events = if self.is_sent() { PollFlags::IN } else { PollFlags::OUT };
        match poll(&mut [PollFd::new(socket, events)], Some(&left)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(_) => Err(Failure::Closed),
        }
    }

    fn is_sent(&self) -> bool {
        self.sent == self.request.len()
    }

    /// Makes `epoll` readable when the request can go on, and at its deadline. Fails if there is no
    /// connection yet.
    pub(crate) fn watch(&mut self, epoll: &OwnedFd) -> Result<(), Errno> {
        let event = if self.is_sent() { epoll::EventFlags::IN } else { epoll::EventFlags::OUT };
        let socket = self.socket.as_ref().ok_or(Errno::NOTCONN)?;
        let timer = match &mut self.timer {
            Some(timer) => timer,
            none => none.insert(timerfd_create(
                TimerfdClockId::Monotonic,
                TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK,
            )?),
        };
        // A time of 0 would stop the timer.
        let left = self.deadline.saturating_duration_since(Instant::now()).max(TICK);
        let it_value = Timespec::try_from(left).map_err(|_| Errno::INVAL)?;
        let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        let set = Itimerspec { it_interval, it_value };
        timerfd_settime(&*timer, TimerfdTimerFlags::empty(), &set)?;
        epoll::add(epoll, &*timer, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
        epoll::add(epoll, socket, epoll::EventData::new_u64(0), event)
    }

    /// Ends [`watch`](Self::watch): the connection outlives the request, and is not to wake its
    /// job.
    pub(crate) fn unwatch(&self, epoll: &OwnedFd) {
        for descriptor in self.socket.iter().chain(&self.timer) {
            // It fails if it was not watched.
            let _ = epoll::delete(epoll, descriptor);
        }
    }

    /// Reads the answer, if it is there.
    fn answer(&self) -> Result<Option<Answer>, Failure> {
        match split(&self.received[..self.len], BODY_MAX) {
            Split::Frame { frame, len } if len == self.len && frame.id == self.id => {
                let message = Message::read(frame).map_err(|_| Failure::Nonsense)?;
                match message.reply().map_err(|_| Failure::Nonsense)? {
                    Reply::Result(result) => Ok(Some(Ok(Zeroizing::new(result.to_vec())))),
                    Reply::Refused(why) => Ok(Some(Err(why))),
                    Reply::Pong(_) => Err(Failure::Nonsense),
                }
            }
            Split::Frame { .. } | Split::Broken { .. } => Err(Failure::Nonsense),
            Split::Partial => Ok(None),
        }
    }
}

/// Connects to the signer. [`Errno::AGAIN`] says that its queue is full.
pub(super) fn open(path: &Path) -> Result<OwnedFd, Errno> {
    let address = SocketAddrUnix::new(path)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    loop {
        match connect(&socket, &address) {
            Ok(()) => return Ok(socket),
            Err(Errno::INTR) => {}
            Err(why) => return Err(why),
        }
    }
}
