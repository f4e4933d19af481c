//! The scope of the summary: one handshake and one payload, with the keys of most servers.

use tollgate_record::vocabulary::{AGAINST, BY, BYTES, DETAIL, GROUP, PART};
use tollgate_record::{Key, Protocol, Record, Service, Subject, Topic};

use crate::lookup::Origin::{self, Published};
use crate::lookup::{Lookup, distinct};
use crate::names;
use crate::session::rank;

/// The preferred keys, payload and group of the summary.
const KEYS: [Key; 2] = [Key::EcdsaP256, Key::Rsa(2048)];
const SIZE: &str = "14336";
const HYBRID: &str = "X25519MLKEM768";

/// The scope of the summary: one handshake and one payload, with at most two keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flagship {
    pub(crate) keys: Vec<Key>,
    /// The payload in bytes, as record subjects spell it.
    bytes: String,
    protocol: Protocol,
    /// The group, if it is not that of the protocol.
    group: Option<String>,
    /// Prefixes of servers: empty for the embedded one, `nginx-` for nginx.
    pub(crate) servers: Vec<String>,
}

impl Flagship {
    /// Returns the newest protocol with the hybrid group, the keys of most certificates, and 14 KB
    /// if sessions or servers with them are recorded; otherwise what is recorded first.
    pub(crate) fn new(records: &[Record]) -> Self {
        let of_rungs = |record: &Record| {
            let is_full = record.subject.without(&[AGAINST, BY, BYTES, DETAIL, GROUP, PART]);
            matches!(record.subject.topic(), Topic::Session(_) | Topic::Server(_))
                && Origin::new(record) != Published
                && !is_full.to_string().contains('?')
        };
        let mut subjects = Lookup(records).subjects(of_rungs);
        let bytes: Vec<&str> = subjects.iter().filter_map(|of| of.parameter(BYTES)).collect();
        let bytes = pick(&bytes, SIZE).to_owned();
        subjects.retain(|subject| subject.parameter(BYTES) == Some(bytes.as_str()));
        let protocols = subjects.iter().filter_map(|subject| subject.protocol());
        let protocol = protocols.min_by_key(|protocol| rank(Some(protocol))).cloned();
        let protocol = protocol.unwrap_or(Protocol::Tls13);
        subjects.retain(|subject| subject.protocol() == Some(&protocol));
        let groups: Vec<Option<&str>> = subjects.iter().map(|of| of.parameter(GROUP)).collect();
        let group = if groups.contains(&Some(HYBRID)) { Some(HYBRID) } else { None };
        subjects.retain(|subject| subject.parameter(GROUP) == group);
        let known: Vec<&Key> = subjects.iter().filter_map(|subject| subject.key()).collect();
        let mut keys: Vec<Key> = KEYS.into_iter().filter(|key| known.contains(&key)).collect();
        if keys.is_empty() {
            keys.extend(known.first().copied().cloned());
        }
        let servers = subjects.iter().map(|subject| names::by(subject));
        let servers = servers.filter_map(|by| by.strip_suffix(ENGINES[0]));
        let mut servers = distinct(servers.map(str::to_owned));
        servers.sort();
        Self { keys, bytes, protocol, group: group.map(str::to_owned), servers }
    }

    /// Returns the subject of a session, server or fleet of the summary with this key and
    /// implementation.
    pub(crate) fn subject(
        &self,
        topic: fn(Service) -> Topic,
        key: &Key,
        by: &str,
    ) -> Option<Subject> {
        let service = Service::Tls { key: key.clone(), protocol: self.protocol.clone() };
        let subject = Subject::new(topic(service)).ok()?;
        let subject = subject.with(BY, by).ok()?.with(BYTES, &self.bytes).ok()?;
        match &self.group {
            Some(group) => subject.with(GROUP, group).ok(),
            None => Some(subject),
        }
    }

    /// Returns each key with each server and engine, as the parameter `by` of subjects names them.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&Key, String)> {
        let of_key = move |key| {
            let of_server = move |server: &String| {
                ENGINES.map(|engine| (key, format!("{server}{engine}"))).into_iter()
            };
            self.servers.iter().flat_map(of_server)
        };
        self.keys.iter().flat_map(of_key)
    }

    /// Returns the implementations that a picture shows: those of the last server that has
    /// figures with this topic.
    pub(crate) fn shown(&self, topic: fn(Service) -> Topic, records: &[Record]) -> Vec<String> {
        let of_server = |server: &String| ENGINES.map(|engine| format!("{server}{engine}"));
        let is_known = |by: &String| {
            let subject = |key| self.subject(topic, key, by);
            let mut subjects = self.keys.iter().filter_map(subject);
            subjects.any(|subject| records.iter().any(|record| is_figure_of(record, &subject)))
        };
        let mut servers = self.servers.iter().rev().map(of_server);
        servers.find(|of_server| of_server.iter().any(is_known)).into_iter().flatten().collect()
    }

    /// Returns `true` if a session, server or fleet has a key and the handshake of the summary.
    pub(crate) fn is_of(&self, subject: &Subject) -> bool {
        subject.key().is_some_and(|key| self.keys.contains(key))
            && subject.protocol() == Some(&self.protocol)
            && subject.parameter(GROUP) == self.group.as_deref()
    }

    /// Returns the handshake and the payload in words: `TLS 1.3, X25519MLKEM768, 14 KB`.
    pub(crate) fn words(&self) -> String {
        let group = self.group.iter().map(String::as_str);
        let protocol = [names::protocol(&self.protocol)];
        let words: Vec<&str> = protocol.into_iter().chain(group).collect();
        format!("{}, {}", words.join(", "), self.payload())
    }

    /// Returns the payload and the group, or without one the protocol: `14 KB, X25519MLKEM768`.
    pub(crate) fn transfer(&self) -> String {
        let protocol = names::protocol(&self.protocol);
        format!("{}, {}", self.payload(), self.group.as_deref().unwrap_or(protocol))
    }

    /// Returns the payload in words.
    pub(crate) fn payload(&self) -> String {
        names::payload(self.bytes.parse().unwrap_or(0))
    }
}

/// Returns whether a record is a figure of this session, server or fleet, or of a demand on it.
fn is_figure_of(record: &Record, subject: &Subject) -> bool {
    record.subject.topic() == subject.topic()
        && [BY, BYTES, GROUP]
            .iter()
            .all(|name| record.subject.parameter(name) == subject.parameter(name))
}

/// The engines of a server, as the parameter `by` ends.
pub(crate) const ENGINES: [&str; 2] = ["tollgate", "openssl"];

/// Returns `wanted` if the list contains it or is empty, otherwise the first element.
fn pick<'a>(there: &[&'a str], wanted: &'a str) -> &'a str {
    match there.first() {
        Some(first) if !there.contains(&wanted) => first,
        _ => wanted,
    }
}

#[cfg(test)]
mod tests {
    use tollgate_record::vocabulary::SESSIONS_PER_S;
    use tollgate_record::{Estimate, Kind, Machine, Unit};

    use super::*;

    fn record(subject: &str) -> Record {
        let figure = (SESSIONS_PER_S, Unit::PerSecond, Estimate::exact(1.0).unwrap());
        Record::new(subject.parse().unwrap(), figure, Kind::Measured, Machine::unknown("any"))
    }

    #[test]
    fn the_handshake_of_today_is_the_summary() {
        let subjects = [
            "server/rsa-3072/tls12-x25519?by=openssl&bytes=14336",
            "server/rsa-2048/tls13?by=openssl&bytes=14336",
            "server/rsa-2048/tls13?by=openssl&bytes=143360&group=X25519MLKEM768",
            "server/rsa-2048/tls13?by=openssl&bytes=14336&group=X25519MLKEM768&requests=2",
            "server/rsa-2048/tls13?by=nginx-tollgate&bytes=14336&group=X25519MLKEM768",
            "server/ecdsa-p256/tls13?by=tollgate&bytes=14336&group=X25519MLKEM768",
        ];
        let all: Vec<Record> = subjects.iter().map(|subject| record(subject)).collect();
        let flagship = Flagship::new(&all);
        assert_eq!(flagship.words(), "TLS 1.3, X25519MLKEM768, 14 KB");
        assert_eq!(
            (&flagship.keys[..], &flagship.servers[..]),
            (&KEYS[..], &[String::new(), "nginx-".to_owned()][..])
        );
        assert_eq!(flagship.rows().count(), 8);
        assert_eq!(flagship.shown(Topic::Server, &all), ["nginx-tollgate", "nginx-openssl"]);
        assert_eq!(flagship.shown(Topic::Session, &all), [""; 0]);
        assert!(flagship.is_of(&all[4].subject) && !flagship.is_of(&all[1].subject));
        let named = flagship.subject(Topic::Server, &KEYS[1], "nginx-tollgate");
        assert_eq!(named.as_ref(), Some(&all[4].subject));
        // with an OpenSSL that has no such group
        assert_eq!(Flagship::new(&all[..2]).words(), "TLS 1.3, 14 KB");
        assert_eq!(Flagship::new(&all[..1]).keys, [Key::Rsa(3072)]);
        assert_eq!(Flagship::new(&[]).words(), "TLS 1.3, 14 KB");
    }
}
