//! The half of a proxy that faces back ends: a request is passed on to one of them, and its response
//! is read. Both versions of HTTP towards clients use it.

use std::io::{self, Read as _, Write as _};
use std::time::Instant;

use super::Context;
use crate::http::{Answer, Framing, Malformed, ParsedAnswer, Status, parse_answer};
use crate::proxy::Owner;

/// The longest head of a response, in bytes.
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// The number of no connection to a back end.
const NONE: usize = usize::MAX;

/// A request at a back end.
#[derive(Debug)]
pub(super) struct Relay {
    owner: Owner,
    /// The request was HEAD.
    head_only: bool,
    is_idempotent: bool,
    /// The client wants another protocol.
    pub(super) upgrades: bool,
    /// Both sides have changed to another protocol.
    pub(super) is_tunnel: bool,
    /// The connection to the back end.
    upstream: usize,
    /// The back ends that got the request.
    tried: Vec<usize>,
    /// Bytes for the back end.
    pub(super) up: Pending,
    /// No bytes of the request follow those in `up`.
    pub(super) has_whole_request: bool,
    /// `up` still holds the request from its start, so that another back end can get it.
    is_whole: bool,
    /// Bytes from the back end that the client's side has not taken.
    pub(super) unread: Vec<u8>,
    /// The rest of the response's body, after its head.
    pub(super) body: Option<Framing>,
    /// The back end keeps its connection open, and has sent nothing but the response.
    pub(super) upstream_stays: bool,
    /// The back end has closed its connection.
    upstream_ended: bool,
    /// The back end must do something until then.
    pub(super) deadline: Instant,
}

/// Bytes to send.
#[derive(Debug, Default)]
pub(super) struct Pending {
    pub(super) bytes: Vec<u8>,
    pub(super) sent: usize,
}

impl Pending {
    pub(super) fn left(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.sent == self.bytes.len()
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.sent = 0;
    }
}

impl Relay {
    /// Creates a request that begins with these bytes, before a back end is assigned to it.
    pub(super) fn new(owner: Owner, method: &str, request: Vec<u8>, now: Instant) -> Self {
        Self {
            owner,
            head_only: method == "HEAD",
            is_idempotent: matches!(
                method,
                "GET" | "HEAD" | "OPTIONS" | "TRACE" | "PUT" | "DELETE"
            ),
            upgrades: false,
            is_tunnel: false,
            upstream: NONE,
            tried: Vec::new(),
            up: Pending { bytes: request, sent: 0 },
            has_whole_request: false,
            is_whole: true,
            unread: Vec::new(),
            body: None,
            upstream_stays: false,
            upstream_ended: false,
            deadline: now,
        }
    }

    /// Gives the request to a back end that has not had it. Fails if there is none.
    pub(super) fn assign(&mut self, cx: &mut Context) -> Result<(), Status> {
        let was_tried = !self.tried.is_empty();
        let upstreams = cx.upstreams.as_mut().expect("a proxy has back ends");
        let Some(upstream) = upstreams.begin(self.owner, &mut self.tried, cx.now) else {
            self.upstream = NONE;
            return Err(if was_tried { Status::BadGateway } else { Status::ServiceUnavailable });
        };
        self.upstream = upstream;
        self.up.sent = 0;
        self.deadline = cx.now + upstreams.connect_limit();
        Ok(())
    }

    /// Begins the wait for the next bytes, because some were passed on.
    pub(super) fn wait_again(&mut self, cx: &Context) {
        let upstreams = cx.upstreams.as_ref().expect("a proxy has back ends");
        self.deadline = cx.now + upstreams.response_limit(self.is_tunnel);
    }

    /// Sends bytes of the request to the back end; returns whether there were some.
    pub(super) fn send(&mut self, cx: &mut Context) -> Result<bool, Status> {
        if self.up.is_empty() || self.upstream_ended {
            return Ok(false);
        }
        let upstreams = cx.upstreams.as_mut().expect("a proxy has back ends");
        let upstream = upstreams.get(self.upstream);
        match upstream.socket.write(self.up.left()) {
            Ok(n) => {
                self.up.sent += n;
                upstream.has_bytes = true;
                // A short request stays until the response begins, for another attempt.
                if self.up.is_empty() && !self.has_whole_request {
                    self.is_whole = false;
                    self.up.clear();
                }
                Ok(true)
            }
            Err(why) if would_block(&why) => Ok(false),
            // The back end may have answered before it closed: its answer is read next.
            Err(_) if upstream.has_bytes && !upstream.is_used => {
                self.upstream_ended = true;
                Ok(false)
            }
            Err(_) => self.try_another(cx).map(|()| true),
        }
    }

    /// Reads bytes of the response into `unread`; returns whether anything has changed.
    pub(super) fn receive(&mut self, cx: &mut Context) -> Result<bool, Status> {
        let upstreams = cx.upstreams.as_mut().expect("a proxy has back ends");
        let upstream = upstreams.get(self.upstream);
        if !upstream.has_bytes || self.is_complete() {
            return Ok(false);
        }
        match upstream.socket.read(&mut cx.scratch[..]) {
            Ok(0) => {
                self.upstream_stays = false;
                if self.body == Some(Framing::UntilClose) {
                    self.body = Some(Framing::Length(0));
                    return Ok(true);
                }
            }
            Ok(n) => {
                self.unread.extend_from_slice(&cx.scratch[..n]);
                return Ok(true);
            }
            Err(why) if would_block(&why) => return Ok(false),
            // even a body that lasts until the end is incomplete then
            Err(_) => {}
        }
        if self.body.is_some() {
            return Err(self.fail(cx));
        }
        self.try_another(cx).map(|()| true)
    }

    /// Returns whether the response was read completely.
    pub(super) fn is_complete(&self) -> bool {
        self.body.as_ref().is_some_and(Framing::is_complete)
    }

    /// Takes the next head of the response, if it is there. After a final one, `body` is set.
    pub(super) fn next_head(&mut self) -> Result<Option<(Answer, Vec<u8>)>, Malformed> {
        let answer = match parse_answer(&self.unread, self.head_only, HEAD_BYTES_MAX) {
            ParsedAnswer::Partial => return Ok(None),
            ParsedAnswer::Complete(answer) if answer.status != 101 || self.upgrades => answer,
            _ => return Err(Malformed),
        };
        let head: Vec<u8> = self.unread.drain(..answer.head_bytes).collect();
        if !answer.is_interim() {
            self.upstream_stays = answer.keep_alive;
            self.is_tunnel = answer.status == 101;
            self.body = Some(answer.body.clone());
        }
        Ok(Some((answer, head)))
    }

    /// Passes the request on again after its connection failed, if that cannot repeat its effect.
    fn try_another(&mut self, cx: &mut Context) -> Result<(), Status> {
        let upstreams = cx.upstreams.as_mut().expect("a proxy has back ends");
        let upstream = upstreams.get(self.upstream);
        let (is_used, has_bytes) = (upstream.is_used, upstream.has_bytes);
        if is_used {
            // The back end has closed an idle connection: no failure.
            upstreams.close(self.upstream);
        } else {
            upstreams.fail(self.upstream);
        }
        self.upstream = NONE;
        self.upstream_ended = false;
        // RFC 9110 §9.2.2: what may have begun is repeated only if that changes nothing.
        let is_safe = !has_bytes || (is_used && self.is_idempotent);
        if !is_safe || !self.is_whole || !self.unread.is_empty() {
            return Err(Status::BadGateway);
        }
        self.assign(cx)
    }

    /// Counts a failure of the back end. Returns the status for the client.
    pub(super) fn fail(&mut self, cx: &mut Context) -> Status {
        if let Some(upstreams) = &mut cx.upstreams
            && self.upstream != NONE
        {
            upstreams.fail(core::mem::replace(&mut self.upstream, NONE));
        }
        Status::BadGateway
    }

    /// Handles a back end that took too long.
    pub(super) fn expire(&mut self, cx: &mut Context) -> Result<(), Status> {
        let upstreams = cx.upstreams.as_mut().expect("a proxy has back ends");
        if upstreams.get(self.upstream).has_bytes {
            self.fail(cx);
            return Err(Status::GatewayTimeout);
        }
        self.try_another(cx) // it could not connect
    }

    /// Ends a request whose response was passed on: keeps the connection, if it can have another.
    pub(super) fn end(&mut self, cx: &mut Context) {
        let is_sent = self.has_whole_request && self.up.is_empty();
        if self.upstream_stays && is_sent && !self.upstream_ended && self.upstream != NONE {
            if let Some(upstreams) = &mut cx.upstreams {
                upstreams.keep(core::mem::replace(&mut self.upstream, NONE), cx.now);
            }
        } else {
            self.release(cx);
        }
    }

    /// Closes the connection to the back end, if there is one.
    pub(super) fn release(&mut self, cx: &mut Context) {
        if let Some(upstreams) = &mut cx.upstreams
            && self.upstream != NONE
        {
            upstreams.close(core::mem::replace(&mut self.upstream, NONE));
        }
    }
}

fn would_block(why: &io::Error) -> bool {
    matches!(why.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
