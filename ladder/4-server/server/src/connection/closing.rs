//! The last phases: sending `close_notify`, waiting for the client to close; and time limits.

use core::time::Duration;
use std::io::{self, Read as _};
use std::net::Shutdown;

use openssl::ssl::ShutdownResult;

use super::{Connection, Context, Phase, Step};
use crate::failure::{Broken, Failure};

/// The longest wait for the client to close a connection that the server has closed.
const LINGER: Duration = Duration::from_secs(1);

impl Connection {
    /// Begins to close the connection with `close_notify`.
    pub(super) fn begin_closing(&mut self, cx: &Context) -> Step {
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
        if self.socket().shutdown(Shutdown::Write).is_err() {
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

    /// Handles an error of a connection after its handshake.
    pub(super) fn abort(&mut self, error: &openssl::ssl::Error, cx: &mut Context) -> Step {
        self.cut_response(cx);
        if !matches!(Broken::new(error).failure, Failure::Alert | Failure::Closed) {
            cx.setup.sessions.forget(self.stream.ssl());
        }
        Step::Done
    }

    /// Handles a deadline that has passed. Returns whether to drop the connection at once;
    /// otherwise it needs a turn to close.
    pub(crate) fn expire(&mut self, cx: &mut Context) -> bool {
        match self.phase {
            Phase::Handshake => self.failed(Broken::by(Failure::Timeout), cx),
            Phase::Reading => {
                self.begin_closing(cx);
                return false;
            }
            Phase::Sending => self.cut_response(cx),
            Phase::Closing | Phase::Lingering => {}
        }
        true
    }

    /// Ends the connection because the server has stopped. Returns whether anything was cut off.
    pub(crate) fn cut(&mut self, cx: &mut Context) -> bool {
        match self.phase {
            Phase::Handshake => self.failed(Broken::by(Failure::Stopped), cx),
            Phase::Reading => return !self.exchange.is_between_requests(),
            Phase::Sending => self.cut_response(cx),
            Phase::Closing | Phase::Lingering => return false,
        }
        true
    }
}
