//! One transaction: connect, handshake unless it is plain, requests and responses, close.

mod completion;
mod requests;

use core::time::Duration;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::sync::Arc;
use std::time::Instant;

use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use socket2::SockRef;
use tollgate_tls_client::{Config, EarlyData, Error as TlsError, Event, SessionPhase};

use crate::channel::Channel;
use crate::error::Error;
use crate::http::Response;
use crate::phase::{Cause, Failure, Phase};
use crate::plan::Close;
use crate::request_spec::{Drive, RequestSpec, Step, TransactionEvent};
use crate::socket::{Opener, Unopened, reset, reset_on_close};
use crate::store::Stored;
use crate::task::{Marks, Progress, Task};

/// Maximum number of reads of a connection in one turn, some 128 KiB in all. More reads would delay
/// the other connections, timeouts and arrivals.
const READS_MAX: u32 = 8;

/// A slot, which runs one transaction after another and reuses its memory.
pub(crate) struct Slot {
    channel: Channel,
    request: Vec<u8>,
    response: Response,
    stream: Option<TcpStream>,
    /// A socket to reuse after a reset, still registered.
    used: Option<TcpStream>,
    task: Task,
    /// The session that the slot offers or has offered, and memory for new sessions.
    lent: Stored,
    spare: Stored,
    progress: Progress,
    marks: Marks,
    /// The number of requests that are not sent yet.
    requests_left: u32,
    /// Body bytes of complete responses.
    bytes_before: u64,
    /// True if the slot must be driven again without an event.
    pub(crate) is_unread: bool,
    /// The end of the client timeout. `None` if there is no timeout, or after the last byte.
    pub(crate) timeout_at: Option<Instant>,
    /// The current phase, and its start.
    phase: Phase,
    phase_since: Instant,
}

impl Slot {
    /// Creates a slot for secure transactions, for plain transactions, or for both kinds.
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
            task: Task::new(now, 0),
            lent: Stored::new(now),
            spare: Stored::new(now),
            progress: Progress::default(),
            marks: Marks::new(now),
            requests_left: 0,
            bytes_before: 0,
            is_unread: false,
            timeout_at: None,
            phase: Phase::Connect,
            phase_since: now,
        })
    }

    pub(crate) const fn is_live(&self) -> bool {
        self.stream.is_some()
    }

    /// Returns the current or last task.
    pub(crate) const fn task(&self) -> Task {
        self.task
    }

    pub(crate) const fn body_bytes(&self) -> u64 {
        self.bytes_before + self.response.body_bytes()
    }

    /// Begins: opens the socket. If the connection is up at once, as on loopback, sends the
    /// `ClientHello` or the request. Returns whether the connection is up.
    pub(crate) fn start(
        &mut self,
        (task, offers): (Task, bool),
        spec: &RequestSpec,
        opener: &Opener,
        (registry, token): (&Registry, Token),
    ) -> Result<Result<bool, Failure>, Error> {
        self.task = task;
        self.response.begin(0);
        self.progress = Progress::default();
        self.marks = Marks::new(Instant::now());
        self.requests_left = spec.requests(&task);
        self.bytes_before = 0;
        self.enter(Phase::Connect, self.marks.started);
        if task.is_plain {
            self.channel.begin_plain();
            self.ask(spec).map_err(Error::Client)?;
        } else {
            self.begin_secure(spec, offers).map_err(Error::Client)?;
        }
        let used = self.used.take();
        let watched = used.is_some();
        self.marks.started = Instant::now();
        let opened = match used {
            Some(stream) => opener.connect(SockRef::from(&stream)).map(|()| stream),
            None => opener.open(),
        };
        let mut stream = match opened {
            Ok(stream) => stream,
            Err(Unopened::Ours(error)) => return Err(error),
            Err(Unopened::Counted(cause)) => return Ok(Err(Failure::new(Phase::Connect, cause))),
        };
        let hello = Instant::now();
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
            self.connected(hello);
        }
        Ok(Ok(sent))
    }

    /// Returns the time from opening the socket until the connection was up.
    pub(crate) fn connect_time(&self) -> Duration {
        self.marks.hello.saturating_duration_since(self.marks.started)
    }

    /// Continues after an event of the socket. Closes the socket on an error.
    pub(crate) fn drive(&mut self, drive: &mut Drive<'_>) -> Result<Step, Failure> {
        let Some(mut stream) = self.stream.take() else {
            return Ok(Step::Going); // an event of a closed socket
        };
        let step = self.exchange(&mut stream, drive);
        match &step {
            Ok(Step::Going | Step::More) => self.stream = Some(stream),
            Ok(Step::Closed) if drive.spec.close == Close::RstAfterConfirm => {
                if reset(&stream).is_ok() {
                    self.used = Some(stream);
                } else {
                    reset_on_close(&stream);
                }
            }
            Ok(Step::Closed) => {}
            // sends the client's alert, if the socket accepts it at once
            Err(_) => drop(write(&mut self.channel, &mut stream)),
        }
        let phase = self.current_phase();
        if phase != self.phase {
            self.enter(phase, drive.now);
        }
        step
    }

    fn exchange(&mut self, stream: &mut TcpStream, drive: &mut Drive<'_>) -> Result<Step, Failure> {
        let mut unsent = self.flush(stream, drive);
        if !self.progress.connected {
            return unsent.map(|()| Step::Going);
        }
        if self.is_over(drive.spec) {
            return Ok(Step::Closed);
        }
        for _ in 0..READS_MAX {
            let space = self.channel.space();
            let room = space.len();
            let count = match stream.read(space) {
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                // a failed write is reported last, because data of the server may have the reason
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
                return self.end_of_stream(drive);
            }
            if count == 0 {
                return Ok(Step::Closed); // a complete body needs no close_notify
            }
            self.channel.filled(count).map_err(|error| self.tls_failure(error))?;
            self.read_events(drive)?;
            if self.is_over(drive.spec) {
                return Ok(Step::Closed);
            }
            if unsent.is_ok() {
                unsent = self.flush(stream, drive);
            }
            if self.is_over(drive.spec) {
                return Ok(Step::Closed);
            }
            // a short read has emptied the socket, unless the stream has ended without an event
            if count < room && !drive.read_closed && unsent.is_ok() {
                return Ok(Step::Going);
            }
        }
        unsent.map(|()| Step::More)
    }

    fn read_events(&mut self, drive: &mut Drive<'_>) -> Result<(), Failure> {
        loop {
            let mut response = Ok(());
            let established = match self.channel.poll() {
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
            let now = Instant::now(); // includes the work of this event
            if established {
                self.progress.client_done = true;
                self.marks.client_done = now;
                let facts = *self.channel.tls().facts();
                self.progress.resumed = facts.resumed;
                let done = TransactionEvent::ClientDone {
                    group: facts.group,
                    hello_retry: facts.hello_retry,
                    verified: facts.signature_verified,
                    refused: facts.offered.is_some() && !facts.resumed,
                };
                (drive.on_event)(done, now);
                self.after_handshake(drive.spec).map_err(|error| self.tls_failure(error))?;
            }
            if !self.progress.confirmed && self.channel.is_confirmed() {
                self.progress.confirmed = true;
                if !self.task.is_plain {
                    let handshake = now.saturating_duration_since(self.marks.hello);
                    let resumed = self.progress.resumed;
                    let early_data = self.channel.tls().facts().early_data == EarlyData::Accepted;
                    let confirmed = TransactionEvent::Confirmed { handshake, resumed, early_data };
                    (drive.on_event)(confirmed, now);
                }
            }
            response.map_err(|cause| self.failure(cause))?;
            self.look_for_end(drive, now)?;
        }
    }

    fn flush(&mut self, stream: &mut TcpStream, drive: &mut Drive<'_>) -> Result<(), Failure> {
        if self.channel.outgoing().is_empty() {
            return Ok(());
        }
        let sent =
            write(&mut self.channel, stream).map_err(|error| self.failure(Cause::of_io(&error)))?;
        if sent && !self.progress.connected {
            self.connected(drive.now);
            let connected = TransactionEvent::Connected { connect: self.connect_time() };
            (drive.on_event)(connected, drive.now);
        }
        Ok(())
    }

    fn connected(&mut self, now: Instant) {
        self.progress.connected = true;
        self.marks.hello = now;
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
            // one side has closed before the transaction is complete
            SessionPhase::Close if self.progress.confirmed => Phase::Data,
            SessionPhase::Close => Phase::Confirm,
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
}

/// Writes queued bytes; returns whether all of them were sent.
fn write(channel: &mut Channel, stream: &mut TcpStream) -> io::Result<bool> {
    loop {
        let waiting = channel.outgoing();
        if waiting.is_empty() {
            return Ok(true);
        }
        match stream.write(waiting) {
            Ok(count) => channel.sent(count).map_err(io::Error::other)?,
            // NotConnected: the connection is not up yet
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

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use mio::Poll;

    use super::*;
    use crate::offer::Protocol;
    use crate::plan::{Exchange, Plan};
    use crate::target::Target;
    use crate::tls;

    /// Returns a plain slot that has begun a task of the plan, with its poll and the listener.
    fn begun(plan: &Plan) -> (Slot, RequestSpec, Poll, TcpListener) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let target = Target::new(listener.local_addr().unwrap()).unwrap();
        let spec = RequestSpec::new(plan, &target);
        let config = Arc::new(tls::config(plan, &target).unwrap());
        let mut slot = Slot::new(&config, false, true).unwrap();
        let poll = Poll::new().unwrap();
        let task = Task { is_plain: true, ..Task::new(Instant::now(), 0) };
        let opener = Opener::new(&target);
        let begun = slot.start((task, false), &spec, &opener, (poll.registry(), Token(0)));
        assert_eq!(begun.unwrap(), Ok(true), "on loopback it is up at once");
        (slot, spec, poll, listener)
    }

    fn plan(bytes: usize) -> Plan {
        let exchange = Exchange::bytes(bytes as u64);
        Plan { exchange, plain_share: 1.0, ..Plan::new(Protocol::Tls13) }
    }

    fn drive(
        slot: &mut Slot,
        spec: &RequestSpec,
        read_closed: bool,
        on_event: &mut dyn FnMut(TransactionEvent, Instant),
    ) -> Result<Step, Failure> {
        slot.drive(&mut Drive { spec, now: Instant::now(), read_closed, on_event })
    }

    /// Waits until this number of bytes can be read.
    fn arrived(slot: &Slot, bytes: usize) {
        let mut seen = vec![0; bytes];
        while !slot.stream.as_ref().unwrap().peek(&mut seen).is_ok_and(|count| count == bytes) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn an_early_close_of_the_server_is_reported() {
        let plan = Plan { requests_per_connection: 3.0, ..plan(3) };
        let (mut slot, spec, _poll, listener) = begun(&plan);
        let (mut server, _) = listener.accept().unwrap();
        let answer = b"HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 3\r\n\r\nabc";
        server.write_all(answer).unwrap();
        arrived(&slot, answer.len());
        let mut responses = 0;
        let end = drive(&mut slot, &spec, false, &mut |event, _| {
            responses += u32::from(matches!(event, TransactionEvent::Response { .. }));
        });
        let why = end.unwrap_err();
        assert!(why.to_string().contains("send fewer"), "{why}");
        assert_eq!(responses, 1, "the server's log has it too");
    }

    #[test]
    fn long_bodies_are_read_in_several_turns() {
        const BYTES: usize = 180 * 1024;
        let (mut slot, spec, _poll, listener) = begun(&plan(BYTES));
        let stream = slot.stream.as_ref().unwrap();
        SockRef::from(stream).set_recv_buffer_size(1 << 20).unwrap();

        let (mut server, _) = listener.accept().unwrap();
        write!(server, "HTTP/1.1 200 OK\r\nContent-Length: {BYTES}\r\n\r\n").unwrap();
        server.write_all(&[0; BYTES]).unwrap();
        arrived(&slot, BYTES);
        let turn = drive(&mut slot, &spec, false, &mut |_, _| {});
        assert_eq!(turn, Ok(Step::More));
        let read = slot.body_bytes();
        assert!(read > 0 && read <= u64::from(READS_MAX) * 16 * 1024, "{read}");
        assert_eq!(drive(&mut slot, &spec, true, &mut |_, _| {}), Ok(Step::Closed));
        assert_eq!(slot.body_bytes(), BYTES as u64);
    }
}
