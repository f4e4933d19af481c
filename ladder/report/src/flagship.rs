//! The scope of the summary: one key, one payload, and at most two protocols.

use tollgate_record::vocabulary::{BY, BYTES};
use tollgate_record::{Key, Protocol, Record, Service, Subject, Topic};

use crate::lookup::Lookup;
use crate::lookup::Origin::{self, Published};
use crate::names;
use crate::session::rank;

/// The preferred key and payload of the summary.
const KEY: Key = Key::Rsa(2048);
const SIZE: &str = "14336";

/// The scope of the summary: one key, one payload, and at most two protocols.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flagship {
    pub(crate) key: Key,
    /// The payload in bytes, as record subjects spell it.
    pub(crate) bytes: String,
    /// At most two protocols.
    pub(crate) protocols: Vec<Protocol>,
}

impl Flagship {
    /// Returns RSA-2048 and 14 KB if sessions or servers with them are recorded; otherwise the
    /// first recorded key and payload.
    pub(crate) fn new(records: &[Record]) -> Self {
        let of_rungs = |record: &Record| {
            matches!(record.subject.topic(), Topic::Session(_) | Topic::Server(_))
                && Origin::new(record) != Published
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

    /// Returns the subject of a session, server or fleet with the summary's key and payload, and
    /// with this protocol and implementation.
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

    /// Returns `true` if a session, server or fleet has the summary's key and first protocol.
    pub(crate) fn is_of(&self, subject: &Subject) -> bool {
        subject.key() == Some(&self.key)
            && self.protocols.first().is_some_and(|first| subject.protocol() == Some(first))
    }

    /// Returns the payload in words.
    pub(crate) fn payload(&self) -> String {
        names::payload(self.bytes.parse().unwrap_or(0))
    }
}

/// Returns `wanted` if the list contains it or is empty, otherwise the first element.
fn pick<'a, T: PartialEq + ?Sized>(there: &[&'a T], wanted: &'a T) -> &'a T {
    match there.first() {
        Some(first) if !there.contains(&wanted) => first,
        _ => wanted,
    }
}
