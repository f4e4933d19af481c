//! The middle phase with HTTP/2: many requests at once, each with its own back end and response.
//!
//! The library `h2` decodes and encodes frames. It needs no runtime: its connection is polled here,
//! with bytes of the [`Wire`]. Streams have wakers that set a flag; an event of a back end sets the
//! flag of its stream. A turn polls the library, and then works on each stream whose flag is set.
//!
//! Memory of a connection is bounded: a stream holds one record in each direction at most, the
//! library holds [`QUEUED_BYTES_MAX`] for the client, and the windows limit data of the client.

mod stream;
mod wire;
mod woken;

use core::pin::Pin;
use core::task;
use core::task::Poll;
use core::time::Duration;
use std::time::Instant;

use bytes::Bytes;
use h2::server::{Builder, Handshake, SendResponse};
use h2::{Reason, RecvStream};
use openssl::ssl::ErrorCode;
use slab::Slab;

use super::exchange::Answered;
use super::relay::Relay;
use super::{Connection, Context, Step, Transport};
use crate::config::Limits;
use crate::failure::{Broken, End};
use crate::http::{Mapped, RECORD_BYTES_MAX, Response, map_request};
use crate::proxy::Owner;
use stream::{Pumped, Stream};
use wire::Wire;
use woken::Woken;

/// The maximum number of requests that a client may have at once, RFC 9113 §5.1.2.
const STREAMS_MAX: u32 = 100;
/// The maximum number of bytes of request bodies that a client may send before they are passed on.
const WINDOW_BYTES: u32 = 256 * 1024;
/// The same for one stream.
const STREAM_WINDOW_BYTES: u32 = 64 * 1024;
/// The maximum number of bytes of response bodies that the library holds.
const QUEUED_BYTES_MAX: usize = 64 * 1024;
/// The maximum number of requests that a client may abandon, beyond those with a whole response.
const RESETS_MAX: u32 = 100;
/// The longest wait for a client to close after it was told that the connection ends.
const GOODBYE: Duration = Duration::from_secs(1);

/// The state of the phase.
pub(super) struct Streams {
    library: Library,
    wire: Wire,
    streams: Slab<Stream>,
    /// The flags of the streams, by their keys.
    woken: Vec<Woken>,
    /// The flag of the library's connection.
    own: Woken,
    /// The key at which the next turn begins.
    first: usize,
    /// Responses that the library has, but not yet the kernel.
    finishing: Vec<Answered>,
    /// The number of abandoned requests, less the number of whole responses.
    resets: u32,
    /// The socket may have bytes.
    may_read: bool,
    /// The end of the client's bytes, if it was seen.
    client_end: Option<End>,
    /// The reason why this side ends the connection.
    end: Option<End>,
    is_draining: bool,
    /// Without requests, the connection ends then.
    idle_until: Instant,
    /// The client must have accepted bytes by then, if there are some for it.
    write_until: Instant,
}

/// The library's connection.
enum Library {
    Closed,
    Open(h2::server::Connection<Wire, Bytes>),
    Starting(Handshake<Wire, Bytes>),
}

/// The result of a turn.
enum Verdict {
    /// The connection is broken.
    Broken(End),
    /// All bytes are sent, and the connection can be closed.
    Ended(End),
    Step(Step),
}

impl Streams {
    pub(super) fn new(limits: &Limits, now: Instant) -> Self {
        let wire = Wire::default();
        let head_bytes_max = u32::try_from(limits.request_bytes_max).unwrap_or(u32::MAX);
        let handshake = Builder::new()
            .max_concurrent_streams(STREAMS_MAX)
            .initial_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(WINDOW_BYTES)
            // Fields count 32 bytes more here than in HTTP/1. Longer heads are refused with a line
            // in the log, those that the library refuses have none.
            .max_header_list_size(head_bytes_max.saturating_mul(2))
            .max_send_buffer_size(RECORD_BYTES_MAX)
            .max_local_error_reset_streams(Some(RESETS_MAX as usize))
            .handshake(wire.clone());
        Self {
            library: Library::Starting(handshake),
            wire,
            streams: Slab::new(),
            woken: Vec::new(),
            own: Woken::new(),
            first: 0,
            finishing: Vec::new(),
            resets: 0,
            may_read: true,
            client_end: None,
            end: None,
            is_draining: false,
            idle_until: now + limits.idle,
            write_until: now + limits.write,
        }
    }

    /// An event of a back end concerns this stream.
    pub(super) fn wake(&self, stream: usize) {
        if let Some(woken) = self.woken.get(stream) {
            woken.set();
        }
    }

    /// The socket may have bytes.
    pub(super) const fn wake_reading(&mut self) {
        self.may_read = true;
    }

    /// Closes the connections to back ends.
    pub(super) fn release(&mut self, cx: &mut Context) {
        for (_, stream) in &mut self.streams {
            stream.release(cx);
        }
    }

    /// Ends all streams; returns the log's entries of the responses that had begun.
    fn cut(&mut self, cx: &mut Context) -> Vec<Answered> {
        self.release(cx);
        cx.streams -= self.streams.len();
        let cut = self.streams.drain().map(|stream| stream.answered);
        cut.filter(|answered| answered.status != 0).collect()
    }

    fn has_nothing_to_send(&self) -> bool {
        self.wire.buffers().left().is_empty()
    }

    fn deadline(&self) -> Instant {
        let streams = self.streams.iter().map(|(_, stream)| stream.deadline).min();
        let deadline = streams.unwrap_or(self.idle_until);
        if self.has_nothing_to_send() { deadline } else { deadline.min(self.write_until) }
    }

    /// Tells the client that the connection ends, and why.
    fn say_goodbye(&mut self, reason: Reason, end: End, now: Instant) {
        if let Library::Open(connection) = &mut self.library {
            connection.abrupt_shutdown(reason);
        } else {
            self.library = Library::Closed;
        }
        self.end = Some(end);
        self.idle_until = now + GOODBYE;
    }

    /// Follows a server that stops: the client learns that it must use another connection.
    fn drain(&mut self, now: Instant) {
        if let Library::Open(connection) = &mut self.library
            && !self.is_draining
        {
            self.is_draining = true;
            connection.graceful_shutdown();
            self.idle_until = self.idle_until.min(now + GOODBYE);
        }
    }
}

impl<S: Transport> Connection<S> {
    /// Moves bytes between the client, the library and the streams.
    pub(super) fn multiplex(&mut self, cx: &mut Context) -> Step {
        let mut streams = self.streams.take().expect("the phase `Multiplexing` has streams");
        let verdict = self.step(&mut streams, cx);
        self.deadline = streams.deadline();
        self.streams = Some(streams);
        match verdict {
            Verdict::Step(step) => step,
            Verdict::Ended(end) => self.begin_closing(end, cx),
            Verdict::Broken(end) => {
                self.conclude(end, cx);
                Step::Done
            }
        }
    }

    fn step(&mut self, streams: &mut Streams, cx: &mut Context) -> Verdict {
        match self.flush(streams, cx) {
            Ok(true) => {}
            Ok(false) => return Verdict::Step(Step::Blocked),
            Err(end) => return Verdict::Broken(end),
        }
        if !streams.wire.buffers().is_full {
            for answered in core::mem::take(&mut streams.finishing) {
                self.finish(answered, cx);
            }
        }
        if matches!(streams.library, Library::Closed) {
            let end = streams.end.or(streams.client_end).unwrap_or(End::Orderly);
            let is_gone = streams.client_end.is_some_and(|end| end != End::Orderly);
            return if is_gone { Verdict::Broken(end) } else { Verdict::Ended(end) };
        }
        if cx.draining.is_some() {
            streams.drain(cx.now);
        }
        self.receive(streams, cx);
        self.poll(streams, cx);
        let mut moved = false;
        if !streams.wire.buffers().is_full {
            moved = self.pump(streams, cx);
            if moved {
                self.poll(streams, cx);
            }
        }
        let buffers = streams.wire.buffers();
        let goes_on = moved
            || !buffers.left().is_empty()
            || (streams.may_read && buffers.has_read_all())
            || streams.own.take()
            || matches!(streams.library, Library::Closed);
        Verdict::Step(if goes_on { Step::On } else { Step::Blocked })
    }

    /// Sends what the library has written; returns whether that is all.
    fn flush(&mut self, streams: &mut Streams, cx: &Context) -> Result<bool, End> {
        loop {
            let mut buffers = streams.wire.buffers();
            let left = buffers.left();
            if left.is_empty() {
                return Ok(true);
            }
            match self.stream.ssl_write(left) {
                Ok(count) => {
                    buffers.advance(count);
                    streams.write_until = cx.now + cx.limits.write;
                }
                Err(error) if self.blocked(&error) => return Ok(false),
                Err(error) => return Err(Broken::of(&error).end()),
            }
        }
    }

    /// Reads a record of the client, if the library has read the last one.
    fn receive(&mut self, streams: &mut Streams, cx: &mut Context) {
        let mut buffers = streams.wire.buffers();
        if !streams.may_read || !buffers.has_read_all() || buffers.has_ended {
            return;
        }
        match self.stream.ssl_read(&mut cx.scratch[..]) {
            Ok(count) => buffers.receive(&cx.scratch[..count]),
            // bytes that the kernel may have are read in another turn
            Err(error) if self.blocked(&error) => {
                streams.may_read = false;
            }
            Err(error) => {
                let is_orderly = error.code() == ErrorCode::ZERO_RETURN;
                let end = if is_orderly { End::Orderly } else { Broken::of(&error).end() };
                streams.client_end = Some(end);
                buffers.has_ended = true;
            }
        }
    }

    /// Lets the library read and write, and begins the requests that have come.
    fn poll(&mut self, streams: &mut Streams, cx: &mut Context) {
        streams.wire.buffers().is_full = false;
        loop {
            let waker = streams.own.waker().clone();
            let mut task = task::Context::from_waker(&waker);
            match &mut streams.library {
                Library::Closed => return,
                Library::Starting(handshake) => match Pin::new(handshake).poll(&mut task) {
                    Poll::Pending => return,
                    Poll::Ready(Ok(connection)) => streams.library = Library::Open(connection),
                    Poll::Ready(Err(error)) => {
                        return self.library_closed(streams, Some(&error), cx);
                    }
                },
                Library::Open(connection) => match connection.poll_accept(&mut task) {
                    Poll::Pending => return,
                    Poll::Ready(Some(Ok((request, respond)))) => {
                        let (head, body) = request.into_parts();
                        self.begin_stream(streams, &head, body, respond, cx);
                    }
                    Poll::Ready(Some(Err(error))) => {
                        return self.library_closed(streams, Some(&error), cx);
                    }
                    Poll::Ready(None) => return self.library_closed(streams, None, cx),
                },
            }
        }
    }

    fn library_closed(&self, streams: &mut Streams, error: Option<&h2::Error>, cx: &mut Context) {
        streams.library = Library::Closed;
        streams.wire.buffers().is_full = false;
        let mut cut = streams.cut(cx);
        if error.is_some() {
            // the library may have dropped them; otherwise it has written them
            cut.append(&mut streams.finishing);
        }
        if error.is_some_and(|error| !error.is_io()) && streams.client_end.is_none() {
            streams.end = streams.end.or(Some(End::Violation));
        }
        for answered in cut {
            self.count_cut(answered, cx);
        }
    }

    fn begin_stream(
        &mut self,
        streams: &mut Streams,
        head: &http::request::Parts,
        body: RecvStream,
        mut respond: SendResponse<Bytes>,
        cx: &mut Context,
    ) {
        // A stream needs as much memory as a connection with HTTP/1.
        if cx.streams >= cx.limits.connections_max || streams.end.is_some() {
            return respond.send_reset(Reason::REFUSED_STREAM);
        }
        let number = self.exchange.next_number();
        let has_body = !body.is_end_stream();
        let mapped = map_request(head, has_body, self.client, cx.limits.request_bytes_max);
        let key = streams.streams.vacant_key();
        let (stream, ready) = match mapped {
            Ok(Mapped { request, head }) if cx.upstreams.is_some() => {
                let owner = Owner { connection: self.key, stream: key };
                let mut relay = Relay::new(owner, &request.method, head, cx.now);
                let ready = relay.assign(cx).err().map(|status| Response {
                    head_only: request.method == "HEAD",
                    ..Response::refusal(status)
                });
                let framing = request.body.clone();
                (
                    Stream::relayed(Answered::new(number, request), body, respond, framing, relay),
                    ready,
                )
            }
            Ok(Mapped { request, .. }) => {
                let root = cx.shared.root();
                let response = Response::to(&request, root, || cx.shared.metrics());
                (Stream::own(Answered::new(number, request), body, respond, cx), Some(response))
            }
            Err(status) => (
                Stream::own(Answered::refused(number), body, respond, cx),
                Some(Response::refusal(status)),
            ),
        };
        cx.streams += 1;
        streams.streams.insert(stream);
        if streams.woken.len() <= key {
            streams.woken.resize_with(key + 1, Woken::new);
        }
        streams.woken[key].set();
        if let Some(response) = ready {
            let pumped = streams.streams[key].answer(response, cx);
            self.after(streams, key, pumped, cx);
        }
    }

    /// Works on the streams whose flag is set; returns whether anything has moved.
    fn pump(&self, streams: &mut Streams, cx: &mut Context) -> bool {
        let (mut moved, mut room) = (false, QUEUED_BYTES_MAX);
        let count = streams.woken.len();
        streams.first = streams.first.wrapping_add(1);
        for at in 0..count {
            let key = streams.first.wrapping_add(at) % count;
            if !streams.woken[key].take() {
                continue;
            }
            let Some(stream) = streams.streams.get_mut(key) else {
                continue;
            };
            let mut task = task::Context::from_waker(streams.woken[key].waker());
            let pumped = stream.pump(&mut task, cx, &mut room);
            moved |= pumped != Pumped::Nothing;
            self.after(streams, key, pumped, cx);
        }
        moved
    }

    /// Acts on the result of a stream's work.
    fn after(&self, streams: &mut Streams, key: usize, pumped: Pumped, cx: &mut Context) {
        match pumped {
            Pumped::Nothing => return,
            Pumped::Moved => return streams.woken[key].set(),
            Pumped::Cut | Pumped::Reset | Pumped::Sent => {}
        }
        let mut stream = streams.streams.remove(key);
        stream.release(cx);
        cx.streams -= 1;
        if streams.streams.is_empty() && streams.end.is_none() {
            let limit = if streams.is_draining { GOODBYE } else { cx.limits.idle };
            streams.idle_until = cx.now + limit;
        }
        if pumped == Pumped::Sent {
            streams.resets = streams.resets.saturating_sub(1);
            return streams.finishing.push(stream.answered);
        }
        if stream.answered.status != 0 {
            self.count_cut(stream.answered, cx);
        }
        if pumped == Pumped::Reset {
            streams.resets += 1;
            if streams.resets > RESETS_MAX && streams.end.is_none() {
                streams.say_goodbye(Reason::ENHANCE_YOUR_CALM, End::Violation, cx.now);
            }
        }
    }

    /// Handles a deadline that has passed. Returns whether to drop the connection at once.
    pub(super) fn expire_streams(&mut self, cx: &mut Context) -> bool {
        let mut streams = self.streams.take().expect("the phase `Multiplexing` has streams");
        let is_stuck = !streams.has_nothing_to_send() && streams.write_until <= cx.now;
        let late = |(key, stream): (usize, &Stream)| (stream.deadline <= cx.now).then_some(key);
        let late: Vec<usize> = streams.streams.iter().filter_map(late).collect();
        for key in late {
            let pumped = streams.streams[key].expire(cx);
            self.after(&mut streams, key, pumped, cx);
        }
        let is_idle = streams.streams.is_empty() && streams.idle_until <= cx.now;
        let end = match (is_stuck, streams.end) {
            (true, _) => Some(End::Timeout),
            (false, Some(end)) if is_idle => Some(end), // the client was told
            _ => None,
        };
        if is_idle && end.is_none() {
            let end = if streams.is_draining { End::Stopped } else { End::Idle };
            streams.say_goodbye(Reason::NO_ERROR, end, cx.now);
        }
        self.deadline = streams.deadline();
        self.streams = Some(streams);
        if let Some(end) = end {
            self.conclude(end, cx);
        }
        end.is_some()
    }

    /// Counts and logs the responses that are cut because the connection ends.
    pub(super) fn cut_streams(&mut self, cx: &mut Context) {
        let Some(streams) = &mut self.streams else {
            return;
        };
        let mut cut = streams.cut(cx);
        cut.append(&mut streams.finishing);
        for answered in cut {
            self.count_cut(answered, cx);
        }
    }
}
