//! The CPU time of a session after a change: a measured time, plus the difference of predictions.
//!
//! The prediction of a session by rung 3 explains most of the measured CPU time; the remainder is
//! mainly the effect of caches. The remainder is assumed to stay as it is if the change concerns
//! the session, and to grow with the prediction if the session moves to other cores. Parts that the
//! change does not concern cancel, with their errors.

use tollgate_record::vocabulary as word;
use tollgate_record::{
    Area, Estimate, Key, Kind, Protocol, Record, Service, Subject, Timestamp, Topic, Unit,
};

use crate::Error;
use crate::interval::{Slope, propagate};
use crate::terms::{self, Terms};

/// A change of a session. Fields without a value do not change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// The server's key.
    pub key: Option<Key>,
    /// The protocol with the key exchange.
    pub protocol: Option<Protocol>,
    /// The engine: the end of the parameter `by`, so `tollgate` turns `nginx-openssl` into
    /// `nginx-tollgate`.
    pub engine: Option<String>,
    /// The payload in bytes.
    pub bytes: Option<u64>,
    /// The cipher suite by its registered name.
    pub suite: Option<String>,
    /// The share of resumed sessions, from 0 to 1, and the mechanism.
    pub resumed: Option<(f64, String)>,
}

/// The CPU time of a session after a change.
#[derive(Clone, Debug, PartialEq)]
pub struct WhatIf {
    /// The predicted record.
    pub record: Record,
    /// The changes of the parts, in nanoseconds: the part and its change.
    pub parts: Vec<(String, Estimate)>,
    /// The measured CPU time after the change, if the records contain it.
    pub measured: Option<Estimate>,
}

impl Change {
    /// Returns the subject of a server's session after the change.
    ///
    /// # Errors
    ///
    /// The subject is not a TLS session, or a value is invalid in a subject.
    pub fn target(&self, from: &Subject) -> Result<Subject, Error> {
        let Topic::Server(Service::Tls { key, protocol }) = from.topic() else {
            return Err(Error::NotComparable { what: "the kind of session" });
        };
        let key = self.key.clone().unwrap_or_else(|| key.clone());
        let protocol = self.protocol.clone().unwrap_or_else(|| protocol.clone());
        let mut to = from.with_topic(Topic::Server(Service::Tls { key, protocol }))?;
        if let Some(engine) = &self.engine {
            let by = from.parameter(word::BY).unwrap_or_default();
            let server = by.strip_suffix(terms::engine(by)).unwrap_or_default();
            to = to.with(word::BY, format!("{server}{engine}"))?;
        }
        if let Some(bytes) = self.bytes {
            to = to.without(&[word::SIZES]).with(word::BYTES, bytes)?;
        }
        if let Some(suite) = &self.suite {
            to = to.with(word::SUITE, suite)?;
        }
        if let Some((share, by)) = &self.resumed {
            to = to.without(&[word::RESUMED_SHARE, word::RESUMED_BY]);
            if *share > 0.0 {
                to = to.with(word::RESUMED_SHARE, share)?.with(word::RESUMED_BY, by)?;
            }
        }
        Ok(to)
    }
}

/// Computes the CPU time of the measured session `from` after the change to `to`, from the
/// predictions among `known`. If `there` has records of another machine, the session also moves to
/// it: its predictions are used, and the measured time is multiplied by the ratio of the two
/// predictions of `from`.
///
/// # Errors
///
/// [`Error::NoPrediction`] if a prediction is missing; a time that is not above 0.
pub fn what_if(
    known: &[Record],
    from: &Record,
    to: &Subject,
    there: Option<&[Record]>,
    (commit, taken_at): (Option<String>, Timestamp),
) -> Result<WhatIf, Error> {
    let mut sources = vec![from.subject.to_string()];
    let place = there.unwrap_or(known);
    let mut base = from.estimate;
    let mut machine = from.machine.clone();
    if there.is_some() {
        let [here, other] = [known, place].map(|records| Terms::new(records, &from.subject));
        let (here, other) = (here?, other?);
        let inputs =
            [(base, Slope::Rising), (other.sum()?, Slope::Rising), (here.sum()?, Slope::Falling)];
        base = propagate(inputs, |[ns, other, here]| Ok(ns * other / here))?;
        machine = other.machine(machine);
        sources.extend(other.sources().chain(here.sources()));
    }
    let change = Terms::new(place, to)?.minus(Terms::new(place, &from.subject)?);
    sources.extend(change.sources());
    let estimate = change.added_to(base)?;
    Error::positive("the CPU time after the change, in ns,", estimate.interval().0)?;
    let figure = (word::SERVER_CPU_NS_PER_SESSION, Unit::Nanos, estimate);
    let mut from_all: Vec<String> = Vec::new();
    for source in sources {
        if !from_all.contains(&source) {
            from_all.push(source);
        }
    }
    let kind = Kind::Predicted { by: word::FLEET_RUNG.to_owned(), from: from_all };
    let assumption = (word::ASSUMPTION.to_owned(), REMAINDER_STAYS.to_owned());
    let record = Record {
        commit,
        taken_at,
        versions: from.versions.clone(),
        conditions: [assumption].into(),
        ..Record::new(to.clone(), figure, kind, machine)
    };
    let (parts, measured) = (change.by_part()?, measured(place, to));
    Ok(WhatIf { record, parts, measured })
}

/// Returns the records of measured servers' CPU times that a change can begin with: the last record
/// of each session.
#[must_use]
pub fn measured_sessions(known: &[Record]) -> Vec<&Record> {
    let mut found: Vec<&Record> = Vec::new();
    for record in known.iter().filter(|record| is_measured_cpu(record)) {
        let is_tls = record.subject.key().is_some() && record.subject.protocol().is_some();
        if is_tls && record.subject.parameter(word::SESSIONS).is_none() {
            found.retain(|earlier| earlier.subject != record.subject);
            found.push(record);
        }
    }
    found
}

fn is_measured_cpu(record: &Record) -> bool {
    record.kind == Kind::Measured
        && record.subject.area() == Area::Server
        && record.quantity == word::SERVER_CPU_NS_PER_SESSION
        && record.unit == Unit::Nanos
        && record.subject.parameter(word::AGAINST).is_none()
}

fn measured(known: &[Record], subject: &Subject) -> Option<Estimate> {
    let is_it = |record: &&Record| is_measured_cpu(record) && record.subject == *subject;
    known.iter().rev().find(is_it).map(|record| record.estimate)
}

const REMAINDER_STAYS: &str = "what rung 3 does not explain stays as it was measured";
