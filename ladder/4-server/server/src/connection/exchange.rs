//! The middle phases: reading requests, sending responses.

use std::borrow::Cow;
use std::time::Instant;

use openssl::ssl::ErrorCode;

use super::{Connection, Context, Phase, Step};
use crate::http::{
    Body, Parsed, RECORD_BYTES_MAX, Request, Response, Status, loggable_path, parse,
};
use crate::log::{Line, RequestLine, micros, now_us};

/// Buffers and state of requests and responses.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    /// The number of requests answered or being answered.
    requests: u64,
    /// Received bytes that are not yet parsed: at most a head and a record.
    inbox: Vec<u8>,
    /// Bytes to send: the head and the beginning of the body, or a part of a file.
    outbox: Vec<u8>,
    /// The number of bytes of `outbox` that were sent.
    sent: usize,
    sending: Option<Sending>,
}

/// A response that is being sent.
#[derive(Debug)]
struct Sending {
    answered: Answered,
    body: Body,
    /// The number of bytes of the head that are still to be sent.
    head_left: usize,
    keep_alive: bool,
}

/// A request and its response, for the log.
#[derive(Debug)]
struct Answered {
    /// The request's number within its connection, from one.
    number: u64,
    method: Cow<'static, str>,
    target: Cow<'static, str>,
    http: Option<&'static str>,
    /// The status; 0 until the response has begun.
    status: u16,
    /// The number of bytes of the body that were sent.
    bytes: u64,
    begun: Instant,
}

impl Answered {
    /// The request begins now: the turn may have begun with a handshake.
    fn new(number: u64, request: Request) -> Self {
        Self {
            method: request.method,
            target: loggable_path(&request.target).into(),
            http: Some(request.http),
            ..Self::refused(number)
        }
    }

    /// Input that is not a request.
    fn refused(number: u64) -> Self {
        Self {
            number,
            method: "-".into(),
            target: "-".into(),
            http: None,
            status: 0,
            bytes: 0,
            begun: Instant::now(),
        }
    }
}

impl Exchange {
    /// Returns whether the next byte begins a request.
    pub(super) const fn is_between_requests(&self) -> bool {
        self.inbox.is_empty()
    }

    /// Returns the number of a request that begins.
    const fn next_number(&mut self) -> u64 {
        self.requests += 1;
        self.requests
    }
}

impl Connection {
    /// Answers a request that was received, or receives more bytes.
    pub(super) fn read(&mut self, cx: &mut Context) -> Step {
        if !self.exchange.inbox.is_empty() {
            match parse(&self.exchange.inbox) {
                Parsed::Partial => {}
                Parsed::Request(request) => return self.answer(request, cx),
                Parsed::Refused => return self.refuse(cx),
            }
        }
        match self.stream.ssl_read(&mut cx.scratch[..]) {
            Ok(n) => {
                if self.exchange.is_between_requests() {
                    self.deadline = cx.now + cx.setup.config.time_limit;
                }
                self.exchange.inbox.extend_from_slice(&cx.scratch[..n]);
                Step::On
            }
            Err(error) if self.blocked(&error) => Step::Blocked,
            Err(error) if error.code() == ErrorCode::ZERO_RETURN => self.begin_closing(cx),
            Err(error) => self.abort(&error, cx),
        }
    }

    fn answer(&mut self, request: Request, cx: &mut Context) -> Step {
        self.exchange.inbox.drain(..request.head_bytes);
        let response = Response::to(&request, cx.setup.root.as_ref());
        let keep_alive = request.keep_alive;
        let answered = Answered::new(self.exchange.next_number(), request);
        self.begin(answered, keep_alive, response, cx)
    }

    /// Answers input that is not a request; input after it cannot be parsed.
    fn refuse(&mut self, cx: &mut Context) -> Step {
        self.exchange.inbox.clear();
        let answered = Answered::refused(self.exchange.next_number());
        self.begin(answered, false, Response::refusal(Status::BadRequest), cx)
    }

    /// Begins to send a response of this server.
    fn begin(
        &mut self,
        answered: Answered,
        keep_alive: bool,
        mut response: Response,
        cx: &mut Context,
    ) -> Step {
        let exchange = &mut self.exchange;
        exchange.sent = 0;
        exchange.outbox.clear();
        response.write_head(&mut exchange.outbox, &mut cx.date, keep_alive);
        let head_left = exchange.outbox.len();
        // One record for the head and the beginning of the body saves a system call.
        let room = RECORD_BYTES_MAX.saturating_sub(head_left);
        let filled = response.body.append(&mut exchange.outbox, room);
        let Response { status, body, .. } = response;
        let answered = Answered { status: status as u16, ..answered };
        exchange.sending = Some(Sending { answered, body, head_left, keep_alive });
        self.phase = Phase::Sending;
        self.deadline = cx.now + cx.setup.config.time_limit;
        if filled.is_err() {
            self.cut_response(cx);
            return Step::Done;
        }
        Step::On
    }

    /// Sends up to one record of the response.
    pub(super) fn send(&mut self, cx: &mut Context) -> Step {
        let Exchange { outbox, sent, sending, .. } = &mut self.exchange;
        let sending = sending.as_mut().expect("the phase `Sending` has a response");
        if *sent == outbox.len() && matches!(sending.body, Body::File { .. }) {
            *sent = 0;
            outbox.clear();
            if sending.body.append(outbox, RECORD_BYTES_MAX).is_err() {
                self.cut_response(cx);
                return Step::Done;
            }
        }
        let buffered = *sent < outbox.len();
        // After a write that would block, OpenSSL requires the same bytes again: positions change
        // only after success.
        let bytes = if buffered {
            &outbox[*sent..]
        } else {
            sending.body.peek(RECORD_BYTES_MAX).unwrap_or_default()
        };
        if bytes.is_empty() {
            return self.sent(cx);
        }
        match self.stream.ssl_write(bytes) {
            Ok(n) => {
                if buffered {
                    *sent += n;
                } else {
                    sending.body.advance(n);
                }
                let of_head = n.min(sending.head_left);
                sending.head_left -= of_head;
                sending.answered.bytes += (n - of_head) as u64;
                cx.tally().body_bytes.add((n - of_head) as u64);
                self.deadline = cx.now + cx.setup.config.time_limit;
                Step::On
            }
            Err(error) if self.blocked(&error) => Step::Blocked,
            Err(error) => self.abort(&error, cx),
        }
    }

    /// Counts and logs a response that was sent completely, and begins the next request or the end.
    fn sent(&mut self, cx: &mut Context) -> Step {
        let sending = self.exchange.sending.take().expect("checked by the caller");
        cx.tally().requests.add(1);
        cx.journal.push(cx.now, || self.request_line(sending.answered, true));
        if !sending.keep_alive {
            return self.begin_closing(cx);
        }
        self.phase = Phase::Reading;
        self.deadline = cx.now + cx.setup.config.time_limit;
        Step::On
    }

    /// Counts and logs the response that is incomplete when the connection ends.
    pub(super) fn cut_response(&mut self, cx: &mut Context) {
        if let Some(sending) = self.exchange.sending.take() {
            cx.tally().requests_cut.add(1);
            cx.journal.push(cx.now, || self.request_line(sending.answered, false));
        }
    }

    fn request_line(&self, answered: Answered, complete: bool) -> Line {
        let session = self.session();
        Line::Request(RequestLine {
            time_us: now_us(),
            connection: self.number,
            client: self.client,
            request: answered.number,
            protocol: session.protocol.into(),
            suite: session.suite.into(),
            group: session.group.map(Cow::Borrowed),
            resumed: session.resumed,
            method: answered.method,
            target: answered.target,
            http: answered.http.map(Cow::Borrowed),
            status: answered.status,
            bytes: answered.bytes,
            complete,
            took_us: micros(Instant::now().duration_since(answered.begun)),
        })
    }
}
