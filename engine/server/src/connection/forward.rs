//! The middle phase of a proxy for HTTP/1: a request is passed on to a back end, and its response to
//! the client.
//!
//! Bytes are passed on as they come. In each direction at most one record is held back, so a slow
//! receiver slows the sender down.

use openssl::ssl::ErrorCode;

use super::exchange::Answered;
use super::relay::{Pending, Relay};
use super::{Connection, Context, Phase, Step, Transport};
use crate::failure::{Broken, End};
use crate::http::{
    Framing, RECORD_BYTES_MAX, Request, Response, Status, write_answer_head, write_request_head,
};
use crate::proxy::Owner;

/// A request that is being passed on.
#[derive(Debug)]
pub(super) struct Forward {
    /// For the log. The status is 0 until the response has begun.
    answered: Answered,
    keep_alive: bool,
    old: bool,
    relay: Relay,
    /// The rest of the request's body, which the client still sends.
    request_body: Framing,
    /// Bytes for the client.
    down: Pending,
    /// The bytes of `down` that belong to a head.
    head_left: usize,
}

/// The result of one direction's work in a step.
enum Moved {
    Bytes,
    Nothing,
    /// The phase has ended.
    Ended(Step),
}

impl<S: Transport> Connection<S> {
    /// Begins to pass a request on. Its head is at the start of the inbox.
    pub(super) fn begin_forward(&mut self, request: Request, cx: &mut Context) -> Step {
        let mut up = Vec::new();
        let head = &self.exchange.inbox[..request.head_bytes];
        write_request_head(head, &request.target, self.client, &mut up);
        self.exchange.inbox.drain(..request.head_bytes);
        let owner = Owner { connection: self.key, stream: 0 };
        let mut relay = Relay::new(owner, &request.method, up, cx.now);
        relay.upgrades = request.upgrades;
        relay.has_whole_request = request.body.is_complete();
        let number = self.exchange.next_number();
        let forward = Forward {
            keep_alive: request.keep_alive,
            old: request.is_old(),
            relay,
            request_body: request.body.clone(),
            answered: Answered::new(number, request),
            down: Pending::default(),
            head_left: 0,
        };
        self.phase = Phase::Forwarding;
        let assigned = self.forward.insert(Box::new(forward)).relay.assign(cx);
        self.follow(assigned.map(|()| true), cx)
    }

    /// Continues, or answers the client in place of the back end.
    fn follow(&mut self, result: Result<bool, Status>, cx: &mut Context) -> Step {
        match result {
            Ok(_) => {
                let forward = self.forward.as_ref().expect("the phase `Forwarding` has a request");
                self.deadline = forward.relay.deadline;
                Step::On
            }
            Err(status) => self.refuse_forward(status, cx),
        }
    }

    /// Passes bytes on in all directions in which there are some.
    pub(super) fn forward(&mut self, cx: &mut Context) -> Step {
        if self.is_abandoned() {
            self.conclude(End::Reset, cx);
            return Step::Done;
        }
        let mut moved = false;
        for direction in
            [Self::receive_request, Self::send_request, Self::receive_response, Self::send_response]
        {
            match direction(self, cx) {
                Moved::Bytes => moved = true,
                Moved::Nothing => {}
                Moved::Ended(step) => return step,
            }
        }
        if !moved {
            return Step::Blocked;
        }
        let forward = self.forward.as_mut().expect("the phase `Forwarding` has a request");
        forward.relay.wait_again(cx);
        self.deadline = forward.relay.deadline;
        Step::On
    }

    /// Returns whether the client has closed its connection without waiting for the response: the
    /// back end need not make it.
    fn is_abandoned(&self) -> bool {
        let waits =
            |forward: &Forward| forward.request_body.is_complete() && forward.relay.body.is_none();
        self.has_client_closed && self.forward.as_ref().is_some_and(|forward| waits(forward))
    }

    /// Takes bytes of the request's body from the client.
    fn receive_request(&mut self, cx: &mut Context) -> Moved {
        let forward = self.forward.as_mut().expect("the phase `Forwarding` has a request");
        let up = &mut forward.relay.up.bytes;
        if forward.request_body.is_complete() || up.len() >= RECORD_BYTES_MAX {
            return Moved::Nothing;
        }
        let inbox = &mut self.exchange.inbox;
        if inbox.is_empty() {
            match self.stream.ssl_read(&mut cx.scratch[..]) {
                Ok(n) => inbox.extend_from_slice(&cx.scratch[..n]),
                Err(error) => {
                    let is_tunnel = forward.relay.is_tunnel;
                    if self.blocked(&error) {
                        return Moved::Nothing;
                    }
                    let is_orderly = error.code() == ErrorCode::ZERO_RETURN;
                    let end = if is_orderly { End::Orderly } else { Broken::of(&error).end() };
                    if is_orderly && is_tunnel {
                        return Moved::Ended(self.end_forward(cx));
                    }
                    self.conclude(end, cx);
                    return Moved::Ended(Step::Done);
                }
            }
        }
        let room = RECORD_BYTES_MAX - up.len();
        let here = inbox.len().min(room);
        let Ok(taken) = forward.request_body.pass(&inbox[..here], up) else {
            return Moved::Ended(self.refuse_forward(Status::BadRequest, cx));
        };
        inbox.drain(..taken);
        forward.relay.has_whole_request = forward.request_body.is_complete();
        if taken == 0 { Moved::Nothing } else { Moved::Bytes }
    }

    /// Sends bytes of the request to the back end.
    fn send_request(&mut self, cx: &mut Context) -> Moved {
        let forward = self.forward.as_mut().expect("the phase `Forwarding` has a request");
        match forward.relay.send(cx) {
            Ok(true) => Moved::Bytes,
            Ok(false) => Moved::Nothing,
            Err(status) => Moved::Ended(self.refuse_forward(status, cx)),
        }
    }

    /// Takes bytes of the response from the back end.
    fn receive_response(&mut self, cx: &mut Context) -> Moved {
        let forward = self.forward.as_mut().expect("the phase `Forwarding` has a request");
        if !forward.down.is_empty() {
            return Moved::Nothing;
        }
        match forward.relay.receive(cx) {
            Ok(true) => {}
            Ok(false) => return Moved::Nothing,
            Err(status) => return Moved::Ended(self.refuse_forward(status, cx)),
        }
        let forward = &mut **forward;
        let relay = &mut forward.relay;
        while relay.body.is_none() {
            let (answer, head) = match relay.next_head() {
                Ok(Some(answer)) => answer,
                Ok(None) => return Moved::Bytes,
                Err(_) => return Moved::Ended(self.backend_failed(cx)),
            };
            if matches!(answer.body, Framing::Chunked(_)) && forward.old {
                return Moved::Ended(self.backend_failed(cx));
            }
            let before = forward.down.bytes.len();
            if answer.is_interim() {
                if !forward.old {
                    write_answer_head(&head, "", &mut forward.down.bytes);
                    forward.head_left += forward.down.bytes.len() - before;
                }
                continue;
            }
            let ends_here = answer.body == Framing::UntilClose && !relay.is_tunnel;
            forward.keep_alive &= !ends_here && cx.draining.is_none() && !relay.is_tunnel;
            let connection = match (forward.keep_alive, forward.old) {
                _ if relay.is_tunnel => "",
                (true, false) => "",
                (true, true) => "Connection: keep-alive\r\n",
                (false, _) => "Connection: close\r\n",
            };
            write_answer_head(&head, connection, &mut forward.down.bytes);
            forward.head_left += forward.down.bytes.len() - before;
            forward.answered.status = answer.status;
            if relay.is_tunnel {
                forward.request_body = Framing::UntilClose;
                relay.has_whole_request = false;
            }
            cx.tally().count_response(answer.status);
        }
        let body = relay.body.as_mut().expect("set by the loop");
        let Ok(taken) = body.pass(&relay.unread, &mut forward.down.bytes) else {
            return Moved::Ended(self.backend_failed(cx));
        };
        // Bytes after the response belong to no request.
        relay.upstream_stays &= taken == relay.unread.len();
        relay.unread.clear();
        Moved::Bytes
    }

    /// Sends bytes of the response to the client.
    fn send_response(&mut self, cx: &mut Context) -> Moved {
        let forward = self.forward.as_mut().expect("the phase `Forwarding` has a request");
        if forward.down.is_empty() {
            if forward.relay.is_complete() {
                return Moved::Ended(self.end_forward(cx));
            }
            return Moved::Nothing;
        }
        let left = forward.down.left();
        match self.stream.ssl_write(&left[..left.len().min(RECORD_BYTES_MAX)]) {
            Ok(n) => {
                forward.down.sent += n;
                let of_head = n.min(forward.head_left);
                forward.head_left -= of_head;
                let of_body = (n - of_head) as u64;
                forward.answered.bytes += of_body;
                cx.tally().body_bytes.add(of_body);
                if forward.down.is_empty() {
                    forward.down.clear();
                }
                Moved::Bytes
            }
            Err(error) if self.blocked(&error) => Moved::Nothing,
            Err(error) => {
                self.conclude(Broken::of(&error).end(), cx);
                Moved::Ended(Step::Done)
            }
        }
    }

    /// Counts the failure of the back end, and answers the client in its place.
    fn backend_failed(&mut self, cx: &mut Context) -> Step {
        let forward = self.forward.as_mut().expect("the phase `Forwarding` has a request");
        let status = forward.relay.fail(cx);
        self.refuse_forward(status, cx)
    }

    /// Answers the client in place of the back end. If a response has begun, closes the connection
    /// without `close_notify`, so that the client knows that the response is incomplete.
    fn refuse_forward(&mut self, status: Status, cx: &mut Context) -> Step {
        self.release_upstreams(cx);
        let forward = self.forward.take().expect("the phase `Forwarding` has a request");
        let has_begun = forward.answered.status != 0 || forward.head_left > 0;
        if has_begun {
            self.forward = Some(forward);
            self.conclude(End::Backend, cx);
            return Step::Done;
        }
        // after a malformed body, nobody knows where the next request begins
        let is_read = forward.request_body.is_complete() && status != Status::BadRequest;
        let keep_alive = forward.keep_alive && is_read && cx.draining.is_none();
        let head_only = forward.answered.method == "HEAD";
        let response = Response { head_only, ..Response::refusal(status) };
        self.begin(forward.answered, keep_alive, forward.old, response, cx)
    }

    /// Ends a response that was sent completely.
    fn end_forward(&mut self, cx: &mut Context) -> Step {
        let mut forward = self.forward.take().expect("the phase `Forwarding` has a request");
        forward.relay.end(cx);
        let is_read = forward.request_body.is_complete();
        self.answered(forward.answered, forward.keep_alive && is_read, cx)
    }

    /// Handles a back end that took too long. Returns whether to drop the connection at once.
    pub(super) fn expire_forward(&mut self, cx: &mut Context) -> bool {
        let forward = self.forward.as_mut().expect("the phase `Forwarding` has a request");
        if !forward.down.is_empty() || forward.relay.is_tunnel {
            // The client accepts no bytes, or both sides are silent.
            self.conclude(End::Timeout, cx);
            return true;
        }
        let result = forward.relay.expire(cx);
        matches!(self.follow(result.map(|()| true), cx), Step::Done)
    }

    /// Closes the connections to back ends.
    pub(crate) fn release_upstreams(&mut self, cx: &mut Context) {
        if let Some(forward) = &mut self.forward {
            forward.relay.release(cx);
        }
        if let Some(streams) = &mut self.streams {
            streams.release(cx);
        }
    }

    /// Returns the log's entry for a response that was begun and is cut.
    pub(super) fn cut_forward(&mut self, cx: &mut Context) -> Option<Answered> {
        let mut forward = self.forward.take()?;
        forward.relay.release(cx);
        Some(forward.answered).filter(|answered| answered.status != 0)
    }
}
