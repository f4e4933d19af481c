//! Counts of the client.

use core::fmt;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tollgate_tls_client::Group;

use crate::phase::{Cause, Failure, Phase};

/// Maximum number of distinct failures; a hostile server can cause many.
const KINDS_MAX: usize = 64;

/// Events in a window of time. Every attempt ends as a transaction, a failure or a timeout, or is
/// still in flight. If closing fails, the attempt counts as a transaction and also as a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// Connections begun.
    pub attempts: u64,
    /// Connections that retry after a client timeout.
    pub retries: u64,
    /// Handshakes that the client finished: the server's Finished is verified and its own sent.
    pub client_done: u64,
    /// Handshakes in which the client verified the server's signature, as the plan's policy
    /// requires.
    pub signatures_verified: u64,
    /// Handshakes with a second `ClientHello`, which the server requested by a
    /// `HelloRetryRequest`.
    #[serde(default)]
    pub hello_retries: u64,
    /// Handshakes by the group that the server chose, by its registered name.
    #[serde(default, with = "names")]
    #[schemars(with = "BTreeMap<String, u64>")]
    pub groups: BTreeMap<Group, u64>,
    /// Handshakes that the server confirmed: by its Finished in a full handshake of TLS 1.2;
    /// otherwise by application data or `close_notify` after the client's Finished. Only confirmed
    /// handshakes count for a rate.
    pub confirmed: u64,
    /// Counts of resumption.
    pub resumptions: Resumptions,
    /// Complete responses, also of transactions that failed later.
    pub responses: u64,
    /// The total length in bytes of the bodies of these responses.
    pub response_bytes: u64,
    /// Connections with all responses complete and, unless plain, a confirmed handshake.
    pub transactions: u64,
    /// The number of body bytes received, also in failed transactions.
    pub body_bytes: u64,
    /// Failures by phase and cause.
    #[serde(with = "pairs")]
    #[schemars(with = "Vec<(Failure, u64)>")]
    pub failures: BTreeMap<Failure, u64>,
    /// Connections that the client closed after its timeout, by phase.
    pub timed_out: BTreeMap<Phase, u64>,
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
        self.hello_retries += other.hello_retries;
        for (&group, count) in &other.groups {
            *self.groups.entry(group).or_default() += count;
        }
        self.confirmed += other.confirmed;
        self.resumptions.add(other.resumptions);
        self.responses += other.responses;
        self.response_bytes += other.response_bytes;
        self.transactions += other.transactions;
        self.body_bytes += other.body_bytes;
        for (failure, count) in &other.failures {
            *self.failures.entry(failure.clone()).or_default() += count;
        }
        for (&phase, count) in &other.timed_out {
            *self.timed_out.entry(phase).or_default() += count;
        }
    }

    /// Returns whether another process can have counted this: there are not too many kinds of
    /// failures, and retries are attempts.
    pub(crate) fn is_plausible(&self) -> bool {
        self.failures.len() <= KINDS_MAX + 1 && self.retries <= self.attempts
    }

    /// Returns all failures.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    /// Connections that the client closed after its timeout.
    #[must_use]
    pub fn timeouts(&self) -> u64 {
        self.timed_out.values().sum()
    }

    /// Connections that have ended: completed, failed before completion, or timed out. In a whole
    /// run, their number plus the number of connections in flight at a stop equals the number of
    /// attempts.
    #[must_use]
    pub fn ended(&self) -> u64 {
        self.transactions + self.failed() - self.failed_in(Phase::Close) + self.timeouts()
    }

    /// Failures in a phase.
    #[must_use]
    pub fn failed_in(&self, phase: Phase) -> u64 {
        self.failures.iter().filter(|(failure, _)| failure.phase == phase).map(|(_, n)| n).sum()
    }

    /// Returns the most frequent failure with its count.
    #[must_use]
    pub fn worst(&self) -> Option<(&Failure, u64)> {
        let most = self.failures.iter().max_by_key(|(_, count)| **count);
        most.map(|(failure, count)| (failure, *count))
    }
}

/// Counts of the sessions that the plan resumes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resumptions {
    /// Connections that offered a session.
    pub offered: u64,
    /// Offered sessions that the server resumed, with a confirmed handshake.
    pub accepted: u64,
    /// Offered sessions that the server refused: a full handshake followed.
    pub refused: u64,
    /// Connections that should have offered a session but had no session to offer. A full handshake
    /// followed.
    pub starved: u64,
    /// Resumed sessions with accepted early data.
    pub early_data: u64,
}

impl fmt::Display for Resumptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offered, accepted, refused, starved, early_data } = self;
        write!(
            f,
            "{offered} sessions offered, {accepted} resumed, {refused} refused; {starved} had none \
             to offer"
        )?;
        if *early_data > 0 {
            write!(f, "; early data of {early_data} was accepted")?;
        }
        Ok(())
    }
}

impl Resumptions {
    pub(crate) const fn add(&mut self, other: Self) {
        self.offered += other.offered;
        self.accepted += other.accepted;
        self.refused += other.refused;
        self.starved += other.starved;
        self.early_data += other.early_data;
    }
}

/// A map as a list of pairs: keys of JSON objects are text.
mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize as _, Deserializer, Serializer};

    use crate::phase::Failure;

    pub(super) fn serialize<S: Serializer>(
        map: &BTreeMap<Failure, u64>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(map)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<BTreeMap<Failure, u64>, D::Error> {
        Vec::deserialize(from).map(|pairs: Vec<(Failure, u64)>| pairs.into_iter().collect())
    }
}

/// A map by the registered names of groups.
mod names {
    use std::collections::BTreeMap;

    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};
    use tollgate_tls_client::Group;

    pub(super) fn serialize<S: Serializer>(
        map: &BTreeMap<Group, u64>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_map(map.iter().map(|(group, count)| (group.name(), count)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<BTreeMap<Group, u64>, D::Error> {
        let named = |(name, count): (String, u64)| match Group::from_name(&name) {
            Some(group) => Ok((group, count)),
            None => Err(D::Error::custom(format!("no group is called {name}"))),
        };
        BTreeMap::deserialize(from)?.into_iter().map(named).collect()
    }
}

/// Returns `part` divided by `whole`; 0 if both are 0.
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "counts of a run are far below 2^52")]
    let share = part as f64 / whole.max(1) as f64;
    share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_counted_by_phase_and_alert() {
        let mut counts = Counts::default();
        let failure = |phase, cause| Failure::new(phase, cause);
        counts.fail(failure(Phase::Hello, Cause::Alert(40)));
        counts.fail(failure(Phase::Finished, Cause::Alert(40)));
        counts.fail(failure(Phase::Finished, Cause::Alert(40)));
        counts.fail(failure(Phase::Connect, Cause::Refused));
        assert_eq!(counts.failed(), 4);
        assert_eq!(counts.failed_in(Phase::Finished), 2);
        assert_eq!(counts.worst(), Some((&failure(Phase::Finished, Cause::Alert(40)), 2)));
    }

    #[test]
    fn many_distinct_failures_are_merged_and_all_counted() {
        let mut counts = Counts::default();
        for found_bytes in 0..1000 {
            counts.fail(Failure::new(Phase::Data, Cause::WrongLength { found_bytes }));
        }
        assert_eq!(counts.failures.len(), KINDS_MAX + 1);
        assert_eq!(counts.failed(), 1000);
        let mut sum = counts.clone();
        sum.groups.insert(Group::X25519MlKem768, 7);
        let json = serde_json::to_string(&sum).unwrap();
        assert!(json.contains("\"groups\":{\"X25519MLKEM768\":7}"), "{json}");
        assert_eq!(serde_json::from_str::<Counts>(&json).unwrap(), sum);
        assert!(serde_json::from_str::<Counts>(&json.replace("MLKEM", "KYBER")).is_err());
        sum.add(&counts);
        assert_eq!(sum.failed_in(Phase::Data), 2000);
    }
}
