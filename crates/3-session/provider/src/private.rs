//! How a private operation is done: alone, together with those of other threads, or by threads of
//! the engine while a job of libcrypto is paused.
#![forbid(unsafe_code)]

use std::sync::Arc;

use tollgate_engine::{Job as _, PrivateError, Work};
use tollgate_rsa::PrivateKey;
use zeroize::Zeroizing;

use crate::bell::{Bell, End};
use crate::counters::Event;
use crate::home::Plan;
use crate::jobs::Running;
use crate::key::Key;
use crate::provider::{Provider, Scratch};
use crate::reason::Reason;

/// What is asked of a private key.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) work: Work,
    pub(crate) input: &'a [u8],
}

/// Who gets the result, which is secret.
type Taker<'a> = &'a mut dyn FnMut(&[u8]) -> Result<(), Reason>;

/// How often a paused job may be started in vain before it sleeps: where pauses are blocked, they
/// end at once.
const STARTS_IN_VAIN_MAX: usize = 16;

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
            // A job's stack is too small to lead a batch on.
            return is_taken.unwrap_or_else(|| self.alone(private_half(key)?, asked, take));
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

    /// By the engine, with the job paused; none if it cannot be, or the engine is not to be had.
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
        let bell = job.bell()?;
        let number = {
            let half = Arc::clone(private_half(slot).ok()?);
            let number = bell.begin(slot.take()?, job.callback());
            let own = Arc::clone(&bell);
            let submitted = caller.submit_with(
                move |request| request.load(&half, asked.work, asked.input),
                move |end| own.finish(number, end.map(|job| Zeroizing::new(job.output().to_vec()))),
            );
            if let Err(why) = submitted {
                // For an owner who has to learn of the descriptor, as in `resume`.
                bell.ring();
                job.pause();
                *slot = bell.take_key(number);
                bell.withdraw(number);
                return reason(why).map(Err);
            }
            number
        };
        self.count(Event::Async);
        let end = resume(job, &bell, number);
        *slot = bell.take_key(number);
        match end? {
            Ok(output) => Some(take(&output)),
            Err(why) => reason(why).map(Err),
        }
    }

    fn plan(&self) -> Plan {
        Plan {
            limbs: self.limbs,
            lanes: self.lanes,
            with_workers: self.settings.pauses_jobs,
            linger_us_max: self.settings.linger_us_max,
            counters: Arc::clone(&self.counters),
        }
    }
}

/// Pauses the job until its operation ended; none in a child that was forked meanwhile. Nothing on
/// the stack from here on owns anything: it may be all that is left of the job.
///
/// It pauses even if the operation has ended by now: the owner learns of the descriptor when the job
/// pauses, and HAProxy aborts at the close of a connection with one that it never saw.
///
/// Whoever starts it too early pauses it again, but not for ever.
#[inline(never)]
fn resume(job: &Running<'_>, bell: &Bell, number: u64) -> Option<End> {
    for _ in 0..STARTS_IN_VAIN_MAX {
        let was_paused = job.pause();
        if !bell.is_here() {
            return None;
        }
        if !was_paused {
            break;
        }
        if let Some(end) = bell.take(number) {
            return Some(end);
        }
    }
    bell.wait(number)
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
