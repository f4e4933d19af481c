//! A thread of a token, with its session.

use core::time::Duration;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use cryptoki::object::ObjectHandle;
use cryptoki::session::Session;
use tollgate_keyless::Operation;
use zeroize::Zeroizing;

use super::jobs::Job;
use super::trouble::Trouble;
use super::uri::KeyUri;
use super::{Inner, Run, lock, session};
use crate::public_half::Public;
use crate::relay::{Checker, Claim};

/// The time between two attempts to open a session.
const RETRY: Duration = Duration::from_secs(1);

/// A thread of a token: its session, and what checks results.
pub(crate) struct SessionThread {
    inner: Arc<Inner>,
    open: Option<Open>,
    /// The time before which no session is opened.
    retry: Option<Instant>,
    checker: Checker,
}

struct Open {
    session: Session,
    keys: HashMap<String, ObjectHandle>,
}

impl Open {
    fn with<T>(&mut self, uri: &KeyUri, act: &Act<'_, T>) -> Result<T, Trouble> {
        let name = uri.to_string();
        let key = match self.keys.get(&name) {
            Some(key) => *key,
            None => session::private_key(&self.session, uri)?,
        };
        self.keys.insert(name, key);
        act(&self.session, key)
    }
}

/// Calls of a module with a key.
type Act<'a, T> = dyn Fn(&Session, ObjectHandle) -> Result<T, Trouble> + 'a;

impl SessionThread {
    pub(super) const fn new(inner: Arc<Inner>, checker: Checker) -> Self {
        Self { inner, open: None, retry: None, checker }
    }

    /// Runs jobs until the token is dropped. Those whose time is over are not run.
    pub(super) fn serve(mut self, number: usize) {
        while let Some(Job { deadline, run, relayed: _relayed }) = self.next(number) {
            if Instant::now() < deadline {
                run(&mut self);
            }
        }
        self.open = None;
        lock(&self.inner.queue).threads -= 1;
        self.inner.changed.notify_all();
    }

    fn next(&self, number: usize) -> Option<Job<Run>> {
        let mut queue = lock(&self.inner.queue);
        queue.running[number] = None;
        loop {
            if queue.is_closing {
                return None;
            }
            if let Some(job) = queue.jobs.pop() {
                queue.running[number] = Some(job.deadline);
                return Some(job);
            }
            queue = self.inner.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Returns whether it is too early for another session.
    fn is_early(&self) -> bool {
        self.retry.is_some_and(|retry| Instant::now() < retry)
    }

    fn open(&mut self) -> Result<&mut Open, Trouble> {
        if self.is_early() {
            return Err(Trouble::Away);
        }
        self.retry = Some(Instant::now() + RETRY);
        let mut is_pin_refused = lock(&self.inner.is_pin_refused);
        if *is_pin_refused {
            return Err(Trouble::Pin);
        }
        let pin = self.inner.pin.as_ref().map(|pin| &pin[..]);
        let session = session::open(&self.inner.module, &self.inner.name, pin)
            .inspect_err(|why| *is_pin_refused = matches!(why, Trouble::Pin))?;
        drop(is_pin_refused);
        Ok(self.open.insert(Open { session, keys: HashMap::new() }))
    }

    /// Forgets which keys were found, and the time of the last session.
    pub(super) fn forget(&mut self) {
        self.retry = None;
        if let Some(open) = &mut self.open {
            open.keys.clear();
        }
    }

    /// Makes calls with a key, in a new session if they fail in the old one. Not in one of a moment ago:
    /// clients choose the calls, and some of them fail in every session.
    pub(super) fn with<T>(&mut self, uri: &KeyUri, act: &Act<'_, T>) -> Result<T, Trouble> {
        if let Some(open) = &mut self.open {
            let outcome = open.with(uri, act);
            if outcome.is_ok() || self.is_early() {
                return outcome;
            }
        }
        // The token may have been away: its sessions and handles are others then.
        self.open = None;
        self.open()?.with(uri, act)
    }

    /// Runs an operation and checks the result. That of a decryption still has its padding.
    pub(super) fn checked(
        &mut self,
        uri: &KeyUri,
        public: &Public,
        operation: Operation,
        input: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, Trouble> {
        let operation = if operation == Operation::Decrypt { Operation::Raw } else { operation };
        let perform: &Act<'_, _> = &|session, key| session::perform(session, key, operation, input);
        for _ in 0..2 {
            let result = self.with(uri, perform)?;
            let claim = Claim { key: public, operation, input, result: &result };
            if self.checker.are_right(&[claim]) == [true] {
                return Ok(result);
            }
            // The key may have another label or ID by now: another one has them.
            if let Some(open) = &mut self.open {
                open.keys.remove(&uri.to_string());
            }
        }
        Err(Trouble::Wrong)
    }
}
