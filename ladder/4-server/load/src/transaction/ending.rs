//! How a transaction ends: with its last byte, or before.

use core::time::Duration;
use std::time::Instant;

use super::Slot;
use crate::manner::{Manner, News, Step};
use crate::phase::{Cause, Failure, Phase};
use crate::plan::Close;
use crate::socket::reset_on_close;
use crate::task::Progress;

impl Slot {
    /// Whether the socket may be closed: never before all is sent that the client has to say. Where
    /// early data is answered at once, that is its Finished, and the server waits for it.
    pub(super) fn is_over(&mut self, manner: &Manner) -> bool {
        self.progress.complete
            && self.channel.outgoing().is_empty()
            && match manner.close {
                Close::RstAfterConfirm => true,
                Close::Fin => self.progress.closed,
            }
    }

    /// Whether a response or the transaction is complete now, or cannot become so any more.
    pub(super) fn look_for_end(
        &mut self,
        manner: &Manner,
        now: Instant,
        tell: &mut impl FnMut(News, Instant),
    ) -> Result<(), Failure> {
        let Progress { confirmed, complete, closed, .. } = self.progress;
        if complete {
            return Ok(());
        }
        let is_whole = if !manner.asks() {
            confirmed
        } else if closed {
            self.response.is_complete() || {
                self.response.end().map_err(|cause| self.failure(cause))?;
                true
            }
        } else {
            self.response.is_complete()
        };
        if is_whole && !confirmed {
            // a body that answers nothing, or a close_notify before ours
            return Err(self.failure(Cause::Closed));
        }
        if !is_whole {
            return if closed { Err(self.failure(Cause::Closed)) } else { Ok(()) };
        }
        if manner.asks() {
            let since_asked = |at: Instant| at.saturating_duration_since(self.marks.asked);
            let first_byte = since_asked(self.marks.first_byte.unwrap_or(now));
            let bytes = self.response.body_bytes();
            tell(News::Response { first_byte, last_byte: since_asked(now), bytes }, now);
        }
        if self.requests_left > 0 {
            if self.response.closes() {
                return Err(self.failure(Cause::Closes));
            }
            if closed {
                return Err(self.failure(Cause::Closed));
            }
            if manner.asks_until.is_some_and(|end| now > end) {
                self.requests_left = 1;
            }
            return self.ask(manner).map_err(|error| self.tls_failure(error));
        }
        self.progress.complete = true;
        self.patient_until = None;
        let service = now.saturating_duration_since(self.marks.started);
        let response = now.saturating_duration_since(self.task.intended);
        tell(News::Complete { service, response, resumed: self.progress.resumed }, now);
        if manner.close == Close::Fin {
            self.channel.close();
        }
        Ok(())
    }

    pub(super) fn end_of_stream(
        &mut self,
        manner: &Manner,
        now: Instant,
        tell: &mut impl FnMut(News, Instant),
    ) -> Result<Step, Failure> {
        self.channel.end_of_stream().map_err(|error| self.tls_failure(error))?;
        self.progress.closed = true;
        self.look_for_end(manner, now, tell)?;
        if self.progress.complete { Ok(Step::Closed) } else { Err(self.failure(Cause::Closed)) }
    }

    /// Ends the transaction if its phase has lasted longer than `max`.
    pub(crate) fn expire(&mut self, now: Instant, max: Duration) -> Option<Failure> {
        let late = self.is_live() && now.saturating_duration_since(self.phase_since) > max;
        late.then(|| {
            let stream = self.stream.take();
            if let Some(stream) = &stream {
                reset_on_close(stream); // nobody answers there: nothing is owed, and no port waits
            }
            Failure::new(self.phase, Cause::Deadline)
        })
    }

    /// The client has lost patience: the connection is reset, in this phase.
    pub(crate) fn leave(&mut self) -> Phase {
        if let Some(stream) = self.stream.take() {
            reset_on_close(&stream);
        }
        self.patient_until = None;
        self.current_phase()
    }

    /// Drops the connection, whatever it was doing.
    pub(crate) fn abandon(&mut self) {
        self.stream = None;
    }
}
