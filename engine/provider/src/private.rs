//! How a private operation is done: alone, together with those of other threads, or with those of
//! other jobs of libcrypto, each of which is paused until they have come.
#![forbid(unsafe_code)]

use std::sync::Arc;

use tollgate_queue::{Answer, Job as _, PrivateError, PrivateJob, RunBatch, Work};
use tollgate_rsa::PrivateKey;

use crate::bell::Kept;
use crate::counters::Event;
use crate::home::Plan;
use crate::jobs::Running;
use crate::key::Key;
use crate::provider::{Provider, Scratch};
use crate::reason::Reason;
use crate::room::with_room;

/// What is asked of a private key.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) work: Work,
    pub(crate) input: &'a [u8],
}

/// Who gets the result, which is secret.
type Taker<'a> = &'a mut dyn FnMut(&[u8]) -> Result<(), Reason>;

/// How often a job may be paused for an operation: a loop that has nothing else to do comes round
/// in some microseconds, and where pauses are blocked, they end at once.
const PAUSES_MAX: usize = 16;

impl Provider {
    /// Does what is asked with the private half of `key`, which is in the hands of others while a
    /// job is paused: one that is never started again lets go of nothing.
    ///
    /// # Errors
    ///
    /// [`Reason::KeyMissing`], [`Reason::KeyNotPrivate`], and those of the operation.
    pub(crate) fn private(
        &self,
        key: &mut Option<Arc<Key>>,
        asked: Asked<'_>,
        take: Taker<'_>,
    ) -> Result<(), Reason> {
        if let Some(job) = self.running_job() {
            let is_taken = self.paused(&job, key, asked, take);
            let alone = || with_room(|| self.alone(private_half(key)?, asked, take));
            return is_taken.unwrap_or_else(alone);
        }
        let key = private_half(key)?;
        let home = self.home();
        let waiting = home.wait();
        if waiting.has_core {
            return self.alone(key, asked, take);
        }
        let Some(caller) = home.caller(|| self.plan()) else {
            return self.alone(key, asked, take);
        };
        match caller.run(|job| job.load(key, asked.work, asked.input)) {
            Ok(answer) => take(answer.output()),
            Err(why) => reason(why).map_or_else(|| self.alone(key, asked, take), Err),
        }
    }

    /// On this thread, with its own memory.
    fn alone(
        &self,
        key: &Arc<PrivateKey>,
        asked: Asked<'_>,
        take: Taker<'_>,
    ) -> Result<(), Reason> {
        self.with_scratch(|Scratch { workspace, job }| {
            let result = job.load(key, asked.work, asked.input).and_then(|()| {
                job.encode()?;
                let (key, em) = job.operation().expect("it was loaded");
                let outcome = key.private(workspace, em);
                job.decode(outcome)
            });
            let taken = result.map_err(Reason::from).and_then(|()| take(job.output()));
            job.wipe(); // and lets go of the key
            taken
        })
    }

    /// By the engine, with the job paused until the loop of the server comes round again, so that
    /// other jobs come too; none if it cannot be, or the engine is not to be had.
    ///
    /// While the job is paused nothing on its stack owns anything: it may be all that is left of
    /// it. Whoever starts it too early pauses it again, but not for ever.
    fn paused(
        &self,
        job: &Running<'_>,
        slot: &mut Option<Arc<Key>>,
        asked: Asked<'_>,
        take: Taker<'_>,
    ) -> Option<Result<(), Reason>> {
        if !self.settings.pauses_jobs {
            return None;
        }
        let caller = self.home().caller(|| self.plan())?;
        let half = private_half(slot).ok()?;
        let loaded = caller.submit(|request| request.load(half, asked.work, asked.input));
        let mut ticket = match loaded {
            Ok(ticket) => ticket,
            Err(why) => return reason(why).map(Err),
        };
        let mut patience = RunBatch::IfFull;
        for pauses in 0..PAUSES_MAX {
            if let Some(end) = with_room(|| ticket.try_take_or_run(patience)) {
                return taken(end, take);
            }
            // Not before: HAProxy dies of a descriptor that it meets when it ends a connection
            // that was never paused.
            let Some(bell) = job.bell(&self.counters) else {
                break;
            };
            if pauses == 0 {
                self.count(Event::Async);
            }
            let number = bell.keep(Kept { key: slot.take()?, ticket }, job.callback());
            let was_paused = job.pause();
            let kept = bell.give_back(number)?;
            (*slot, ticket) = (Some(kept.key), kept.ticket);
            if !bell.is_here() {
                return None;
            }
            if !was_paused {
                break;
            }
            patience = RunBatch::IfDue;
        }
        let end = with_room(|| {
            // Where there is nothing to lead, another thread does it just now.
            ticket.try_take_or_run(RunBatch::Always).unwrap_or_else(|| ticket.wait())
        });
        taken(end, take)
    }

    fn plan(&self) -> Plan {
        Plan {
            limbs: self.limbs,
            lanes: self.lanes,
            linger_us_max: if self.settings.pauses_jobs { self.settings.linger_us_max } else { 0 },
            counters: Arc::clone(&self.counters),
        }
    }
}

/// The result, if the engine did it.
fn taken(
    end: Result<Answer<PrivateJob>, PrivateError>,
    take: Taker<'_>,
) -> Option<Result<(), Reason>> {
    match end {
        Ok(answer) => Some(take(answer.output())),
        Err(why) => reason(why).map(Err),
    }
}

fn private_half(key: &Option<Arc<Key>>) -> Result<&Arc<PrivateKey>, Reason> {
    Ok(&key.as_ref().ok_or(Reason::KeyMissing)?.private()?.key)
}

/// Why there is no result; none if the engine did not do it, so that somebody else may.
fn reason(why: PrivateError) -> Option<Reason> {
    match why {
        PrivateError::Rejected(why) => Some(why.into()),
        PrivateError::Fault => Some(Reason::Fault),
        PrivateError::UnitPanicked => Some(Reason::Panic),
        _ => None,
    }
}
