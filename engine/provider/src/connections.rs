//! The connections of a process to its signer, on a Unix socket.
//!
//! A request takes a connection of its process, or opens one, and has it for itself until the
//! answer has come: so an answer wakes one job, and a request that is given up takes its connection
//! with it. A thread waits for its answer, up to a limit; a job of libcrypto is paused
//! ([`crate::watch`]). A child that was forked has connections of its own.
//!
//! If the signer does not answer in time, there is a silence: operations fail at once, so that a
//! server with one thread still serves others. At its end one operation tries; the others still
//! fail. If there is no answer again, the next silence is twice as long.
#![forbid(unsafe_code)]

mod failure;
mod flight;
mod idle;
#[cfg(test)]
mod tests;

use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use core::time::Duration;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tollgate_keyless::{Message, Operation, Ski};
use zeroize::Zeroizing;

pub(crate) use self::failure::Failure;
pub(crate) use self::flight::{Answer, Flight};
use self::idle::Idle;

/// The signer of a process.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    state: Mutex<State>,
    last_id: AtomicU32,
    /// The number of requests that jobs are paused for.
    paused: Arc<AtomicUsize>,
}

#[derive(Debug, Default)]
struct State {
    /// The connections that are not in use.
    idle: Vec<Idle>,
    silence: Option<Silence>,
}

/// A time in which operations fail at once.
#[derive(Clone, Copy, Debug)]
struct Silence {
    until: Instant,
    length: Duration,
}

/// The maximum number of connections that are kept.
const IDLE_MAX: usize = 64;
/// The longest silence, if the limit of an operation is not longer.
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// The maximum number of requests that jobs are paused for: enough to fill the lanes of a signer. A
/// further one blocks its thread, so that a signer does not get a connection for each client that
/// waits.
const PAUSED_MAX: usize = IDLE_MAX;

impl Connections {
    /// Returns a request, and an old connection for it if there is one.
    pub(crate) fn begin(
        &self,
        (ski, operation, payload): (Ski, Operation, &[u8]),
        limit: Duration,
    ) -> Result<Flight, Failure> {
        let deadline = Instant::now() + limit;
        let id = self.last_id.fetch_add(1, Ordering::Relaxed);
        let mut request = Vec::new();
        Message { id, opcode: operation.code(), ski: Some(ski), payload }.write(&mut request);
        let mut state = self.state();
        let old = core::iter::from_fn(|| state.idle.pop()).find_map(|mut idle| idle.take());
        // Connections that are there in a silence still serve: the signer accepts no new ones.
        let is_trial = old.is_none() && state.begin(limit)?;
        Ok(Flight::new(id, request, old, deadline, is_trial))
    }

    /// Goes on as far as that is possible without a wait. Returns `None` if the answer has not
    /// come. If an old connection has ended, the request goes over a new one: a signer that was
    /// started again has forgotten its connections.
    pub(crate) fn advance(
        &self,
        flight: &mut Flight,
        path: &Path,
    ) -> Result<Option<Answer>, Failure> {
        match flight.advance(path) {
            Err(Failure::Closed) if flight.is_old => {
                self.state().idle.clear(); // they have ended too
                flight.start_again();
                flight.advance(path)
            }
            result => result,
        }
    }

    /// Waits for the answer, up to the deadline.
    pub(crate) fn wait(
        &self,
        mut flight: Flight,
        path: &Path,
        limit: Duration,
    ) -> Result<Zeroizing<Vec<u8>>, Failure> {
        let result = loop {
            match self.advance(&mut flight, path) {
                Ok(None) => {}
                Ok(Some(answer)) => break Ok(answer),
                Err(why) => break Err(why),
            }
            if let Err(why) = flight.wait() {
                break Err(why);
            }
        };
        self.end(flight, result, limit)
    }

    /// Closes the copies of a parent's connections, so that they end when the parent ends them.
    /// Those in use stay open; so do all of them if a thread of the parent held the lock when it
    /// forked.
    pub(crate) fn close_in_child(&self) {
        if let Ok(mut state) = self.state.try_lock() {
            state.idle.clear();
        }
    }

    /// Returns whether a job may be paused for the request: no event says when a signer accepts
    /// connections again.
    pub(crate) fn may_pause(&self, flight: &mut Flight) -> bool {
        flight.socket.is_some() && flight.permit(&self.paused, PAUSED_MAX)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the connection, and begins or ends a silence.
    pub(crate) fn end(
        &self,
        flight: Flight,
        result: Result<Answer, Failure>,
        limit: Duration,
    ) -> Result<Zeroizing<Vec<u8>>, Failure> {
        let is_trial = flight.is_trial;
        let mut state = self.state();
        match result {
            Ok(answer) => {
                state.silence = None;
                if state.idle.len() < IDLE_MAX {
                    state.idle.extend(flight.socket.map(Idle::new));
                }
                answer.map_err(Failure::Refused)
            }
            Err(Failure::Late) if flight.is_short => Err(Failure::Late),
            Err(Failure::Late) => {
                if flight.socket.is_some() {
                    state.idle.clear();
                }
                let length = match state.silence {
                    None => Some(limit),
                    Some(last) => is_trial.then(|| (2 * last.length).min(SILENCE_MAX).max(limit)),
                };
                // If there is none, another operation has begun the silence.
                if let Some(length) = length {
                    state.silence = Some(Silence { until: Instant::now() + length, length });
                }
                Err(Failure::Late)
            }
            // Operations fail without a wait.
            Err(why) => {
                state.silence = None;
                Err(why)
            }
        }
    }
}

impl State {
    /// Returns whether the operation tries if a silence has ended. Fails within a silence.
    fn begin(&mut self, limit: Duration) -> Result<bool, Failure> {
        let now = Instant::now();
        match &mut self.silence {
            None => Ok(false),
            Some(silence) if now < silence.until => Err(Failure::Silent),
            // The trial ends before.
            Some(silence) => {
                silence.until = now + 2 * limit;
                Ok(true)
            }
        }
    }
}
