//! The cost of sessions by part, for the tables and pictures of rung 3.

use tollgate_record::vocabulary::{
    BY, BYTES, CYCLES_PER_SESSION, MESSAGE, PART, PART_KEY_EXCHANGE, PART_KEY_SCHEDULE,
    PART_LIBRARY, PART_MAC, PART_RECORDS, PART_RSA, PART_SYSTEM,
};
use tollgate_record::{Key, Protocol, Record, Service, Subject, Topic, Unit};

use crate::lookup::Lookup;
use crate::lookup::Origin::{self, Measured, Predicted, Published};
use crate::names;

/// Parts in stacking order.
pub(crate) const PARTS: [&str; 7] = [
    PART_RSA,
    PART_KEY_EXCHANGE,
    PART_KEY_SCHEDULE,
    PART_RECORDS,
    PART_MAC,
    PART_LIBRARY,
    PART_SYSTEM,
];

/// Protocols in display order.
const PROTOCOLS: [Protocol; 4] =
    [Protocol::Tls13, Protocol::Tls12X25519, Protocol::Tls12P256, Protocol::Tls12Rsa];

/// The preferred key and payload of the summary.
const KEY: Key = Key::Rsa(2048);
const SIZE: &str = "14336";

/// One session: the predicted or published parts, and the measured total.
#[derive(Clone, Debug)]
pub(crate) struct Session<'a> {
    /// The subject without `part`.
    pub(crate) subject: Subject,
    /// Parts by name: first in stacking order, then others in the order of their records.
    pub(crate) parts: Vec<(&'a str, &'a Record)>,
    /// The record of the sum.
    pub(crate) total: Option<&'a Record>,
    pub(crate) measured: Option<&'a Record>,
}

impl<'a> Session<'a> {
    /// The predicted or published total; without such a record, the sum of the parts.
    pub(crate) fn total(&self) -> Option<f64> {
        let sum = || self.parts.iter().map(|(_, record)| record.estimate.point()).sum();
        let sum = (!self.parts.is_empty()).then(sum);
        self.total.map(|record| record.estimate.point()).or(sum).filter(|sum| sum.is_finite())
    }

    /// The cycles of one part.
    pub(crate) fn part(&self, name: &str) -> Option<f64> {
        let (_, record) = self.parts.iter().find(|(part, _)| *part == name)?;
        Some(record.estimate.point())
    }

    /// The implementation.
    pub(crate) fn by(&self) -> &str {
        self.subject.parameter(BY).unwrap_or_default()
    }

    /// Payload bytes.
    pub(crate) fn bytes(&self) -> u64 {
        names::bytes(&self.subject)
    }

    /// All records of the session.
    pub(crate) fn records(&self) -> impl Iterator<Item = &'a Record> {
        let parts = self.parts.iter().map(|(_, record)| *record);
        parts.chain(self.total).chain(self.measured)
    }
}

/// All sessions of one origin: predicted ones with their measured totals (and those that were only
/// measured), or published ones. In the order of protocols, payloads and engines.
pub(crate) fn sessions(records: &[Record], published: bool) -> Vec<Session<'_>> {
    let origin = if published { Published } else { Predicted };
    let lookup = Lookup(records);
    let takes = |record: &Record| {
        let of = Origin::of(record);
        matches!(record.subject.topic(), Topic::Session(_))
            && record.quantity == CYCLES_PER_SESSION
            && record.unit == Unit::Cycles
            && record.subject.parameter(MESSAGE).is_none()
            && (of == origin || (of == Measured && !published))
    };
    let all = lookup.subjects(takes);
    let mut bare: Vec<Subject> = Vec::new();
    for subject in &all {
        let subject = subject.without(&[PART]);
        if !bare.contains(&subject) {
            bare.push(subject);
        }
    }
    bare.sort_by_key(|subject| {
        let is_rsa = names::rsa_bits(subject).is_some();
        (rank(subject.protocol()), !is_rsa, names::bytes(subject), by_rank(subject))
    });
    let find = |origin, subject: &Subject| {
        lookup.record(origin, subject, CYCLES_PER_SESSION, Unit::Cycles)
    };
    let session = |subject: Subject| {
        let mut parts: Vec<(&str, &Record)> = all
            .iter()
            .filter(|full| full.without(&[PART]) == subject)
            .filter_map(|full| Some((full.parameter(PART)?, find(origin, full)?)))
            .collect();
        parts.sort_by_key(|(part, _)| PARTS.iter().position(|p| p == part).unwrap_or(PARTS.len()));
        let measured = find(Measured, &subject).filter(|_| !published);
        Session { parts, total: find(origin, &subject), measured, subject }
    };
    bare.into_iter().map(session).collect()
}

fn rank(protocol: Option<&Protocol>) -> usize {
    PROTOCOLS.iter().position(|known| Some(known) == protocol).unwrap_or(PROTOCOLS.len())
}

/// The sort key of an engine: Tollgate first.
pub(crate) fn by_rank(subject: &Subject) -> usize {
    let known = ["tollgate", "openssl"];
    let by = subject.parameter(BY).unwrap_or_default();
    known.iter().position(|known| *known == by).unwrap_or(known.len())
}

/// The scope of the summary: one key, one payload, the first protocols.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flagship {
    pub(crate) key: Key,
    /// The payload in bytes, as in subjects.
    pub(crate) bytes: String,
    /// At most two protocols.
    pub(crate) protocols: Vec<Protocol>,
}

impl Flagship {
    /// RSA-2048 and 14 KB if sessions and servers on record have them; otherwise the first key and
    /// payload on record.
    pub(crate) fn of(records: &[Record]) -> Self {
        let of_rungs = |record: &Record| {
            matches!(record.subject.topic(), Topic::Session(_) | Topic::Server(_))
                && Origin::of(record) != Published
        };
        let subjects = Lookup(records).subjects(of_rungs);
        let keys: Vec<&Key> = subjects.iter().filter_map(|subject| subject.key()).collect();
        let key = pick(&keys, &KEY).clone();
        let of_key = || subjects.iter().filter(|subject| subject.key() == Some(&key));
        let bytes: Vec<&str> = of_key().filter_map(|subject| subject.parameter(BYTES)).collect();
        let bytes = pick(&bytes, SIZE).to_owned();
        let mut protocols: Vec<Protocol> = of_key()
            .filter(|subject| subject.parameter(BYTES) == Some(bytes.as_str()))
            .filter_map(|subject| subject.protocol().cloned())
            .collect();
        protocols.sort_by_key(|protocol| rank(Some(protocol)));
        protocols.dedup();
        protocols.truncate(2);
        Self { key, bytes, protocols }
    }

    /// The subject of a session, server or fleet of the summary with this protocol and
    /// implementation.
    pub(crate) fn subject(
        &self,
        topic: fn(Service) -> Topic,
        protocol: &Protocol,
        by: &str,
    ) -> Option<Subject> {
        let service = Service::Tls { key: self.key.clone(), protocol: protocol.clone() };
        let subject = Subject::new(topic(service)).ok()?;
        subject.with(BY, by).ok()?.with(BYTES, &self.bytes).ok()
    }

    /// Whether a session, server or fleet has the summary's key and first protocol.
    pub(crate) fn is_of(&self, subject: &Subject) -> bool {
        subject.key() == Some(&self.key)
            && self.protocols.first().is_some_and(|first| subject.protocol() == Some(first))
    }

    /// The payload in words.
    pub(crate) fn payload(&self) -> String {
        names::payload(self.bytes.parse().unwrap_or(0))
    }
}

/// `wanted` if it is in the list or the list is empty, otherwise the first element.
fn pick<'a, T: PartialEq + ?Sized>(there: &[&'a T], wanted: &'a T) -> &'a T {
    match there.first() {
        Some(first) if !there.contains(&wanted) => first,
        _ => wanted,
    }
}
