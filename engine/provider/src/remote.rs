//! Operations with keys that a signer has: `tollgate signer`, on a Unix socket of this machine.
#![forbid(unsafe_code)]

use core::any::Any;
use std::path::Path;
use std::sync::Arc;

use rustix::io::Errno;
use tollgate_keyless::{ErrorCode, Operation, Ski};
use zeroize::Zeroizing;

use crate::alt_stack::on_alt_stack;
use crate::connections::{Answer, Failure, Flight};
use crate::counters::Event;
use crate::jobs::{Callback, OfJob as _, RunningJob};
use crate::private::PAUSES_MAX;
use crate::provider::Provider;
use crate::reason::Reason;
use crate::watch::{Key, Watch};

/// The state of an operation when its job stops to pause.
enum Unpaused {
    Ended(Flight, Result<Answer, Failure>),
    /// The job cannot be paused, or not again.
    Waits(Flight),
    /// This is a child that was forked while the job was paused. The answer is the parent's.
    Forked,
}

impl Provider {
    /// Runs an operation on the signer, and passes the result to `check`, which says if it is the
    /// right one. While a job is paused, the key is not in the context of libcrypto's call.
    pub(crate) fn remote<K: Any + Send + Sync>(
        &self,
        key: &mut Option<Arc<K>>,
        request: (Ski, Operation, &[u8]),
        check: impl FnOnce(&K, &[u8]) -> bool,
    ) -> Result<Zeroizing<Vec<u8>>, Failure> {
        let result = self.ask(key, request).and_then(|result| {
            let check = || key.as_deref().is_some_and(|key| check(key, &result));
            // The stack of a job is small.
            let is_right = if self.running_job().is_some() { on_alt_stack(check) } else { check() };
            if is_right { Ok(result) } else { Err(Failure::Wrong) }
        });
        // All users may read the counters, which must not reveal whether a padding is valid.
        let is_done = match &result {
            Err(Failure::Refused(ErrorCode::Crypto)) => request.1 == Operation::Decrypt,
            result => result.is_ok(),
        };
        self.count(if is_done { Event::Remote } else { Event::RemoteFailure });
        result
    }

    fn ask<K: Any + Send + Sync>(
        &self,
        key: &mut Option<Arc<K>>,
        request: (Ski, Operation, &[u8]),
    ) -> Result<Zeroizing<Vec<u8>>, Failure> {
        let Some(path) = &self.settings.remote else {
            return Err(Failure::Gone(Errno::DESTADDRREQ));
        };
        let limit = self.settings.remote_limit;
        let connections = &self.states.current().connections;
        let flight = connections.begin(request, limit)?;
        let unpaused = match self.running_job().filter(|_| self.settings.pauses_jobs) {
            Some(job) => self.ask_in_job(&job, key, flight, path),
            None => Unpaused::Waits(flight),
        };
        match unpaused {
            Unpaused::Ended(flight, result) => connections.end(flight, result, limit),
            Unpaused::Waits(flight) => connections.wait(flight, path, limit),
            Unpaused::Forked => self.ask(key, request),
        }
    }

    /// Pauses the job until the answer comes, or until the deadline. No value on the stack of a
    /// paused job owns anything: the stack may never be unwound.
    ///
    /// An owner with a callback watches no descriptor. It is told at once that the job can continue;
    /// meanwhile other jobs have sent their requests. The job then waits.
    fn ask_in_job<K: Any + Send + Sync>(
        &self,
        job: &RunningJob<'_>,
        key: &mut Option<Arc<K>>,
        mut flight: Flight,
        path: &Path,
    ) -> Unpaused {
        let connections = &self.states.current().connections;
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
            // Not created earlier: HAProxy crashes when it closes a connection that has a
            // descriptor but was never paused.
            let Some(watch) = job.own::<Watch>(&self.counters) else {
                break;
            };
            let held = key.take().map(|key| key as _);
            if let Err((held, back)) = watch.store(held, flight) {
                flight = back;
                put_back(key, held);
                break;
            }
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

    /// Adds a failure to the error queue, with the path of the signer, and returns the reason.
    pub(crate) fn raise_remote(&self, failure: &Failure) -> Reason {
        let path = self.settings.remote.as_deref().unwrap_or(Path::new("(none)"));
        self.raise(Reason::Remote, &format!("the signer at {} {failure}", path.display()));
        Reason::Said
    }
}

fn put_back<K: Any + Send + Sync>(key: &mut Option<Arc<K>>, held: Option<Key>) {
    *key = held.and_then(|key| key.downcast().ok());
}
