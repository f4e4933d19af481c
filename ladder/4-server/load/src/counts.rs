//! What the client counted.

use std::collections::BTreeMap;

use crate::phase::{Cause, Failure, Phase};
use crate::resumption::Resumptions;

/// The most kinds of failures that are told apart; a hostile server can think of many.
const KINDS_MAX: usize = 64;

/// Events of a window of time. Every attempt ends as a transaction, as a failure or with its
/// client's patience, or is still in flight; a failure to close comes after its transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections begun.
    pub attempts: u64,
    /// Those of them that an impatient client began after another.
    pub retries: u64,
    /// Handshakes that the client holds for complete: the server's Finished is verified, ours sent.
    pub client_done: u64,
    /// Those of them that verified the server's signature, as the plan's policy drew them.
    pub signatures_verified: u64,
    /// Handshakes that the server confirmed: by its Finished in TLS 1.2, by a byte of application
    /// data or its `close_notify` after our Finished in TLS 1.3 and where a session was resumed.
    /// Only these make a rate.
    pub confirmed: u64,
    /// What became of the sessions that were to be resumed.
    pub resumptions: Resumptions,
    /// Whole responses, of transactions that went wrong later too.
    pub responses: u64,
    /// Bytes of their bodies.
    pub response_bytes: u64,
    /// Connections whose every response arrived whole, after a confirmed handshake if not plain.
    pub transactions: u64,
    /// Bytes of bodies received, of failed transactions too.
    pub body_bytes: u64,
    /// Failures by phase and cause.
    pub failures: BTreeMap<Failure, u64>,
    /// Connections that impatient clients closed, by the phase in which they lost patience.
    pub gave_up: BTreeMap<Phase, u64>,
}

impl Counts {
    pub(crate) fn fail(&mut self, failure: Failure) {
        let known = self.failures.contains_key(&failure);
        let failure = if known || self.failures.len() < KINDS_MAX {
            failure
        } else {
            Failure::new(failure.phase, Cause::Other)
        };
        *self.failures.entry(failure).or_default() += 1;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.attempts += other.attempts;
        self.retries += other.retries;
        self.client_done += other.client_done;
        self.signatures_verified += other.signatures_verified;
        self.confirmed += other.confirmed;
        self.resumptions.add(other.resumptions);
        self.responses += other.responses;
        self.response_bytes += other.response_bytes;
        self.transactions += other.transactions;
        self.body_bytes += other.body_bytes;
        for (failure, count) in &other.failures {
            *self.failures.entry(failure.clone()).or_default() += count;
        }
        for (&phase, count) in &other.gave_up {
            *self.gave_up.entry(phase).or_default() += count;
        }
    }

    /// All failures.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    /// Connections that impatient clients closed.
    #[must_use]
    pub fn given_up(&self) -> u64 {
        self.gave_up.values().sum()
    }

    /// Connections that have ended: complete, failed before they were, or given up. Of a whole run,
    /// with those in flight when it was broken off, as many as attempts.
    #[must_use]
    pub fn ended(&self) -> u64 {
        self.transactions + self.failed() - self.failed_in(Phase::Close) + self.given_up()
    }

    /// The failures of a phase.
    #[must_use]
    pub fn failed_in(&self, phase: Phase) -> u64 {
        self.failures.iter().filter(|(failure, _)| failure.phase == phase).map(|(_, n)| n).sum()
    }

    /// Failures by TLS alert of the server, by the alert's number.
    #[must_use]
    pub fn alerts(&self) -> BTreeMap<u8, u64> {
        let mut alerts = BTreeMap::new();
        for (failure, count) in &self.failures {
            if let Cause::Alert(number) = failure.cause {
                *alerts.entry(number).or_default() += count;
            }
        }
        alerts
    }

    /// The most frequent failure with its count.
    #[must_use]
    pub fn worst(&self) -> Option<(&Failure, u64)> {
        let most = self.failures.iter().max_by_key(|(_, count)| **count);
        most.map(|(failure, count)| (failure, *count))
    }
}

/// A part of a whole, or the mean of so many that are `part` together; of nothing it is none.
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "counts of a run are far below 2^52")]
    let share = part as f64 / whole.max(1) as f64;
    share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_told_apart_by_phase_and_alert() {
        let mut counts = Counts::default();
        let failure = |phase, cause| Failure::new(phase, cause);
        counts.fail(failure(Phase::Hello, Cause::Alert(40)));
        counts.fail(failure(Phase::Finished, Cause::Alert(40)));
        counts.fail(failure(Phase::Finished, Cause::Alert(40)));
        counts.fail(failure(Phase::Connect, Cause::Refused));
        assert_eq!(counts.failed(), 4);
        assert_eq!(counts.failed_in(Phase::Finished), 2);
        assert_eq!(counts.alerts(), BTreeMap::from([(40, 3)]));
        assert_eq!(counts.worst(), Some((&failure(Phase::Finished, Cause::Alert(40)), 2)));
    }

    #[test]
    fn a_thousand_kinds_of_failures_take_no_room_and_lose_no_count() {
        let mut counts = Counts::default();
        for found_bytes in 0..1000 {
            counts.fail(Failure::new(Phase::Data, Cause::WrongLength { found_bytes }));
        }
        assert_eq!(counts.failures.len(), KINDS_MAX + 1);
        assert_eq!(counts.failed(), 1000);
        let mut sum = counts.clone();
        sum.add(&counts);
        assert_eq!(sum.failed_in(Phase::Data), 2000);
    }
}
