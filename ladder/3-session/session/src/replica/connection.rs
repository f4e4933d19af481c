//! A connection of a replica: the calls of one session.

use core::cell::Cell;
use core::ops::ControlFlow;
use core::time::Duration;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::rc::Rc;

use openssl::ssl::{ErrorCode, SslStream};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, Shutdown};
use tollgate_load::thread_cpu;
use tollgate_server::in_memory::{end_pauses, is_paused};

use super::Tls;
use super::sequence::{Call, Session};

/// The values that all connections share.
pub(super) struct Shared<'a> {
    pub(super) calls: &'a Session,
    pub(super) tls: &'a Tls<'a>,
    /// The file of the body.
    pub(super) body: &'a Path,
    pub(super) body_bytes: u64,
    /// The body, if it comes from memory.
    pub(super) body_in_memory: &'a [u8],
    pub(super) head: &'a [u8],
}

/// The clock of the library in a worker: it runs in calls of libssl, but not in the system calls
/// below them. It is the CPU time of the thread, because other programs may run in between.
#[derive(Debug, Default)]
pub(super) struct LibraryClock {
    time: Cell<Duration>,
    since: Cell<Duration>,
    spans: Cell<u32>,
}

impl LibraryClock {
    fn start(&self) {
        self.since.set(thread_cpu());
    }

    fn stop(&self) {
        let span = thread_cpu().saturating_sub(self.since.get());
        self.time.set(self.time.get() + span);
        self.spans.set(self.spans.get() + 1);
    }

    /// The time so far, and the number of spans of which it consists: each has the cost of one
    /// reading of the clock, and there is one more reading outside.
    pub(super) const fn read(&self) -> (Duration, u32) {
        (self.time.get(), self.spans.get())
    }
}

/// The socket of a connection, which stops the library's clock in system calls.
#[derive(Debug)]
struct Wire {
    socket: Rc<OwnedFd>,
    clock: Rc<LibraryClock>,
}

impl Read for Wire {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.clock.stop();
        let count = rustix::io::read(&self.socket, out);
        self.clock.start();
        Ok(count?)
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.clock.stop();
        let count = rustix::io::write(&self.socket, bytes);
        self.clock.start();
        Ok(count?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The next event that a connection needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// None: the handshake is paused until the operations of several connections run as one batch.
    Again,
    /// The session is over.
    Over,
    Readable,
    Writable,
}

enum Phase {
    Accepted,
    Handshake,
    Request,
    Body,
    End,
    Linger,
    /// The socket is gone.
    Over,
}

/// A connection and its progress in the session.
pub(super) struct Connection {
    socket: Rc<OwnedFd>,
    phase: Phase,
    clock: Rc<LibraryClock>,
    stream: Option<SslStream<Wire>>,
    /// Memory that a server allocates and that the replay does not read.
    memory: Vec<Vec<u8>>,
    request: Vec<u8>,
    received: usize,
    file: Option<OwnedFd>,
    /// The piece of the file, and the number of bytes of it that are copied.
    piece: (Vec<u8>, usize),
    /// The number of bytes of the file that were read.
    read: u64,
    /// The bytes for the next `SSL_write`.
    record: Vec<u8>,
}

type Step = io::Result<ControlFlow<Turn>>;

impl Connection {
    pub(super) fn new(socket: OwnedFd, calls: &Session, clock: &Rc<LibraryClock>) -> Self {
        Self {
            socket: Rc::new(socket),
            phase: Phase::Accepted,
            clock: Rc::clone(clock),
            stream: None,
            memory: allocated(&calls.connection_bytes),
            request: Vec::new(),
            received: 0,
            file: None,
            piece: (Vec::new(), 0),
            read: 0,
            record: Vec::new(),
        }
    }

    pub(super) fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// Makes all progress that is possible now.
    pub(super) fn turn(&mut self, shared: &Shared<'_>) -> io::Result<Turn> {
        for call in &shared.calls.at_turn {
            self.make(*call)?;
        }
        loop {
            let step = match core::mem::replace(&mut self.phase, Phase::Over) {
                Phase::Accepted => self.begin(shared)?,
                Phase::Handshake => self.handshake()?,
                Phase::Request => self.request(shared)?,
                Phase::Body => self.body(shared)?,
                Phase::End => self.end(shared)?,
                Phase::Linger => self.linger()?,
                Phase::Over => return Err(io::Error::other("an event after the end")),
            };
            if let ControlFlow::Break(turn) = step {
                return Ok(turn);
            }
        }
    }

    fn begin(&mut self, shared: &Shared<'_>) -> Step {
        for call in &shared.calls.before_handshake {
            self.make(*call)?;
        }
        let wire = Wire { socket: Rc::clone(&self.socket), clock: Rc::clone(&self.clock) };
        self.stream = Some(self.timed(|_| SslStream::new(shared.tls.connection()?, wire))?);
        self.phase = Phase::Handshake;
        Ok(ControlFlow::Continue(()))
    }

    fn handshake(&mut self) -> Step {
        let step = self.library(|stream| {
            stream.accept()?;
            end_pauses(stream.ssl());
            Ok(())
        })?;
        self.phase = if step.is_continue() { Phase::Request } else { Phase::Handshake };
        Ok(step)
    }

    /// Reads the request: some servers read until the library would block.
    fn request(&mut self, shared: &Shared<'_>) -> Step {
        if self.request.is_empty() {
            self.request = vec![0; shared.calls.read_bytes];
        }
        let (mut request, mut received) = (core::mem::take(&mut self.request), self.received);
        let step = self.library(|stream| {
            loop {
                received += stream.ssl_read(&mut request[received..])?;
                if received == request.len() || !shared.calls.reads_until_blocked {
                    return Ok::<(), openssl::ssl::Error>(());
                }
            }
        });
        (self.request, self.received) = (request, received);
        let step = step?;
        if !self.request[..received].ends_with(b"\r\n\r\n") {
            self.phase = Phase::Request;
            return match step {
                ControlFlow::Continue(()) if received == self.request.len() => {
                    Err(io::Error::other("a longer request"))
                }
                step => Ok(step),
            };
        }
        self.memory.extend(allocated(&shared.calls.request_bytes));
        for call in &shared.calls.before_body {
            match call {
                Call::Open => {
                    let flags = OFlags::RDONLY | OFlags::NONBLOCK;
                    self.file = Some(rustix::fs::open(shared.body, flags, Mode::empty())?);
                }
                Call::Fstat => {
                    let _ = rustix::fs::fstat(self.opened()?)?;
                }
                other => self.make(*other)?,
            }
        }
        self.record = Vec::with_capacity(shared.calls.record_bytes);
        self.record.extend_from_slice(shared.head);
        self.phase = Phase::Body;
        Ok(ControlFlow::Continue(()))
    }

    /// Reads the body, and writes a record when the buffer is full or the body ends.
    fn body(&mut self, shared: &Shared<'_>) -> Step {
        self.phase = Phase::Body;
        let room = shared.calls.record_bytes - self.record.len();
        let left = self.piece.0.len() - self.piece.1;
        if room > 0 && left == 0 && self.read < shared.body_bytes {
            self.read_file(shared)?;
            return Ok(ControlFlow::Continue(()));
        }
        if room > 0 && left > 0 {
            let from = self.piece.1;
            let end = from + room.min(left);
            self.timed(|this| this.record.extend_from_slice(&this.piece.0[from..end]));
            self.piece.1 = end;
            return Ok(ControlFlow::Continue(()));
        }
        if self.record.is_empty() {
            self.phase = Phase::End;
            return Ok(ControlFlow::Continue(()));
        }
        let record = core::mem::take(&mut self.record);
        let step = self.library(|stream| stream.ssl_write(&record).map(|_| ()));
        self.record = record;
        let step = step?;
        if step.is_continue() {
            self.record.clear();
        }
        Ok(step)
    }

    fn read_file(&mut self, shared: &Shared<'_>) -> io::Result<()> {
        if self.file.is_none() {
            self.timed(|this| this.piece = (shared.body_in_memory.to_vec(), 0));
            self.read = shared.body_bytes;
            return Ok(());
        }
        let left = usize::try_from(shared.body_bytes - self.read).unwrap_or(usize::MAX);
        let length = left.min(shared.calls.file_bytes);
        let mut piece = core::mem::take(&mut self.piece.0);
        self.timed(|_| piece.resize(length, 0));
        let mut at = 0;
        while at < length {
            match rustix::io::pread(self.opened()?, &mut piece[at..], self.read)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => {
                    at += count;
                    self.read += u64::try_from(count).unwrap_or(u64::MAX);
                }
            }
        }
        self.piece = (piece, 0);
        Ok(())
    }

    fn end(&mut self, shared: &Shared<'_>) -> Step {
        for call in &shared.calls.at_end {
            match call {
                Call::CloseFile => self.file = None,
                // The client may have left after the response. A server ends the same way then.
                Call::SslShutdown => _ = self.in_library(SslStream::shutdown)?,
                other => self.make(*other)?,
            }
        }
        self.phase = Phase::Linger;
        if shared.calls.lingers { Ok(ControlFlow::Continue(())) } else { self.close() }
    }

    /// Reads until the client has closed.
    fn linger(&mut self) -> Step {
        let mut rest = [0; 4096];
        loop {
            match rustix::io::read(&self.socket, &mut rest) {
                Ok(1..) => {}
                Err(Errno::AGAIN) => {
                    self.phase = Phase::Linger;
                    return Ok(ControlFlow::Break(Turn::Readable));
                }
                Ok(0) | Err(_) => return self.close(),
            }
        }
    }

    fn close(&mut self) -> Step {
        if let Some(stream) = self.stream.take() {
            self.timed(|this| {
                drop(stream); // SSL_free
                this.memory.clear();
            });
        }
        // The socket closes with the connection.
        Ok(ControlFlow::Break(Turn::Over))
    }

    /// Makes a call that needs no more than the socket.
    fn make(&self, call: Call) -> io::Result<()> {
        match call {
            Call::Peek => {
                let _ = rustix::net::recv(&self.socket, &mut [0_u8; 1], RecvFlags::PEEK)?;
            }
            // The client may have left.
            Call::ShutdownWriting => _ = rustix::net::shutdown(&self.socket, Shutdown::Write),
            Call::SocketError => _ = rustix::net::sockopt::socket_error(&self.socket)?,
            Call::TcpNodelay => rustix::net::sockopt::set_tcp_nodelay(&self.socket, true)?,
            Call::ThreadClock => _ = thread_cpu(),
            other => {
                return Err(io::Error::other(format!("{other:?} is not expected in this place")));
            }
        }
        Ok(())
    }

    fn opened(&self) -> io::Result<&OwnedFd> {
        self.file.as_ref().ok_or_else(|| io::Error::other("no file is open"))
    }

    /// Runs a call of libssl with the library's clock running.
    fn in_library<R>(&mut self, call: impl FnOnce(&mut SslStream<Wire>) -> R) -> io::Result<R> {
        let stream = self.stream.as_mut().ok_or_else(|| io::Error::other("no connection"))?;
        self.clock.start();
        let result = call(stream);
        self.clock.stop();
        Ok(result)
    }

    /// Like [`Self::in_library`], and returns whether the connection must wait.
    fn library(
        &mut self,
        call: impl FnOnce(&mut SslStream<Wire>) -> Result<(), openssl::ssl::Error>,
    ) -> Step {
        match self.in_library(call)? {
            Ok(()) => Ok(ControlFlow::Continue(())),
            Err(error) if is_paused(&error) => Ok(ControlFlow::Break(Turn::Again)),
            Err(error) => match error.code() {
                ErrorCode::WANT_READ => Ok(ControlFlow::Break(Turn::Readable)),
                ErrorCode::WANT_WRITE => Ok(ControlFlow::Break(Turn::Writable)),
                _ => Err(io::Error::other(error)),
            },
        }
    }

    /// Counts the time of `work` as the library's.
    fn timed<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        self.clock.start();
        let result = work(self);
        self.clock.stop();
        result
    }
}

fn allocated(lengths: &[usize]) -> Vec<Vec<u8>> {
    lengths.iter().map(|&length| Vec::with_capacity(length)).collect()
}
