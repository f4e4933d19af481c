//! One request of a connection with HTTP/2, and its response.

use core::task::{self, Poll};
use std::io::Write as _;
use std::time::Instant;

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};

use super::super::Context;
use super::super::exchange::Answered;
use super::super::relay::Relay;
use crate::http::{
    Body, Framing, LAST_CHUNK, RECORD_BYTES_MAX, Response, Status, map_answer, own_head,
};

pub(super) struct Stream {
    pub(super) answered: Answered,
    /// The request's body, until it ends.
    request_body: Option<RecvStream>,
    /// The rest of the request's body towards a back end.
    framing: Framing,
    /// The number of bytes of the request's body that may still be skipped.
    skip: usize,
    respond: Respond,
    source: Source,
    /// Data of the response that waits until the client accepts it.
    down: Bytes,
    /// Something must have moved by then.
    pub(super) deadline: Instant,
}

/// The client's side of the response.
enum Respond {
    Head(SendResponse<Bytes>),
    Body(SendStream<Bytes>),
    /// The response is complete.
    Sent,
}

/// The origin of the response.
enum Source {
    Own(Body),
    Relay(Box<Relay>),
}

/// The result of a stream's work in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pumped {
    /// The response ends before its end.
    Cut,
    Moved,
    Nothing,
    /// The client has ended the stream, or has broken a rule.
    Reset,
    /// The whole response was given to the library.
    Sent,
}

/// The reason why a stream cannot go on.
enum Fault {
    /// The client's side is broken.
    Client,
    /// The back end's side is broken; this is the status for the client.
    Server(Status),
}

impl From<Status> for Fault {
    fn from(status: Status) -> Self {
        Self::Server(status)
    }
}

impl Stream {
    /// Creates a stream whose request goes to a back end.
    pub(super) fn relayed(
        answered: Answered,
        body: RecvStream,
        respond: SendResponse<Bytes>,
        framing: Framing,
        relay: Relay,
    ) -> Self {
        Self {
            answered,
            request_body: Some(body),
            framing,
            skip: 0,
            respond: Respond::Head(respond),
            deadline: relay.deadline,
            source: Source::Relay(Box::new(relay)),
            down: Bytes::new(),
        }
    }

    /// Creates a stream that this server answers.
    pub(super) fn own(
        answered: Answered,
        body: RecvStream,
        respond: SendResponse<Bytes>,
        cx: &Context,
    ) -> Self {
        Self {
            answered,
            request_body: Some(body),
            framing: Framing::Length(0),
            skip: 0,
            respond: Respond::Head(respond),
            deadline: cx.now + cx.limits.write,
            source: Source::Own(Body::None),
            down: Bytes::new(),
        }
    }

    /// Begins a response of this server.
    pub(super) fn answer(&mut self, response: Response, cx: &mut Context) -> Pumped {
        self.release(cx);
        // Some clients do not take a response if their request is ended before its body.
        self.skip = cx.limits.request_bytes_max;
        self.request_body = self.request_body.take().filter(|body| !body.is_end_stream());
        let head = own_head(&response, &mut cx.date);
        let body = if response.head_only { Body::None } else { response.body };
        let ends = body.left() == 0;
        self.source = Source::Own(body);
        match begin(&mut self.respond, &mut self.answered, head, ends, cx) {
            Ok(()) => self.moved(cx),
            Err(_) => Pumped::Reset,
        }
    }

    /// Passes bytes on in all directions in which there are some. At most `room` bytes go to the
    /// library, and are subtracted from it.
    pub(super) fn pump(
        &mut self,
        task: &mut task::Context<'_>,
        cx: &mut Context,
        room: &mut usize,
    ) -> Pumped {
        if self.is_reset(task) {
            return Pumped::Reset;
        }
        let skipped = self.skip_request(task);
        let exchanged = self.exchange(task, cx).map(|moved| moved | skipped);
        let moved = exchanged.and_then(|moved| Ok(moved | self.send(task, cx, room)?));
        match moved {
            Ok(false) => Pumped::Nothing,
            Ok(true) => self.moved(cx),
            Err(Fault::Client) => {
                self.reset(Reason::PROTOCOL_ERROR);
                Pumped::Reset
            }
            Err(Fault::Server(status)) => self.refuse(status, cx),
        }
    }

    /// Handles a stream on which nothing has moved for too long.
    pub(super) fn expire(&mut self, cx: &mut Context) -> Pumped {
        if matches!(self.respond, Respond::Sent) {
            return Pumped::Sent;
        }
        if let Source::Relay(relay) = &mut self.source
            && self.down.is_empty()
        {
            return match relay.expire(cx) {
                Ok(()) => {
                    self.deadline = relay.deadline;
                    Pumped::Moved
                }
                Err(status) => self.refuse(status, cx),
            };
        }
        self.reset(Reason::CANCEL);
        Pumped::Cut
    }

    /// Closes the connection to the back end, if there is one.
    pub(super) fn release(&mut self, cx: &mut Context) {
        if let Source::Relay(relay) = &mut self.source {
            relay.release(cx);
        }
    }

    /// Returns whether the client or the library has ended the stream.
    fn is_reset(&mut self, task: &mut task::Context<'_>) -> bool {
        match &mut self.respond {
            Respond::Head(respond) => respond.poll_reset(task).is_ready(),
            Respond::Body(stream) => stream.poll_reset(task).is_ready(),
            Respond::Sent => false,
        }
    }

    fn reset(&mut self, reason: Reason) {
        match &mut self.respond {
            Respond::Head(respond) => respond.send_reset(reason),
            Respond::Body(stream) => stream.send_reset(reason),
            Respond::Sent => {}
        }
    }

    /// Answers the client in place of the back end, or cuts the response that has begun.
    fn refuse(&mut self, status: Status, cx: &mut Context) -> Pumped {
        if matches!(self.respond, Respond::Head(_)) {
            let head_only = self.answered.method == "HEAD";
            return self.answer(Response { head_only, ..Response::refusal(status) }, cx);
        }
        self.reset(Reason::INTERNAL_ERROR);
        Pumped::Cut
    }

    /// Returns the result of a step that moved something.
    fn moved(&mut self, cx: &mut Context) -> Pumped {
        match &mut self.source {
            Source::Own(_) => self.deadline = cx.now + cx.limits.write,
            Source::Relay(relay) => {
                relay.wait_again(cx);
                self.deadline = relay.deadline;
            }
        }
        let skips = matches!(self.source, Source::Own(_)) && self.request_body.is_some();
        if skips || !matches!(self.respond, Respond::Sent) {
            return Pumped::Moved;
        }
        if let Source::Relay(relay) = &mut self.source {
            relay.end(cx);
        }
        Pumped::Sent
    }

    /// Passes the request to the back end, and takes bytes of its response.
    fn exchange(&mut self, task: &mut task::Context<'_>, cx: &mut Context) -> Result<bool, Fault> {
        let mut moved = self.receive_request(task)?;
        if let Source::Relay(relay) = &mut self.source {
            moved |= relay.send(cx)?;
            moved |= self.receive_response(cx)?;
        }
        Ok(moved)
    }

    /// Skips the body of a request that this server answers; returns whether it has ended. The
    /// library ends a request whose body is not read.
    fn skip_request(&mut self, task: &mut task::Context<'_>) -> bool {
        let (Some(body), Source::Own(_)) = (&mut self.request_body, &self.source) else {
            return false;
        };
        while let Poll::Ready(data) = body.poll_data(task) {
            let length = match data {
                Some(Ok(data)) => data.len(),
                Some(Err(_)) | None => usize::MAX,
            };
            if length > self.skip {
                self.request_body = None;
                return true;
            }
            self.skip -= length;
            let _ = body.flow_control().release_capacity(length);
        }
        false
    }

    /// Takes bytes of the request's body from the client.
    fn receive_request(&mut self, task: &mut task::Context<'_>) -> Result<bool, Fault> {
        let (Some(body), Source::Relay(relay)) = (&mut self.request_body, &mut self.source) else {
            return Ok(false);
        };
        let (mut moved, mut has_ended) = (false, false);
        while !has_ended && relay.up.bytes.len() < RECORD_BYTES_MAX {
            let data = match body.poll_data(task) {
                Poll::Pending => return Ok(moved),
                Poll::Ready(Some(Ok(data))) => data,
                Poll::Ready(Some(Err(_))) => return Err(Fault::Client),
                Poll::Ready(None) => {
                    has_ended = true;
                    continue;
                }
            };
            moved = true;
            let _ = body.flow_control().release_capacity(data.len());
            let up = &mut relay.up.bytes;
            match &mut self.framing {
                Framing::Chunked(_) if data.is_empty() => {} // it would end the body
                Framing::Chunked(_) => {
                    write!(up, "{:x}\r\n", data.len()).expect("a Vec takes any bytes");
                    up.extend_from_slice(&data);
                    up.extend_from_slice(b"\r\n");
                }
                length => {
                    // the back end would take further bytes for another request
                    if length.take(&data) != Ok(data.len()) {
                        return Err(Fault::Client);
                    }
                    up.extend_from_slice(&data);
                }
            }
        }
        if !has_ended {
            return Ok(moved);
        }
        match body.poll_trailers(task) {
            Poll::Pending => return Ok(moved),
            // not passed on, as in HTTP/1.1
            Poll::Ready(Ok(_)) => {}
            Poll::Ready(Err(_)) => return Err(Fault::Client),
        }
        match &self.framing {
            Framing::Chunked(_) => relay.up.bytes.extend_from_slice(LAST_CHUNK),
            length if !length.is_complete() => return Err(Fault::Client),
            _ => {}
        }
        relay.has_whole_request = true;
        self.request_body = None;
        Ok(true)
    }

    /// Takes bytes of the response from the back end.
    fn receive_response(&mut self, cx: &mut Context) -> Result<bool, Fault> {
        let Source::Relay(relay) = &mut self.source else {
            return Ok(false);
        };
        if !self.down.is_empty() || !relay.receive(cx)? {
            return Ok(false);
        }
        while relay.body.is_none() {
            let Ok(answer) = relay.next_head() else {
                return Err(relay.fail(cx).into());
            };
            let Some((answer, head)) = answer else {
                return Ok(true);
            };
            let Some(head) = map_answer(&head) else {
                return Err(relay.fail(cx).into());
            };
            if !answer.is_interim() {
                let ends = relay.is_complete();
                begin(&mut self.respond, &mut self.answered, head, ends, cx)?;
            } else if let Respond::Head(respond) = &mut self.respond {
                // A client that ended the stream needs no notice.
                let _ = respond.send_informational(head);
            }
        }
        let body = relay.body.as_mut().expect("set by the loop");
        let unread = &mut relay.unread;
        let before = unread.len();
        let (data, taken) = if matches!(body, Framing::Chunked(_)) {
            let mut data = Vec::with_capacity(before);
            let taken = body.decode(unread, &mut data);
            (data, taken)
        } else {
            let taken = body.take(unread);
            unread.truncate(taken.unwrap_or(0));
            (core::mem::take(unread), taken)
        };
        let Ok(taken) = taken else {
            return Err(relay.fail(cx).into());
        };
        unread.clear();
        // Bytes after the response belong to no request.
        relay.upstream_stays &= taken == before;
        self.down = data.into();
        Ok(true)
    }

    /// Gives data to the library, as much as the client's windows and `room` permit.
    fn send(
        &mut self,
        task: &mut task::Context<'_>,
        cx: &Context,
        room: &mut usize,
    ) -> Result<bool, Fault> {
        let Respond::Body(stream) = &mut self.respond else {
            return Ok(false);
        };
        if let Source::Own(body) = &mut self.source
            && self.down.is_empty()
            && body.left() > 0
        {
            let mut data = Vec::new();
            body.append(&mut data, RECORD_BYTES_MAX).map_err(|_| Status::InternalError)?;
            self.down = data.into();
        }
        let is_last = match &self.source {
            Source::Own(body) => body.left() == 0,
            Source::Relay(relay) => relay.is_complete(),
        };
        if self.down.is_empty() {
            if !is_last {
                return Ok(false);
            }
            stream.send_data(Bytes::new(), true).map_err(|_| Fault::Client)?;
            self.respond = Respond::Sent;
            return Ok(true);
        }
        if *room == 0 {
            return Ok(true); // after other streams
        }
        stream.reserve_capacity(self.down.len());
        let mut count = stream.capacity();
        if count == 0 {
            count = match stream.poll_capacity(task) {
                Poll::Pending => return Ok(false),
                Poll::Ready(Some(Ok(count))) => count,
                Poll::Ready(_) => return Err(Fault::Client),
            };
        }
        let count = count.min(self.down.len()).min(*room);
        let data = self.down.split_to(count);
        let ends = is_last && self.down.is_empty();
        stream.send_data(data, ends).map_err(|_| Fault::Client)?;
        *room -= count;
        self.answered.bytes += count as u64;
        cx.tally().body_bytes.add(count as u64);
        if ends {
            self.respond = Respond::Sent;
        }
        Ok(true)
    }
}

/// Begins a response with this head.
fn begin(
    respond: &mut Respond,
    answered: &mut Answered,
    head: http::Response<()>,
    ends: bool,
    cx: &Context,
) -> Result<(), Fault> {
    let Respond::Head(client) = respond else {
        return Err(Fault::Client);
    };
    let status = head.status().as_u16();
    let body = client.send_response(head, ends).map_err(|_| Fault::Client)?;
    *respond = if ends { Respond::Sent } else { Respond::Body(body) };
    answered.status = status;
    cx.tally().count_response(status);
    Ok(())
}
