//! The last phases: sending `close_notify`, waiting for the client to close; and time limits.

use core::time::Duration;
use std::io;
use std::time::Instant;

use openssl::ssl::ShutdownResult;

use super::{Connection, Context, Phase, Step, Transport};
use crate::failure::{Broken, End, Failure};

/// The longest wait for the client to close a connection that the server has closed.
const LINGER: Duration = Duration::from_secs(1);
/// The longest time that an idle connection stays open after the server begins to stop, so that it
/// can still send a request.
const FIRST_REQUEST_GRACE: Duration = Duration::from_secs(1);

impl<S: Transport> Connection<S> {
    /// Begins to close the connection with `close_notify`.
    pub(super) fn begin_closing(&mut self, end: End, cx: &mut Context) -> Step {
        self.conclude(end, cx);
        self.phase = Phase::Closing;
        self.deadline = cx.now + LINGER;
        Step::On
    }

    pub(super) fn close(&mut self, cx: &Context) -> Step {
        match self.stream.shutdown() {
            // The client has closed first: no data is in flight to it.
            Ok(ShutdownResult::Received) => Step::Done,
            Ok(ShutdownResult::Sent) => self.begin_lingering(cx),
            Err(error) if self.blocked(&error) => Step::Blocked,
            Err(_) => Step::Done,
        }
    }

    /// Closes the writing side and waits for the client. A socket that is closed with unread bytes
    /// is reset, and the reset can overtake the last data sent.
    pub(super) fn begin_lingering(&mut self, cx: &Context) -> Step {
        if self.socket().close_writing().is_err() {
            return Step::Done;
        }
        self.phase = Phase::Lingering;
        self.deadline = cx.now + LINGER;
        Step::On
    }

    /// Discards incoming data without decrypting it.
    pub(super) fn linger(&mut self, cx: &mut Context) -> Step {
        match self.stream.get_mut().read(&mut cx.scratch[..]) {
            Ok(0) => Step::Done,
            Ok(_) => Step::On,
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => Step::Blocked,
            Err(why) if why.kind() == io::ErrorKind::Interrupted => Step::On,
            Err(_) => Step::Done,
        }
    }

    /// Handles a deadline that has passed. Returns whether to drop the connection at once;
    /// otherwise it needs a turn to close.
    pub(crate) fn expire(&mut self, cx: &mut Context) -> bool {
        match self.phase {
            Phase::Handshake => {
                self.failed(Broken { failure: Failure::Timeout, alert: None }, cx);
                true
            }
            Phase::Reading => {
                let end = match (self.exchange.is_between_requests(), cx.draining.is_some()) {
                    (true, true) => End::Stopped,
                    (true, false) => End::Idle,
                    (false, _) => End::Timeout,
                };
                self.begin_closing(end, cx);
                false
            }
            Phase::Sending => {
                self.conclude(End::Timeout, cx);
                true
            }
            Phase::Closing | Phase::Lingering => true,
        }
    }

    /// Shortens the wait for a request, because the server stops.
    pub(crate) fn drain(&mut self, now: Instant) {
        if self.phase == Phase::Reading && self.exchange.is_between_requests() {
            self.deadline = self.deadline.min(now + FIRST_REQUEST_GRACE);
        }
    }

    /// Ends the connection because the server has stopped. Returns whether anything was cut off.
    pub(crate) fn cut(&mut self, cx: &mut Context) -> bool {
        let cut = !self.concluded;
        if self.phase == Phase::Handshake {
            self.failed(Broken { failure: Failure::Stopped, alert: None }, cx);
        }
        self.conclude(End::Stopped, cx);
        cut
    }
}
