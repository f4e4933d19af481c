//! The middle phase of a proxy: a request is passed on to a back end, and its response to the
//! client.
//!
//! Bytes are passed on as they come. In each direction at most one record is held back, so a slow
//! receiver slows the sender down.

use std::io::{self, Read as _, Write as _};

use openssl::ssl::ErrorCode;

use super::exchange::{Answered, loggable};
use super::{Connection, Context, Phase, Step, Transport};
use crate::failure::{Broken, End};
use crate::http::{
    Framing, ParsedAnswer, RECORD_BYTES_MAX, Request, Response, Status, parse_answer,
    write_answer_head, write_request_head,
};

/// A request that is being passed on.
#[derive(Debug)]
pub(super) struct Forward {
    /// For the log. The status is 0 until the response has begun.
    answered: Answered,
    keep_alive: bool,
    old: bool,
    is_idempotent: bool,
    upgrades: bool,
    /// The connection to the back end.
    upstream: usize,
    /// The back ends that got the request.
    tried: Vec<usize>,
    /// Bytes for the back end.
    up: Pending,
    /// The rest of the request's body, which the client still sends.
    request_body: Framing,
    /// `up` still holds the request from its start, so that another back end can get it.
    is_whole: bool,
    /// Bytes from the back end that are not parsed yet: a part of a head.
    head: Vec<u8>,
    /// Bytes for the client.
    down: Pending,
    /// The bytes of `down` that belong to a head.
    head_left: usize,
    /// The rest of the response's body, after its head.
    response_body: Option<Framing>,
    /// The back end keeps its connection open, and has sent nothing but the response.
    upstream_stays: bool,
    /// The back end has closed its connection.
    upstream_ended: bool,
}

/// Bytes to send.
#[derive(Debug, Default)]
struct Pending {
    bytes: Vec<u8>,
    sent: usize,
}

impl Pending {
    fn left(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    const fn is_empty(&self) -> bool {
        self.sent == self.bytes.len()
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.sent = 0;
    }
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
        let mut up = Pending::default();
        let head = &self.exchange.inbox[..request.head_bytes];
        write_request_head(head, &request.target, self.client, &mut up.bytes);
        self.exchange.inbox.drain(..request.head_bytes);
        let is_idempotent =
            matches!(&*request.method, "GET" | "HEAD" | "OPTIONS" | "TRACE" | "PUT" | "DELETE");
        let forward = Forward {
            answered: Answered::new(request.method, loggable(&request.target).into()),
            keep_alive: request.keep_alive,
            old: request.old,
            is_idempotent,
            upgrades: request.upgrades,
            upstream: usize::MAX,
            tried: Vec::new(),
            up,
            request_body: request.body,
            is_whole: true,
            head: Vec::new(),
            down: Pending::default(),
            head_left: 0,
            response_body: None,
            upstream_stays: false,
            upstream_ended: false,
        };
        self.forward = Some(Box::new(forward));
        self.phase = Phase::Forwarding;
        self.assign(cx)
    }

    /// Gives the request to a back end that has not had it, or answers that there is none.
    fn assign(&mut self, cx: &mut Context) -> Step {
        let forward = self.forward.as_mut().expect("the phase `Forwarding` has a request");
        let was_tried = !forward.tried.is_empty();
        let upstreams = cx.upstreams.as_mut().expect("a proxy has back ends");
        let Some(upstream) = upstreams.begin(self.key, &mut forward.tried, cx.now) else {
            forward.upstream = usize::MAX;
            let status = if was_tried { Status::BadGateway } else { Status::ServiceUnavailable };
            return self.refuse_forward(status, cx);
        };
        forward.upstream = upstream;
        forward.up.sent = 0;
        self.deadline = cx.now + upstreams.connect_limit();
        Step::On
    }

    /// Passes bytes on in all directions in which there are some.
    pub(super) fn forward(&mut self, cx: &mut Context) -> Step {
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
        let upstreams = cx.upstreams.as_ref().expect("a proxy has back ends");
        self.deadline = cx.now + upstreams.response_limit(self.is_tunnel());
        Step::On
    }

    /// Returns whether both sides have changed to another protocol.
    fn is_tunnel(&self) -> bool {
        self.forward.as_ref().is_some_and(|forward| forward.answered.status == 101)
    }

    /// Takes bytes of the request's body from the client.
    fn receive_request(&mut self, cx: &mut Context) -> Moved {
        let forward = self.forward.as_mut().expect("the phase `Forwarding` has a request");
        if forward.request_body.is_complete() || forward.up.bytes.len() >= RECORD_BYTES_MAX {
            return Moved::Nothing;
        }
        let inbox = &mut self.exchange.inbox;
        if inbox.is_empty() {
            match self.stream.ssl_read(&mut cx.scratch[..]) {
                Ok(n) => inbox.extend_from_slice(&cx.scratch[..n]),
                Err(error) if self.blocked(&error) => return Moved::Nothing,
                Err(error) => {
                    let is_orderly = error.code() == ErrorCode::ZERO_RETURN;
                    let end = if is_orderly { End::Orderly } else { Broken::of(&error).end() };
                    if is_orderly && self.is_tunnel() {
                        return Moved::Ended(self.end_forward(cx));
                    }
                    self.conclude(end, cx);
                    return Moved::Ended(Step::Done);
                }
            }
        }
        let room = RECORD_BYTES_MAX - forward.up.bytes.len();
        let here = inbox.len().min(room);
        let Ok(taken) = forward.request_body.take(&inbox[..here]) else {
            return Moved::Ended(self.refuse_forward(Status::BadRequest, cx));
        };
        forward.up.bytes.extend(inbox.drain(..taken));
        if taken == 0 { Moved::Nothing } else { Moved::Bytes }
    }

    /// Sends bytes of the request to the back end.
    fn send_request(&mut self, cx: &mut Context) -> Moved {
        let forward = self.forward.as_mut().expect("the phase `Forwarding` has a request");
        if forward.up.is_empty() || forward.upstream_ended {
            return Moved::Nothing;
        }
        let upstreams = cx.upstreams.as_mut().expect("a proxy has back ends");
        let upstream = upstreams.get(forward.upstream);
        match upstream.socket.write(forward.up.left()) {
            Ok(n) => {
                forward.up.sent += n;
                upstream.has_bytes = true;
                // A short request stays until the response begins, for another attempt.
                if forward.up.is_empty() && !forward.request_body.is_complete() {
                    forward.is_whole = false;
                    forward.up.clear();
                }
                Moved::Bytes
            }
            Err(why) if would_block(&why) => Moved::Nothing,
            // The back end may have answered before it closed: its answer is read next.
            Err(_) if upstream.has_bytes && !upstream.is_used => {
                forward.upstream_ended = true;
                Moved::Nothing
            }
            Err(_) => Moved::Ended(self.try_another(cx)),
        }
    }

    /// Takes bytes of the response from the back end.
    fn receive_response(&mut self, cx: &mut Context) -> Moved {
        let forward = self.forward.as_mut().expect("the phase `Forwarding` has a request");
        let is_complete = forward.response_body.as_ref().is_some_and(Framing::is_complete);
        let upstreams = cx.upstreams.as_mut().expect("a proxy has back ends");
        let upstream = upstreams.get(forward.upstream);
        if !forward.down.is_empty() || is_complete || !upstream.has_bytes {
            return Moved::Nothing;
        }
        match upstream.socket.read(&mut cx.scratch[..]) {
            Ok(0) => return self.upstream_closed(cx),
            Ok(n) => forward.head.extend_from_slice(&cx.scratch[..n]),
            Err(why) if would_block(&why) => return Moved::Nothing,
            Err(_) => return self.upstream_closed(cx),
        }
        while forward.response_body.is_none() {
            let head_only = forward.answered.method == "HEAD";
            let answer = match parse_answer(&forward.head, head_only, HEAD_BYTES_MAX) {
                ParsedAnswer::Partial => return Moved::Bytes,
                ParsedAnswer::Complete(answer) if answer.status != 101 || forward.upgrades => {
                    answer
                }
                _ => return Moved::Ended(self.backend_failed(Status::BadGateway, cx)),
            };
            let is_chunked = matches!(answer.body, Framing::Chunked(_));
            if is_chunked && forward.old {
                return Moved::Ended(self.backend_failed(Status::BadGateway, cx));
            }
            let head: Vec<u8> = forward.head.drain(..answer.head_bytes).collect();
            let before = forward.down.bytes.len();
            if answer.is_interim() {
                if !forward.old {
                    write_answer_head(&head, "", &mut forward.down.bytes);
                    forward.head_left += forward.down.bytes.len() - before;
                }
                continue;
            }
            let is_tunnel = answer.status == 101;
            let ends_here = answer.body == Framing::UntilClose && !is_tunnel;
            forward.keep_alive &= !ends_here && cx.draining.is_none() && !is_tunnel;
            let connection = match (forward.keep_alive, forward.old) {
                _ if is_tunnel => "",
                (true, false) => "",
                (true, true) => "Connection: keep-alive\r\n",
                (false, _) => "Connection: close\r\n",
            };
            write_answer_head(&head, connection, &mut forward.down.bytes);
            forward.head_left += forward.down.bytes.len() - before;
            forward.answered.status = answer.status;
            forward.upstream_stays = answer.keep_alive;
            forward.response_body = Some(answer.body);
            if is_tunnel {
                forward.request_body = Framing::UntilClose;
            }
            let class = usize::from(answer.status / 100 - 1);
            cx.tally().responses[class].add(1);
        }
        let body = forward.response_body.as_mut().expect("set by the loop");
        let Ok(taken) = body.take(&forward.head) else {
            return self.upstream_closed(cx);
        };
        forward.down.bytes.extend_from_slice(&forward.head[..taken]);
        // Bytes after the response belong to no request.
        forward.upstream_stays &= taken == forward.head.len();
        forward.head.clear();
        Moved::Bytes
    }

    /// Sends bytes of the response to the client.
    fn send_response(&mut self, cx: &mut Context) -> Moved {
        let forward = self.forward.as_mut().expect("the phase `Forwarding` has a request");
        if forward.down.is_empty() {
            let is_complete = forward.response_body.as_ref().is_some_and(Framing::is_complete);
            if is_complete {
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

    /// The back end has closed its connection, or sent what is no response.
    fn upstream_closed(&mut self, cx: &mut Context) -> Moved {
        let forward = self.forward.as_mut().expect("the phase `Forwarding` has a request");
        forward.upstream_stays = false;
        Moved::Ended(match &mut forward.response_body {
            None => self.try_another(cx),
            Some(body @ Framing::UntilClose) => {
                *body = Framing::Length(0);
                Step::On
            }
            Some(_) => self.backend_failed(Status::BadGateway, cx),
        })
    }

    /// Passes the request on again after its connection failed, if that cannot repeat its effect.
    fn try_another(&mut self, cx: &mut Context) -> Step {
        let forward = self.forward.as_mut().expect("the phase `Forwarding` has a request");
        let upstreams = cx.upstreams.as_mut().expect("a proxy has back ends");
        let upstream = upstreams.get(forward.upstream);
        let (is_used, has_bytes) = (upstream.is_used, upstream.has_bytes);
        if is_used {
            // The back end has closed an idle connection: no failure.
            upstreams.close(forward.upstream);
        } else {
            upstreams.fail(forward.upstream);
        }
        forward.upstream = usize::MAX;
        forward.upstream_ended = false;
        // RFC 9110 §9.2.2: what may have begun is repeated only if that changes nothing.
        let is_safe = !has_bytes || (is_used && forward.is_idempotent);
        if !is_safe || !forward.is_whole || !forward.head.is_empty() {
            return self.refuse_forward(Status::BadGateway, cx);
        }
        self.assign(cx)
    }

    /// Counts the failure of the back end, and answers the client in its place.
    fn backend_failed(&mut self, status: Status, cx: &mut Context) -> Step {
        if let (Some(forward), Some(upstreams)) = (&mut self.forward, &mut cx.upstreams) {
            upstreams.fail(core::mem::replace(&mut forward.upstream, usize::MAX));
        }
        self.refuse_forward(status, cx)
    }

    /// Answers the client in place of the back end. If a response has begun, closes the connection
    /// without `close_notify`, so that the client knows that the response is incomplete.
    fn refuse_forward(&mut self, status: Status, cx: &mut Context) -> Step {
        self.release_upstream(cx);
        let forward = self.forward.take().expect("the phase `Forwarding` has a request");
        let has_begun = forward.answered.status != 0 || forward.head_left > 0;
        if has_begun {
            self.forward = Some(forward);
            self.conclude(End::Backend, cx);
            return Step::Done;
        }
        let keep_alive =
            forward.keep_alive && forward.request_body.is_complete() && cx.draining.is_none();
        let head_only = forward.answered.method == "HEAD";
        let response = Response { head_only, ..Response::refusal(status) };
        self.begin(forward.answered, keep_alive, forward.old, response, cx)
    }

    /// Ends a response that was sent completely.
    fn end_forward(&mut self, cx: &mut Context) -> Step {
        let forward = self.forward.as_mut().expect("the phase `Forwarding` has a request");
        let is_read = forward.request_body.is_complete();
        if forward.upstream_stays && is_read && forward.up.is_empty() && !forward.upstream_ended {
            if let Some(upstreams) = &mut cx.upstreams {
                upstreams.keep(core::mem::replace(&mut forward.upstream, usize::MAX), cx.now);
            }
        } else {
            self.release_upstream(cx);
        }
        let forward = self.forward.take().expect("taken here only");
        self.answered(forward.answered, forward.keep_alive && is_read, cx)
    }

    /// Closes the connection to the back end, if there is one.
    pub(crate) fn release_upstream(&mut self, cx: &mut Context) {
        if let (Some(forward), Some(upstreams)) = (&mut self.forward, &mut cx.upstreams)
            && forward.upstream != usize::MAX
        {
            upstreams.close(core::mem::replace(&mut forward.upstream, usize::MAX));
        }
    }

    /// Handles a back end that took too long. Returns whether to drop the connection at once.
    pub(super) fn expire_forward(&mut self, cx: &mut Context) -> bool {
        let forward = self.forward.as_mut().expect("the phase `Forwarding` has a request");
        if !forward.down.is_empty() || forward.answered.status == 101 {
            // The client accepts no bytes, or both sides are silent.
            self.conclude(End::Timeout, cx);
            return true;
        }
        let upstreams = cx.upstreams.as_mut().expect("a proxy has back ends");
        let step = if upstreams.get(forward.upstream).has_bytes {
            self.backend_failed(Status::GatewayTimeout, cx)
        } else {
            self.try_another(cx) // it could not connect
        };
        matches!(step, Step::Done)
    }

    /// Returns what the log says of a response that was begun and is cut.
    pub(super) fn cut_forward(&mut self, cx: &mut Context) -> Option<Answered> {
        self.release_upstream(cx);
        self.forward.take().map(|forward| forward.answered).filter(|answered| answered.status != 0)
    }
}

/// The longest head of a response, in bytes.
const HEAD_BYTES_MAX: usize = 64 * 1024;

fn would_block(why: &io::Error) -> bool {
    matches!(why.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
