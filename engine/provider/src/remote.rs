//! Operations with keys that a signer has: `tollgate signer`, on a Unix socket of this machine.
#![forbid(unsafe_code)]

use core::any::Any;
use core::time::Duration;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use tollgate_keyless::{Operation, Ski};
use zeroize::Zeroizing;

use crate::alt_stack::on_alt_stack;
use crate::connections::{Answer, Connections, Failure, Flight};
use crate::counters::Event;
use crate::jobs::{Callback, OfJob as _, RunningJob};
use crate::private::PAUSES_MAX;
use crate::provider::Provider;
use crate::reason::Reason;
use crate::settings::SIGNERS_MAX;
use crate::watch::{Key, Watch};

/// The state of an operation when its job stops to pause.
enum Unpaused {
    Ended(Flight, Result<Answer, Failure>),
    /// The job cannot be paused, or not again.
    Waits(Flight),
    /// This is a child that was forked while the job was paused. The answer is the parent's.
    Forked,
}

/// The failures of an operation, in the order of the signers. Without memory of its own, because
/// the stack of a paused job has it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Failures([Option<Failure>; SIGNERS_MAX]);

impl Failures {
    /// Returns the failure that ended the operation.
    pub(crate) fn last(&self) -> Option<Failure> {
        self.0.iter().flatten().last().copied()
    }
}

impl Provider {
    /// Runs an operation on the first signer that is there, and passes the result to `check`, which
    /// says if it is the right one. While a job is paused, the key is not in the context of
    /// libcrypto's call.
    ///
    /// Each signer has an equal share of the time that is left, and at least
    /// [`limit_min`](Self::limit_min).
    pub(crate) fn remote<K: Any + Send + Sync>(
        &self,
        key: &mut Option<Arc<K>>,
        request: (Ski, Operation, &[u8]),
        check: impl Fn(&K, &[u8]) -> bool,
    ) -> Result<Zeroizing<Vec<u8>>, Failures> {
        let deadline = Instant::now() + self.settings.remote_limit;
        let mut failures = Failures::default();
        let signers = &self.settings.remote;
        for ((number, path), failure) in signers.iter().enumerate().zip(&mut failures.0) {
            let left = deadline.saturating_duration_since(Instant::now());
            let share = left / u32::try_from(signers.len() - number).unwrap_or(1);
            let limit = share.max(self.limit_min());
            let result = self.ask((number, path), limit, key, request).and_then(|result| {
                let check = || key.as_deref().is_some_and(|key| check(key, &result));
                // The stack of a job is small.
                let is_right =
                    if self.running_job().is_some() { on_alt_stack(check) } else { check() };
                if is_right { Ok(result) } else { Err(Failure::Wrong) }
            });
            // All users may read the counters, which must not reveal whether a padding is valid.
            let is_done = match &result {
                Ok(_) => true,
                Err(why) => why.is_of_payload() && request.1 == Operation::Decrypt,
            };
            self.count(if is_done { Event::Remote } else { Event::RemoteFailure });
            match result {
                Ok(result) => return Ok(result),
                Err(why) => *failure = Some(why),
            }
            if !failure.is_some_and(Failure::is_absence) {
                break;
            }
        }
        Err(failures)
    }

    /// Returns the time for an operation if earlier signers have used up all of it, because its job
    /// was started late.
    fn limit_min(&self) -> Duration {
        let signers = u32::try_from(self.settings.remote.len()).unwrap_or(1);
        self.settings.remote_limit / (4 * signers)
    }

    fn ask<K: Any + Send + Sync>(
        &self,
        (number, path): (usize, &Path),
        limit: Duration,
        key: &mut Option<Arc<K>>,
        request: (Ski, Operation, &[u8]),
    ) -> Result<Zeroizing<Vec<u8>>, Failure> {
        let connections = &self.states.current().connections[number];
        let mut flight = connections.begin(request, limit)?;
        flight.is_short = limit <= self.limit_min();
        let unpaused = match self.running_job().filter(|_| self.settings.pauses_jobs) {
            Some(job) => self.ask_in_job(&job, key, flight, (connections, path)),
            None => Unpaused::Waits(flight),
        };
        match unpaused {
            Unpaused::Ended(flight, result) => connections.end(flight, result, limit),
            Unpaused::Waits(flight) => connections.wait(flight, path, limit),
            Unpaused::Forked => self.ask((number, path), limit, key, request),
        }
    }

    /// Pauses the job until the answer comes, or until the deadline. No value on the stack of a
    /// paused job owns anything: the stack may never be unwound.
    ///
    /// An owner with a callback watches no descriptor. It is told at once that the job can
    /// continue; meanwhile other jobs have sent their requests. The job then waits.
    fn ask_in_job<K: Any + Send + Sync>(
        &self,
        job: &RunningJob<'_>,
        key: &mut Option<Arc<K>>,
        mut flight: Flight,
        (connections, path): (&Connections, &Path),
    ) -> Unpaused {
        let callback = job.callback();
        for pauses in 0..PAUSES_MAX {
            match connections.advance(&mut flight, path) {
                Ok(None) => {}
                Ok(Some(answer)) => return Unpaused::Ended(flight, Ok(answer)),
                Err(why) => return Unpaused::Ended(flight, Err(why)),
            }
            if !connections.may_pause(&mut flight) {
                break;
            }
            let Some(watch) = job.own(&self.counters, |watch: &Watch| watch.begin(&mut flight))
            else {
                break;
            };
            watch.store(key.take().map(|key| key as _), flight);
            if pauses == 0 {
                self.count(Event::Async);
            }
            let is_told = callback.is_some_and(Callback::call);
            let was_paused = job.pause();
            let (held, back) = watch.take().expect("it was stored before the pause");
            flight = back;
            put_back(key, held);
            if !watch.is_of_this_process() {
                return Unpaused::Forked;
            }
            if is_told || !was_paused {
                break;
            }
        }
        Unpaused::Waits(flight)
    }

    /// Adds the failures to the error queue, with the paths of the signers, and returns the reason.
    pub(crate) fn raise_remote(&self, failures: &Failures) -> Reason {
        for (path, failure) in self.settings.remote.iter().zip(&failures.0) {
            if let Some(why) = failure {
                self.raise(Reason::Remote, &format!("the signer at {} {why}", path.display()));
            }
        }
        // Only keys of stubs get here, which need a signer to be read.
        if failures.last().is_some() { Reason::Said } else { Reason::Remote }
    }
}

fn put_back<K: Any + Send + Sync>(key: &mut Option<Arc<K>>, held: Option<Key>) {
    *key = held.and_then(|key| key.downcast().ok());
}
