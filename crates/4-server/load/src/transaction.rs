//! One transaction: connect, shake hands, ask, read, close.

use core::time::Duration;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::sync::Arc;
use std::time::Instant;

use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use socket2::SockRef;
use tollgate_client::{Config, Connection, Error as TlsError, Event, Phase as TlsPhase};

use crate::error::Error;
use crate::http::Response;
use crate::manner::{Manner, News, Step};
use crate::phase::{Cause, Failure, Phase};
use crate::plan::Close;
use crate::socket::{Opener, Unopened, reset, reset_on_close};

/// A place for one transaction after another, in the same memory.
pub(crate) struct Slot {
    tls: Connection,
    response: Response,
    stream: Option<TcpStream>,
    /// A socket that was reset, and is watched still.
    used: Option<TcpStream>,
    progress: Progress,
    started: Instant,
    /// When the `ClientHello` was handed to the system.
    hello: Instant,
    /// The phase that is under way, and since when.
    phase: Phase,
    phase_since: Instant,
}

/// What has been reached, and told.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    connected: bool,
    client_done: bool,
    confirmed: bool,
    complete: bool,
    /// The server's `close_notify` came.
    closed: bool,
}

impl Slot {
    pub(crate) fn new(config: &Arc<Config>, manner: &Manner) -> Result<Self, Error> {
        let now = Instant::now();
        Ok(Self {
            tls: Connection::new(config).map_err(Error::Client)?,
            response: Response::new(manner.expected_bytes.unwrap_or(0)),
            stream: None,
            used: None,
            progress: Progress::default(),
            started: now,
            hello: now,
            phase: Phase::Connect,
            phase_since: now,
        })
    }

    pub(crate) const fn is_live(&self) -> bool {
        self.stream.is_some()
    }

    /// Bytes of the body so far.
    pub(crate) const fn body_bytes(&self) -> u64 {
        self.response.body_bytes()
    }

    /// Begins: opens the socket, and sends the `ClientHello` if the connection stands at once, as
    /// it does on loopback.
    pub(crate) fn start(
        &mut self,
        opener: &mut Opener,
        registry: &Registry,
        token: Token,
    ) -> Result<Result<(), Failure>, Error> {
        self.tls.reset().map_err(Error::Client)?;
        self.response.clear();
        self.progress = Progress::default();
        self.started = Instant::now();
        self.enter(Phase::Connect, self.started);
        let used = self.used.take();
        let watched = used.is_some();
        let opened = match used {
            Some(stream) => opener.connect(SockRef::from(&stream)).map(|()| stream),
            None => opener.open(),
        };
        let mut stream = match opened {
            Ok(stream) => stream,
            Err(Unopened::Ours(error)) => return Err(error),
            Err(Unopened::Counted(cause)) => return Ok(Err(Failure::new(Phase::Connect, cause))),
        };
        let sent = match write(&mut self.tls, &mut stream) {
            Ok(sent) => sent,
            Err(error) => {
                return Ok(Err(Failure::new(Phase::Connect, Cause::of_io(&error))));
            }
        };
        let interest =
            if sent { Interest::READABLE } else { Interest::READABLE | Interest::WRITABLE };
        match (watched, sent) {
            (true, true) => Ok(()),
            (true, false) => registry.reregister(&mut stream, token, interest),
            (false, _) => registry.register(&mut stream, token, interest),
        }
        .map_err(|error| Error::of_socket("watch a socket", error))?;
        self.stream = Some(stream);
        if sent {
            self.connected(Instant::now());
        }
        Ok(Ok(()))
    }

    /// Goes on after the system said that it can. On an error the socket is closed.
    pub(crate) fn drive(
        &mut self,
        manner: &Manner,
        now: Instant,
        read_closed: bool,
        tell: &mut impl FnMut(News, Instant),
    ) -> Result<Step, Failure> {
        let Some(mut stream) = self.stream.take() else {
            return Ok(Step::Going); // news of a socket that is closed already
        };
        let step = self.exchange(&mut stream, manner, now, read_closed, tell);
        match &step {
            Ok(Step::Going) => self.stream = Some(stream),
            Ok(Step::Closed) if manner.close == Close::RstAfterConfirm => {
                if manner.reuse_sockets && reset(&stream).is_ok() {
                    self.used = Some(stream);
                } else {
                    reset_on_close(&stream);
                }
            }
            Ok(Step::Closed) => {}
            // what the client has to say about it, if the socket takes it at once
            Err(_) => drop(write(&mut self.tls, &mut stream)),
        }
        let phase = self.current_phase();
        if phase != self.phase {
            self.enter(phase, now);
        }
        step
    }

    fn exchange(
        &mut self,
        stream: &mut TcpStream,
        manner: &Manner,
        now: Instant,
        read_closed: bool,
        tell: &mut impl FnMut(News, Instant),
    ) -> Result<Step, Failure> {
        let mut unsent = self.flush(stream, now);
        if !self.progress.connected {
            return unsent.map(|()| Step::Going);
        }
        loop {
            let space = self.tls.space();
            let room = space.len();
            let count = match stream.read(space) {
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                // a write that failed is told last: what the server said before may say why
                Err(error) => {
                    unsent?;
                    if error.kind() == ErrorKind::WouldBlock {
                        return Ok(Step::Going);
                    }
                    return Err(self.failure(Cause::of_io(&error)));
                }
            };
            if count == 0 && !self.progress.complete {
                unsent?;
                return self.end_of_stream(manner, now, tell);
            }
            if count == 0 {
                return Ok(Step::Closed); // whoever has the whole body needs no close_notify
            }
            self.tls.filled(count).map_err(|error| self.tls_failure(error))?;
            self.read_events(manner, tell)?;
            if self.is_over(manner) {
                return Ok(Step::Closed);
            }
            if unsent.is_ok() {
                unsent = self.flush(stream, now);
            }
            if self.is_over(manner) {
                return Ok(Step::Closed);
            }
            // a short read has emptied the socket, unless its end came without further notice
            if count < room && !read_closed && unsent.is_ok() {
                return Ok(Step::Going);
            }
        }
    }

    /// Whether the socket may be closed.
    fn is_over(&self, manner: &Manner) -> bool {
        self.progress.complete
            && match manner.close {
                Close::RstAfterConfirm => true,
                Close::Fin => self.progress.closed && self.tls.outgoing().is_empty(),
            }
    }

    fn read_events(
        &mut self,
        manner: &Manner,
        tell: &mut impl FnMut(News, Instant),
    ) -> Result<(), Failure> {
        loop {
            let mut response = Ok(());
            let established = match self.tls.poll() {
                Ok(None) => return Ok(()),
                Ok(Some(Event::Established)) => true,
                Ok(Some(Event::Data(data))) => {
                    response = self.response.read(data);
                    false
                }
                Ok(Some(Event::Closed)) => {
                    self.progress.closed = true;
                    false
                }
                Err(error) => return Err(self.tls_failure(error)),
            };
            let now = Instant::now(); // with the work that this event took
            if established {
                self.progress.client_done = true;
                let handshake = now.saturating_duration_since(self.hello);
                let facts = self.tls.facts();
                let (hello_retry, verified) = (facts.hello_retry, facts.signature_verified);
                tell(News::ClientDone { handshake, hello_retry, verified }, now);
                if manner.request.is_empty() {
                    self.tls.close();
                } else if let Err(error) = self.tls.send(&manner.request) {
                    return Err(self.tls_failure(error));
                }
            }
            if !self.progress.confirmed && self.tls.confirmation().is_some() {
                self.progress.confirmed = true;
                tell(News::Confirmed, now);
            }
            response.map_err(|cause| self.failure(cause))?;
            self.look_for_end(manner, now, tell)?;
        }
    }

    /// Whether the transaction is complete now, or cannot become so any more.
    fn look_for_end(
        &mut self,
        manner: &Manner,
        now: Instant,
        tell: &mut impl FnMut(News, Instant),
    ) -> Result<(), Failure> {
        let Progress { confirmed, complete, closed, .. } = self.progress;
        if complete {
            return Ok(());
        }
        let done = if manner.expected_bytes.is_none() {
            confirmed
        } else if closed {
            self.response.is_complete() || {
                self.response.end().map_err(|cause| self.failure(cause))?;
                true
            }
        } else {
            self.response.is_complete()
        };
        if done && !confirmed {
            // a body that answers nothing, or a close_notify before ours
            return Err(self.failure(Cause::Closed));
        }
        if done {
            self.progress.complete = true;
            let transaction = now.saturating_duration_since(self.started);
            tell(News::Complete { transaction }, now);
            if manner.close == Close::Fin {
                self.tls.close();
            }
        } else if closed {
            return Err(self.failure(Cause::Closed));
        }
        Ok(())
    }

    fn end_of_stream(
        &mut self,
        manner: &Manner,
        now: Instant,
        tell: &mut impl FnMut(News, Instant),
    ) -> Result<Step, Failure> {
        self.tls.end_of_stream().map_err(|error| self.tls_failure(error))?;
        self.look_for_end(manner, now, tell)?;
        if self.progress.complete { Ok(Step::Closed) } else { Err(self.failure(Cause::Closed)) }
    }

    fn flush(&mut self, stream: &mut TcpStream, now: Instant) -> Result<(), Failure> {
        if self.tls.outgoing().is_empty() {
            return Ok(());
        }
        let sent =
            write(&mut self.tls, stream).map_err(|error| self.failure(Cause::of_io(&error)))?;
        if sent && !self.progress.connected {
            self.connected(now);
        }
        Ok(())
    }

    fn connected(&mut self, now: Instant) {
        self.progress.connected = true;
        self.hello = now;
        self.enter(Phase::Hello, now);
    }

    const fn enter(&mut self, phase: Phase, now: Instant) {
        self.phase = phase;
        self.phase_since = now;
    }

    fn current_phase(&self) -> Phase {
        if !self.progress.connected {
            return Phase::Connect;
        }
        if self.progress.complete {
            return Phase::Close;
        }
        match self.tls.phase() {
            // one of the sides closed, and there is no whole transaction yet
            TlsPhase::Close if self.progress.confirmed => Phase::Data,
            TlsPhase::Close => Phase::Confirm,
            phase => phase.into(),
        }
    }

    fn failure(&self, cause: Cause) -> Failure {
        Failure::new(self.current_phase(), cause)
    }

    fn tls_failure(&self, error: TlsError) -> Failure {
        let cause = match error {
            TlsError::Alert { description, .. } => Cause::Alert(description.0),
            TlsError::EndOfStream { .. } => Cause::Closed,
            TlsError::Violation { violation, .. } => Cause::Violation(violation.to_string()),
            TlsError::Misuse(_) | TlsError::Unavailable(_) => Cause::Io(error.to_string()),
        };
        self.failure(cause)
    }

    /// Ends the transaction if its phase has lasted longer than `max`.
    pub(crate) fn expire(&mut self, now: Instant, max: Duration) -> Option<Failure> {
        let late = self.is_live() && now.saturating_duration_since(self.phase_since) > max;
        late.then(|| {
            let stream = self.stream.take();
            if let Some(stream) = &stream {
                reset_on_close(stream); // nobody answers there: nothing is owed, and no port waits
            }
            Failure::new(self.phase, Cause::Deadline)
        })
    }

    /// Drops the connection, whatever it was doing.
    pub(crate) fn abandon(&mut self) {
        self.stream = None;
    }
}

/// Writes what waits; whether all of it went.
fn write(tls: &mut Connection, stream: &mut TcpStream) -> io::Result<bool> {
    loop {
        let waiting = tls.outgoing();
        if waiting.is_empty() {
            return Ok(true);
        }
        match stream.write(waiting) {
            Ok(count) => tls.sent(count).map_err(io::Error::other)?,
            // NotConnected: the answer to the SYN has not come yet
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected) =>
            {
                return Ok(false);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
