//! One transaction: connect, shake hands unless it is plain, ask and read, as often as the plan
//! says, close.

use core::time::Duration;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::sync::Arc;
use std::time::Instant;

use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use socket2::SockRef;
use tollgate_client::{Config, Error as TlsError, Event, Phase as TlsPhase};

use crate::channel::Channel;
use crate::error::Error;
use crate::http::Response;
use crate::manner::{Manner, News, Step};
use crate::phase::{Cause, Failure, Phase};
use crate::plan::Close;
use crate::socket::{Opener, Unopened, reset, reset_on_close};
use crate::task::{Marks, Progress, Task};

/// A place for one transaction after another, in the same memory.
pub(crate) struct Slot {
    channel: Channel,
    request: Vec<u8>,
    response: Response,
    stream: Option<TcpStream>,
    /// A socket that was reset, and is watched still.
    used: Option<TcpStream>,
    task: Task,
    progress: Progress,
    marks: Marks,
    /// Requests that are to be sent yet.
    requests_left: u32,
    /// Bytes of the bodies of responses that are complete.
    bytes_before: u64,
    /// When the client's patience ends; none if it has no end, or with the last byte.
    pub(crate) patient_until: Option<Instant>,
    /// The phase that is under way, and since when.
    phase: Phase,
    phase_since: Instant,
}

impl Slot {
    /// For secure transactions, plain ones or both.
    pub(crate) fn new(
        config: &Arc<Config>,
        is_secure: bool,
        is_plain: bool,
    ) -> Result<Self, Error> {
        let now = Instant::now();
        Ok(Self {
            channel: Channel::new(config, is_secure, is_plain).map_err(Error::Client)?,
            request: Vec::with_capacity(256),
            response: Response::new(0),
            stream: None,
            used: None,
            task: Task { intended: now, is_plain: false, bytes: None, retries: 0 },
            progress: Progress::default(),
            marks: Marks::new(now),
            requests_left: 0,
            bytes_before: 0,
            patient_until: None,
            phase: Phase::Connect,
            phase_since: now,
        })
    }

    pub(crate) const fn is_live(&self) -> bool {
        self.stream.is_some()
    }

    /// What it does, or did last.
    pub(crate) const fn task(&self) -> Task {
        self.task
    }

    /// Bytes of bodies so far.
    pub(crate) const fn body_bytes(&self) -> u64 {
        self.bytes_before + self.response.body_bytes()
    }

    /// Begins: opens the socket, and sends the `ClientHello` or the request if the connection
    /// stands at once, as it does on loopback. Says whether it does.
    pub(crate) fn start(
        &mut self,
        task: Task,
        manner: &Manner,
        opener: &mut Opener,
        (registry, token): (&Registry, Token),
    ) -> Result<Result<bool, Failure>, Error> {
        self.task = task;
        self.channel.begin(task.is_plain).map_err(Error::Client)?;
        self.response.begin(0);
        self.progress = Progress::default();
        self.marks = Marks::new(Instant::now());
        self.requests_left = manner.requests;
        self.bytes_before = 0;
        self.enter(Phase::Connect, self.marks.started);
        if task.is_plain {
            self.ask(manner).map_err(Error::Client)?;
        }
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
        let sent = match write(&mut self.channel, &mut stream) {
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
        Ok(Ok(sent))
    }

    /// The time from its begin to a connection that stands.
    pub(crate) fn connect_time(&self) -> Duration {
        self.marks.hello.saturating_duration_since(self.marks.started)
    }

    /// Queues the next request.
    fn ask(&mut self, manner: &Manner) -> Result<(), TlsError> {
        self.requests_left -= 1;
        self.bytes_before += self.response.body_bytes();
        let is_last = self.requests_left == 0;
        let expected = manner.ask(&mut self.request, self.task.bytes, is_last);
        self.response.begin(expected);
        self.marks.asked = Instant::now();
        if self.phase == Phase::Data {
            self.phase_since = self.marks.asked; // each response has its own deadline
        }
        self.marks.first_byte = None;
        self.channel.send(&self.request)
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
        let step = self.exchange(&mut stream, manner, (now, read_closed), tell);
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
            Err(_) => drop(write(&mut self.channel, &mut stream)),
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
        (now, read_closed): (Instant, bool),
        tell: &mut impl FnMut(News, Instant),
    ) -> Result<Step, Failure> {
        let mut unsent = self.flush(stream, now, tell);
        if !self.progress.connected {
            return unsent.map(|()| Step::Going);
        }
        loop {
            let space = self.channel.space();
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
            self.channel.filled(count).map_err(|error| self.tls_failure(error))?;
            self.read_events(manner, tell)?;
            if self.is_over(manner) {
                return Ok(Step::Closed);
            }
            if unsent.is_ok() {
                unsent = self.flush(stream, now, tell);
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
    fn is_over(&mut self, manner: &Manner) -> bool {
        self.progress.complete
            && match manner.close {
                Close::RstAfterConfirm => true,
                Close::Fin => self.progress.closed && self.channel.outgoing().is_empty(),
            }
    }

    fn read_events(
        &mut self,
        manner: &Manner,
        tell: &mut impl FnMut(News, Instant),
    ) -> Result<(), Failure> {
        loop {
            let mut response = Ok(());
            let established = match self.channel.poll() {
                Ok(None) => return Ok(()),
                Ok(Some(Event::Established)) => true,
                Ok(Some(Event::Data(data))) => {
                    if self.marks.first_byte.is_none() {
                        self.marks.first_byte = Some(Instant::now());
                    }
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
                self.marks.client_done = now;
                let handshake = now.saturating_duration_since(self.marks.hello);
                let facts = self.channel.tls().facts();
                let (hello_retry, verified) = (facts.hello_retry, facts.signature_verified);
                tell(News::ClientDone { handshake, hello_retry, verified }, now);
                if self.requests_left == 0 {
                    self.channel.close();
                } else if let Err(error) = self.ask(manner) {
                    return Err(self.tls_failure(error));
                }
            }
            if !self.progress.confirmed && self.channel.is_confirmed() {
                self.progress.confirmed = true;
                if !self.task.is_plain {
                    let confirm = now.saturating_duration_since(self.marks.client_done);
                    tell(News::Confirmed { confirm }, now);
                }
            }
            response.map_err(|cause| self.failure(cause))?;
            self.look_for_end(manner, now, tell)?;
        }
    }

    /// Whether a response or the transaction is complete now, or cannot become so any more.
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
        let is_whole = if manner.requests == 0 {
            confirmed
        } else if closed {
            self.response.is_complete() || {
                self.response.end().map_err(|cause| self.failure(cause))?;
                true
            }
        } else {
            self.response.is_complete()
        };
        if is_whole && !confirmed {
            // a body that answers nothing, or a close_notify before ours
            return Err(self.failure(Cause::Closed));
        }
        if !is_whole {
            return if closed { Err(self.failure(Cause::Closed)) } else { Ok(()) };
        }
        if manner.requests > 0 {
            let since_asked = |at: Instant| at.saturating_duration_since(self.marks.asked);
            let first_byte = since_asked(self.marks.first_byte.unwrap_or(now));
            let bytes = self.response.body_bytes();
            tell(News::Response { first_byte, last_byte: since_asked(now), bytes }, now);
        }
        if self.requests_left > 0 {
            if closed {
                return Err(self.failure(Cause::Closed));
            }
            return self.ask(manner).map_err(|error| self.tls_failure(error));
        }
        self.progress.complete = true;
        self.patient_until = None;
        let service = now.saturating_duration_since(self.marks.started);
        let response = now.saturating_duration_since(self.task.intended);
        tell(News::Complete { service, response }, now);
        if manner.close == Close::Fin {
            self.channel.close();
        }
        Ok(())
    }

    fn end_of_stream(
        &mut self,
        manner: &Manner,
        now: Instant,
        tell: &mut impl FnMut(News, Instant),
    ) -> Result<Step, Failure> {
        self.channel.end_of_stream().map_err(|error| self.tls_failure(error))?;
        self.progress.closed = true;
        self.look_for_end(manner, now, tell)?;
        if self.progress.complete { Ok(Step::Closed) } else { Err(self.failure(Cause::Closed)) }
    }

    fn flush(
        &mut self,
        stream: &mut TcpStream,
        now: Instant,
        tell: &mut impl FnMut(News, Instant),
    ) -> Result<(), Failure> {
        if self.channel.outgoing().is_empty() {
            return Ok(());
        }
        let sent =
            write(&mut self.channel, stream).map_err(|error| self.failure(Cause::of_io(&error)))?;
        if sent && !self.progress.connected {
            self.connected(now);
            tell(News::Connected { connect: self.connect_time() }, now);
        }
        Ok(())
    }

    fn connected(&mut self, now: Instant) {
        self.progress.connected = true;
        self.marks.hello = now;
        if self.task.is_plain {
            self.marks.asked = now;
        }
        self.enter(if self.task.is_plain { Phase::Data } else { Phase::Hello }, now);
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
        match self.channel.phase() {
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

    /// The client has lost patience: the connection is reset, in this phase.
    pub(crate) fn leave(&mut self) -> Phase {
        if let Some(stream) = self.stream.take() {
            reset_on_close(&stream);
        }
        self.patient_until = None;
        self.current_phase()
    }

    /// Drops the connection, whatever it was doing.
    pub(crate) fn abandon(&mut self) {
        self.stream = None;
    }
}

/// Writes what waits; whether all of it went.
fn write(channel: &mut Channel, stream: &mut TcpStream) -> io::Result<bool> {
    loop {
        let waiting = channel.outgoing();
        if waiting.is_empty() {
            return Ok(true);
        }
        match stream.write(waiting) {
            Ok(count) => channel.sent(count).map_err(io::Error::other)?,
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
