//! Runs a private operation: on the calling thread, in a batch with operations of other threads, or
//! in a batch with operations of other jobs of libcrypto, which are paused while the batch fills.
#![forbid(unsafe_code)]

use std::sync::Arc;

use tollgate_queue::{Answer, Job as _, PrivateError, PrivateJob, RunBatch, Work};
use tollgate_rsa::PrivateKey;

use crate::alt_stack::on_alt_stack;
use crate::counters::Event;
use crate::jobs::RunningJob;
use crate::key::Key;
use crate::process_state::EnginePlan;
use crate::provider::{Provider, Scratch};
use crate::reason::Reason;
use crate::waker::PausedState;

/// A private operation and its input.
#[derive(Clone, Copy)]
pub(crate) struct Operation<'a> {
    pub(crate) work: Work,
    pub(crate) input: &'a [u8],
}

/// Receives the result, which may be secret.
type ResultSink<'a> = &'a mut dyn FnMut(&[u8]) -> Result<(), Reason>;

/// The maximum number of pauses of a job for one operation. An event loop without other work starts
/// the job again within microseconds, and a pause returns at once where pauses are blocked.
const PAUSES_MAX: usize = 16;

impl Provider {
    /// Runs the operation with the private half of `key`. While a job is paused, its waker owns
    /// `key`, because a job that is never started again drops nothing.
    pub(crate) fn private(
        &self,
        key: &mut Option<Arc<Key>>,
        operation: Operation<'_>,
        take: ResultSink<'_>,
    ) -> Result<(), Reason> {
        if let Some(job) = self.running_job() {
            let result = self.run_in_job(&job, key, operation, take);
            let run = || on_alt_stack(|| self.run_here(private_half(key)?, operation, take));
            return result.unwrap_or_else(run);
        }
        let key = private_half(key)?;
        let state = self.states.current();
        let waiting = state.wait();
        if waiting.has_core {
            return self.run_here(key, operation, take);
        }
        let Some(caller) = state.caller(|| self.plan()) else {
            return self.run_here(key, operation, take);
        };
        match caller.run(|job| job.load(key, operation.work, operation.input)) {
            Ok(answer) => take(answer.output()),
            Err(why) => reason(why).map_or_else(|| self.run_here(key, operation, take), Err),
        }
    }

    /// Runs the operation on this thread, with the thread's scratch memory.
    fn run_here(
        &self,
        key: &Arc<PrivateKey>,
        operation: Operation<'_>,
        take: ResultSink<'_>,
    ) -> Result<(), Reason> {
        self.with_scratch(|Scratch { workspace, job }| {
            let result = job.load(key, operation.work, operation.input).and_then(|()| {
                job.encode()?;
                let (key, em) = job.operation().expect("an operation was loaded");
                let outcome = key.private(workspace, em);
                job.decode(outcome)
            });
            let taken = result.map_err(Reason::from).and_then(|()| take(job.output()));
            job.wipe(); // drops the key too
            taken
        })
    }

    /// Runs the operation in the engine, with the job paused until the server's event loop starts
    /// it again, so that other jobs can submit operations. Returns `None` if the job cannot be
    /// paused, or if the engine did not run the operation.
    ///
    /// While the job is paused no value on its stack owns anything: the stack may never be unwound.
    /// A job that is started too early is paused again, up to [`PAUSES_MAX`] times.
    fn run_in_job(
        &self,
        job: &RunningJob<'_>,
        slot: &mut Option<Arc<Key>>,
        operation: Operation<'_>,
        take: ResultSink<'_>,
    ) -> Option<Result<(), Reason>> {
        if !self.settings.pauses_jobs {
            return None;
        }
        let caller = self.states.current().caller(|| self.plan())?;
        let half = private_half(slot).ok()?;
        let loaded = caller.submit(|request| request.load(half, operation.work, operation.input));
        let mut ticket = match loaded {
            Ok(ticket) => ticket,
            Err(why) => return reason(why).map(Err),
        };
        let mut patience = RunBatch::IfFull;
        for pauses in 0..PAUSES_MAX {
            if let Some(end) = on_alt_stack(|| ticket.try_take_or_run(patience)) {
                return result(end, take);
            }
            // Not created earlier: HAProxy crashes when it closes a connection that has a
            // descriptor but was never paused.
            let Some(waker) = job.waker(&self.counters) else {
                break;
            };
            if pauses == 0 {
                self.count(Event::Async);
            }
            let state = PausedState { key: slot.take()?, ticket };
            let number = waker.store(state, job.callback());
            let was_paused = job.pause();
            let state = waker.take(number)?;
            (*slot, ticket) = (Some(state.key), state.ticket);
            if !waker.is_of_this_process() {
                return None;
            }
            if !was_paused {
                break;
            }
            patience = RunBatch::IfDue;
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
            linger_us_max: if self.settings.pauses_jobs { self.settings.linger_us_max } else { 0 },
            counters: Arc::clone(&self.counters),
        }
    }
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

fn private_half(key: &Option<Arc<Key>>) -> Result<&Arc<PrivateKey>, Reason> {
    key.as_ref().ok_or(Reason::KeyMissing)?.private()
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
