//! State that the workers of a signer share.

use core::num::NonZero;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use crate::account::Rate;
use crate::audit::{Audit, Lines};
use crate::counters::{Counters, Counts};
use crate::engine::Engine;
use crate::error::Say;
use crate::policy::{Client, Policy};

/// The maximum number of lines a second about connections and refusals of a client.
const LINES_PER_S: NonZero<u32> = NonZero::new(10).expect("not 0");

pub(crate) struct Shared {
    policy: Mutex<Arc<Policy>>,
    /// The number of reloads.
    generation: AtomicU64,
    pub(crate) engine: Engine,
    pub(crate) counters: Counters,
    pub(crate) started: Instant,
    /// The lines in the audit log about peers that are no clients.
    strangers: Rate,
    /// The turns of each worker.
    pub(crate) turns: Box<[AtomicU64]>,
    pub(crate) audit: Option<Audit>,
    /// The last write to the audit log failed.
    pub(crate) is_audit_broken: AtomicBool,
    /// Set when the signer stops: the time by which the workers must finish.
    stop: OnceLock<Instant>,
    pub(crate) say: Say,
}

impl Shared {
    pub(crate) fn new(
        policy: Policy,
        workers: usize,
        engine: Engine,
        audit: Option<Audit>,
        say: Say,
    ) -> Self {
        Self {
            policy: Mutex::new(Arc::new(policy)),
            generation: AtomicU64::new(0),
            engine,
            counters: Counters::default(),
            started: Instant::now(),
            strangers: Rate::default(),
            turns: (0..workers).map(|_| AtomicU64::new(0)).collect(),
            audit,
            is_audit_broken: AtomicBool::new(false),
            stop: OnceLock::new(),
            say,
        }
    }

    /// Returns the policy and its generation.
    pub(crate) fn policy(&self) -> (u64, Arc<Policy>) {
        let policy = self.policy.lock().unwrap_or_else(PoisonError::into_inner);
        (self.generation(), Arc::clone(&policy))
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    pub(crate) fn replace(&self, new: Policy) {
        let mut policy = self.policy.lock().unwrap_or_else(PoisonError::into_inner);
        *policy = Arc::new(new);
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// Returns whether a line about a connection or a refusal may be written: such lines must not
    /// fill the disk, and those of a client cannot hide another's.
    pub(crate) fn may_log(&self, client: Option<&Client>) -> bool {
        let rate = client.map_or(&self.strangers, |client| &client.account.lines);
        let allows = rate.allows(LINES_PER_S, self.started.elapsed());
        if !allows {
            rate.left_out.fetch_add(1, Ordering::Relaxed);
        }
        allows
    }

    /// Adds lines with the numbers of those that were left out, as the rate allows, or all of them
    /// before the clients get other numbers and at the end.
    pub(crate) fn log_left_out(&self, lines: &mut Lines, policy: &Policy, all: bool) {
        for (rate, client) in self.rates_of_lines(policy) {
            let has_some = rate.left_out.load(Ordering::Relaxed) > 0;
            if has_some && (all || rate.allows(LINES_PER_S, self.started.elapsed())) {
                let left_out = rate.left_out.swap(0, Ordering::Relaxed);
                let text = format!("{left_out} more, without lines of their own");
                lines.connection("", client, &text);
            }
        }
    }

    /// Returns whether lines were left out that no line has counted yet.
    pub(crate) fn has_left_out(&self, policy: &Policy) -> bool {
        self.rates_of_lines(policy).any(|(rate, _)| rate.left_out.load(Ordering::Relaxed) > 0)
    }

    fn rates_of_lines<'a>(
        &'a self,
        policy: &'a Policy,
    ) -> impl Iterator<Item = (&'a Rate, Option<&'a str>)> {
        let of_client = |client: &'a Client| (&client.account.lines, Some(&*client.name));
        policy.clients.iter().map(of_client).chain([(&self.strangers, None)])
    }

    /// Adds a line about a connection, unless there were too many.
    pub(crate) fn log_connection(
        &self,
        lines: &mut Lines,
        peer: &str,
        client: Option<&Client>,
        outcome: &str,
    ) {
        if self.may_log(client) {
            lines.connection(peer, client.map(|client| client.name.as_str()), outcome);
        }
    }

    pub(crate) fn stop(&self, deadline: Instant) {
        self.stop.get_or_init(|| deadline);
    }

    pub(crate) fn stop_deadline(&self) -> Option<Instant> {
        self.stop.get().copied()
    }

    pub(crate) fn counts(&self) -> Counts {
        let fill = self.engine.queue.stats().map(|stats| stats.fill).unwrap_or_default();
        let gpu = self.engine.gpu.as_ref().map(|gpu| gpu.read());
        Counts { fill, gpu, ..self.counters.read() }
    }
}
