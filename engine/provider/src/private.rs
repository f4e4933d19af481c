//! Runs a private operation: on the calling thread, in a batch with operations of other threads, or
//! in a batch with operations of other jobs of libcrypto, which are paused while the batch fills.
#![forbid(unsafe_code)]

use std::sync::Arc;

use tollgate_queue::{Answer, Class, PrivateError, PrivateJob, RunBatch, Ticket};
use tollgate_rsa::Error;

use crate::alt_stack::on_alt_stack;
use crate::counters::Event;
use crate::jobs::{OfJob as _, RunningJob};
use crate::process_state::EnginePlan;
use crate::provider::Provider;
use crate::reason::Reason;
use crate::waker::{Keys, PausedState, Waker};

/// A private operation: its input, and its keys in the context of libcrypto's call.
pub(crate) trait Operation {
    /// The conditions under which operations share batches.
    const SHARING: Sharing;

    /// Fails if a key is missing.
    fn check(&self) -> Result<(), Reason>;

    /// Sets a job of the engine. Called after [`check`](Self::check).
    fn load(&self, job: &mut PrivateJob) -> Result<(), Error>;

    /// Runs the operation on this thread.
    fn run_here(&self, provider: &Provider, take: ResultSink<'_>) -> Result<(), Reason>;

    /// Takes the keys out of the context. A job that is never started again drops nothing, so it
    /// must not own keys while it is paused.
    fn take_keys(&mut self) -> Keys;

    /// Puts the keys back.
    fn put_back(&mut self, keys: Keys);
}

/// The conditions under which operations share batches.
pub(crate) enum Sharing {
    /// Those of concurrent threads, and of jobs that are all paused.
    Always,
    /// Those of jobs whose owner has a callback, if the kernels of this class have lanes and a
    /// batch will probably have this many. Such an operation takes some ten microseconds, and a
    /// pause costs a server that waits for a descriptor, such as HAProxy, more than lanes save.
    Jobs { class: Class, fewest: usize },
}

/// Receives the result, which may be secret.
pub(crate) type ResultSink<'a> = &'a mut dyn FnMut(&[u8]) -> Result<(), Reason>;

/// The maximum number of pauses of a job for one operation. An event loop without other work starts
/// the job again within microseconds, and a pause returns at once where pauses are blocked.
pub(crate) const PAUSES_MAX: usize = 16;

/// The maximum time, in microseconds, that a request waits for other requests.
const LINGER_US_MAX: u32 = 150;

impl Provider {
    /// Runs the operation. While a job is paused, its waker owns the keys.
    pub(crate) fn private<O: Operation>(
        &self,
        mut operation: O,
        take: ResultSink<'_>,
    ) -> Result<(), Reason> {
        operation.check()?;
        if let Some(job) = self.running_job() {
            let result = self.run_in_job(&job, &mut operation, take);
            return result.unwrap_or_else(|| on_alt_stack(|| operation.run_here(self, take)));
        }
        let Sharing::Always = O::SHARING else {
            return operation.run_here(self, take);
        };
        let state = self.states.current();
        let waiting = state.wait();
        if waiting.has_core {
            return operation.run_here(self, take);
        }
        let Some(caller) = state.caller(|| self.plan()) else {
            return operation.run_here(self, take);
        };
        match caller.run(|job| operation.load(job)) {
            Ok(answer) => take(answer.output()),
            Err(why) => reason(why).map_or_else(|| operation.run_here(self, take), Err),
        }
    }

    /// Runs the operation in the engine, with the job paused until the server's event loop starts
    /// it again, so that other jobs can submit operations. Returns `None` if the job cannot be
    /// paused, if that would not pay, or if the engine did not run the operation.
    ///
    /// While the job is paused no value on its stack owns anything: the stack may never be unwound.
    /// A job that is started too early is paused again, up to [`PAUSES_MAX`] times.
    fn run_in_job<O: Operation>(
        &self,
        job: &RunningJob<'_>,
        operation: &mut O,
        take: ResultSink<'_>,
    ) -> Option<Result<(), Reason>> {
        if !self.settings.pauses_jobs {
            return None;
        }
        if let Sharing::Jobs { class, .. } = O::SHARING
            && !self.has_lanes(class)
        {
            return None;
        }
        let state = self.states.current();
        let caller = state.caller(|| self.plan())?;
        let callback = job.callback();
        let after_pause = match O::SHARING {
            Sharing::Always => RunBatch::IfDue,
            // Another pause would cost more than a batch that is not full.
            Sharing::Jobs { class, fewest }
                if callback.is_some() && state.may_share(caller, class, fewest) =>
            {
                RunBatch::Always
            }
            Sharing::Jobs { .. } => return None,
        };
        let mut ticket = match caller.submit(|request| operation.load(request)) {
            Ok(ticket) => ticket,
            Err(why) => return reason(why).map(Err),
        };
        let mut patience = RunBatch::IfFull;
        for pauses in 0..PAUSES_MAX {
            if let Some(end) = ended(&mut ticket, patience) {
                return result(end, take);
            }
            // Not created earlier: HAProxy crashes when it closes a connection that has a
            // descriptor but was never paused.
            let Some(waker) = job.own::<Waker>(&self.counters, |_| true) else {
                break;
            };
            if pauses == 0 {
                self.count(Event::Async);
            }
            let state = PausedState { keys: operation.take_keys(), ticket };
            let number = waker.store(state, callback);
            let was_paused = job.pause();
            let state = waker.take(number)?;
            operation.put_back(state.keys);
            ticket = state.ticket;
            if !waker.is_of_this_process() {
                return None;
            }
            if !was_paused {
                break;
            }
            patience = after_pause;
        }
        let end = on_alt_stack(|| {
            // If there is no batch to run, another thread is running this operation.
            ticket.try_take_or_run(RunBatch::Always).unwrap_or_else(|| ticket.wait())
        });
        result(end, take)
    }

    fn plan(&self) -> EnginePlan {
        EnginePlan {
            limbs: self.limbs,
            lanes: self.lanes,
            linger_us_max: if self.settings.pauses_jobs { LINGER_US_MAX } else { 0 },
            counters: Arc::clone(&self.counters),
        }
    }
}

/// Returns the answer, if it is ready or if it is time to run the batch.
fn ended(
    ticket: &mut Ticket<PrivateJob>,
    patience: RunBatch,
) -> Option<Result<Answer<PrivateJob>, PrivateError>> {
    ticket.try_take_done().or_else(|| on_alt_stack(|| ticket.try_take_or_run(patience)))
}

/// Passes the result to `take`. Returns `None` if the engine did not run the operation.
fn result(
    end: Result<Answer<PrivateJob>, PrivateError>,
    take: ResultSink<'_>,
) -> Option<Result<(), Reason>> {
    match end {
        Ok(answer) => Some(take(answer.output())),
        Err(why) => reason(why).map(Err),
    }
}

/// Returns the reason of a failure. Returns `None` if the engine did not run the operation; the
/// caller can then run it elsewhere.
fn reason(why: PrivateError) -> Option<Reason> {
    match why {
        PrivateError::Rejected(why) => Some(why.into()),
        PrivateError::Fault => Some(Reason::Fault),
        PrivateError::UnitPanicked => Some(Reason::Panic),
        _ => None,
    }
}
