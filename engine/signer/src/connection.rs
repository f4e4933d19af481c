//! A connection: its peer, the bytes that have come, and its answers.

use std::io::{self, ErrorKind};
use std::time::Instant;

use mio::event::Event;
use tollgate_keyless::{ErrorCode, HEADER_BYTES, Message, PADDED_BYTES, REFUSAL, Split, split};

use crate::account::Place;
use crate::config::Limits;
use crate::outgoing::Outgoing;
use crate::policy::{Client, Policy};
use crate::stream::Stream;
use crate::tls::{Identity, Verified};

/// A connection takes no more requests while this many bytes of answers wait.
const OUTPUT_BYTES_MAX: usize = 64 * 1024;
/// The maximum number of requests of a connection in a turn. Further ones wait in the connection.
pub(crate) const REQUESTS_MAX: usize = 64;
/// The longest body of a frame in bytes. The longest key has 1024 bytes, and other items have some
/// hundred more. The answer to a ping has its payload, and fits a frame.
const FRAME_BYTES_MAX: usize = 4096;

pub(crate) struct Connection {
    pub(crate) stream: Stream,
    /// The peer, for the audit log.
    pub(crate) peer: String,
    pub(crate) state: State,
    /// Its place among the connections of its client.
    pub(crate) place: Option<Place>,
    input: Vec<u8>,
    /// The bytes of `input` before this were read as requests.
    taken: usize,
    output: Outgoing,
    /// The socket may have bytes.
    pub(crate) is_readable: bool,
    /// An event has said that the peer has sent its last byte: reading goes on until this is seen.
    is_read_closed: bool,
    /// The peer has sent its last byte.
    pub(crate) has_ended: bool,
    /// It ends when its answers have left.
    pub(crate) ends: bool,
    /// The number of its operations that the worker has, and has not answered.
    pub(crate) running: usize,
    /// The time of the last whole request, or of the beginning.
    active: Instant,
    /// The time since when the peer has not taken a byte that waits.
    stuck: Option<Instant>,
}

pub(crate) enum State {
    Handshake,
    Open {
        identity: Identity,
        /// The end of the certificate's validity.
        until: Option<Instant>,
    },
}

impl Connection {
    pub(crate) fn new(stream: Stream, peer: String, state: State) -> Self {
        Self {
            stream,
            peer,
            state,
            place: None,
            input: Vec::new(),
            taken: 0,
            output: Outgoing::default(),
            is_readable: true,
            is_read_closed: false,
            has_ended: false,
            ends: false,
            running: 0,
            active: Instant::now(),
            stuck: None,
        }
    }

    /// Notes an event of its socket. Returns whether it concerns the connection.
    pub(crate) fn note(&mut self, event: &Event) -> bool {
        self.is_readable |= event.is_readable() || event.is_read_closed();
        self.is_read_closed |= event.is_read_closed();
        // A Unix socket also becomes writable each time that its peer takes an answer.
        self.is_readable || self.is_shaking_hands() || self.output.waiting() > 0
    }

    /// Reads until the socket is empty, or until the bytes of a turn have come. The bytes come
    /// through `piece`.
    pub(crate) fn receive(&mut self, piece: &mut [u8]) -> io::Result<()> {
        self.input.drain(..self.taken);
        self.taken = 0;
        let room = REQUESTS_MAX * PADDED_BYTES + FRAME_BYTES_MAX + HEADER_BYTES;
        while self.is_readable && !self.has_ended && self.input.len() < room && self.has_room() {
            match self.stream.read(piece) {
                Ok(0) => self.has_ended = true,
                Ok(count) => {
                    self.input.extend(&piece[..count]);
                    // A Unix socket that gives less than asked is empty; what comes later is an
                    // event. Only a peer that also passes descriptors may wait then, until it sends
                    // more.
                    let is_empty = count < piece.len() && matches!(self.stream, Stream::Unix(_));
                    self.is_readable = !is_empty || self.is_read_closed;
                }
                Err(why) if why.kind() == ErrorKind::WouldBlock => self.is_readable = false,
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(why) => return Err(why),
            }
        }
        Ok(())
    }

    /// Returns whether more answers may wait.
    fn has_room(&self) -> bool {
        self.output.waiting() < OUTPUT_BYTES_MAX
    }

    /// Takes the next request, if it has come. A stream that cannot be read ends with an answer.
    pub(crate) fn next(&mut self) -> Option<Request> {
        if self.ends || !self.has_room() {
            return None;
        }
        let refused = |id, why| Some(Request { id, read: Err(why) });
        match split(&self.input[self.taken..], FRAME_BYTES_MAX) {
            Split::Partial => None,
            Split::Broken { id, why } => {
                self.ends = true;
                refused(
                    id,
                    match why {
                        tollgate_keyless::Broken::Length => ErrorCode::Format,
                        tollgate_keyless::Broken::Version => ErrorCode::VersionMismatch,
                    },
                )
            }
            Split::Frame { frame, len } => {
                let id = frame.id;
                let range = self.taken + HEADER_BYTES..self.taken + len;
                self.taken += len;
                self.active = Instant::now();
                Some(Request { id, read: Ok(range) })
            }
        }
    }

    /// Returns the body of a request that [`next`](Self::next) has returned in this turn.
    pub(crate) fn body(&self, range: core::ops::Range<usize>) -> &[u8] {
        &self.input[range]
    }

    /// Returns whether a whole request waits.
    pub(crate) fn has_request(&self) -> bool {
        let rest = split(&self.input[self.taken..], FRAME_BYTES_MAX);
        !self.ends && rest != Split::Partial && self.has_room()
    }

    /// Adds an answer.
    pub(crate) fn answer(&mut self, id: u32, opcode: u8, payload: &[u8]) {
        self.output.add(&Message { id, opcode, ski: None, payload });
    }

    pub(crate) fn refuse(&mut self, id: u32, why: ErrorCode) {
        self.answer(id, REFUSAL, &[why as u8]);
    }

    /// Sends answers until the socket is full.
    pub(crate) fn send(&mut self) -> io::Result<()> {
        let has_sent = self.output.send(&mut self.stream)? > 0;
        if has_sent || self.output.waiting() == 0 {
            self.stuck = None;
        }
        if self.output.waiting() > 0 {
            self.stuck.get_or_insert_with(Instant::now);
        }
        Ok(())
    }

    /// Returns whether all answers have left.
    pub(crate) fn is_flushed(&self) -> bool {
        self.output.waiting() == 0 && self.running == 0
    }

    /// Returns the limit that has passed.
    pub(crate) fn expired(&self, limits: &Limits, now: Instant) -> Option<&'static str> {
        let since = |start: Instant| now.saturating_duration_since(start);
        if self.stuck.is_some_and(|start| since(start) > limits.write) {
            return Some("takes no answers");
        }
        match &self.state {
            State::Handshake => (since(self.active) > limits.handshake).then_some("no handshake"),
            State::Open { until: Some(until), .. } if *until <= now => Some("certificate expired"),
            State::Open { .. } => (since(self.active) > limits.idle).then_some("idle"),
        }
    }
}

/// A request of a connection.
pub(crate) struct Request {
    pub(crate) id: u32,
    /// The range of its body, or why it cannot be read.
    pub(crate) read: Result<core::ops::Range<usize>, ErrorCode>,
}

impl Connection {
    /// Returns the client that the peer is.
    pub(crate) fn client<'a>(&self, policy: &'a Policy) -> Option<&'a Client> {
        match &self.state {
            State::Open { identity, .. } => policy.client(identity),
            State::Handshake => None,
        }
    }

    pub(crate) fn is_shaking_hands(&self) -> bool {
        matches!(self.state, State::Handshake)
    }

    /// The handshake is complete.
    pub(crate) fn opens(&mut self, peer: Verified) {
        self.state = State::Open { identity: peer.identity, until: Some(peer.until) };
        self.active = Instant::now();
    }

    /// Returns whether the socket may have bytes that a turn can take.
    pub(crate) fn may_read(&self) -> bool {
        let is_open = !self.is_shaking_hands();
        is_open && self.is_readable && !self.has_ended && !self.ends && self.has_room()
    }
}
