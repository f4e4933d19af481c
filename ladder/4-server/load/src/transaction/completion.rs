//! The end of a transaction: completion, timeout, failure.

use core::time::Duration;
use std::time::Instant;

use super::Slot;
use crate::phase::{Cause, Failure, Phase};
use crate::plan::Close;
use crate::request_spec::{Drive, RequestSpec, Step, TransactionEvent};
use crate::socket::reset_on_close;
use crate::task::Progress;

impl Slot {
    /// Returns whether the socket may be closed. All bytes of the client must be sent before. If
    /// the response came early, the client's Finished is among these bytes, and the server waits
    /// for it.
    pub(super) fn is_over(&mut self, spec: &RequestSpec) -> bool {
        self.progress.complete
            && self.channel.outgoing().is_empty()
            && match spec.close {
                Close::RstAfterConfirm => true,
                Close::Fin => self.progress.closed,
            }
    }

    /// Checks whether a response or the transaction is complete, or has failed.
    pub(super) fn look_for_end(
        &mut self,
        drive: &mut Drive<'_>,
        now: Instant,
    ) -> Result<(), Failure> {
        let spec = drive.spec;
        let Progress { confirmed, complete, closed, .. } = self.progress;
        if complete {
            return Ok(());
        }
        let is_whole = if !spec.asks() {
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
            // the server sent a body before the request, or closed before the client did
            return Err(self.failure(Cause::Closed));
        }
        if !is_whole {
            return if closed { Err(self.failure(Cause::Closed)) } else { Ok(()) };
        }
        if spec.asks() {
            let bytes = self.response.body_bytes;
            (drive.on_event)(TransactionEvent::Response { bytes }, now);
        }
        if self.requests_left > 0 {
            if self.response.closes {
                return Err(self.failure(Cause::Closes));
            }
            if closed {
                return Err(self.failure(Cause::Closed));
            }
            if spec.asks_until.is_some_and(|end| now > end) {
                self.requests_left = 1;
            }
            return self.ask(spec).map_err(|error| self.tls_failure(error));
        }
        self.progress.complete = true;
        self.timeout_at = None;
        let service = now.saturating_duration_since(self.marks.started);
        let response = now.saturating_duration_since(self.task.intended);
        let resumed = self.progress.resumed;
        (drive.on_event)(TransactionEvent::Complete { service, response, resumed }, now);
        if spec.close == Close::Fin {
            self.channel.close();
        }
        Ok(())
    }

    pub(super) fn end_of_stream(&mut self, drive: &mut Drive<'_>) -> Result<Step, Failure> {
        self.channel.end_of_stream().map_err(|error| self.tls_failure(error))?;
        self.progress.closed = true;
        self.look_for_end(drive, drive.now)?;
        if self.progress.complete { Ok(Step::Closed) } else { Err(self.failure(Cause::Closed)) }
    }

    /// Ends the transaction if its phase has exceeded `max`.
    pub(crate) fn expire(&mut self, now: Instant, max: Duration) -> Option<Failure> {
        let late = self.is_live() && now.saturating_duration_since(self.phase_since) > max;
        late.then(|| {
            self.reset(); // the server does not answer; leave no TIME_WAIT
            Failure::new(self.phase, Cause::Deadline)
        })
    }

    /// Resets the connection after the client timeout; returns the phase.
    pub(crate) fn time_out(&mut self) -> Phase {
        self.reset();
        self.timeout_at = None;
        self.current_phase()
    }

    fn reset(&mut self) {
        if let Some(stream) = self.stream.take() {
            reset_on_close(&stream);
        }
    }

    pub(crate) fn abandon(&mut self) {
        self.stream = None;
    }
}
