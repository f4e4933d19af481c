//! The sessions to measure, and the time for them.

use core::fmt;
use core::time::Duration;
use std::sync::OnceLock;

use tollgate_load::{Offer, Protocol};
use tollgate_record::vocabulary as word;
use tollgate_record::{BadSubject, Service, Subject, Topic};
use tollgate_server::in_memory::Worker;
use tollgate_server::{BODY_BYTES_MAX, Certificate, Config, Engine, KeyKind};
use tollgate_tls_client::{Group, KeyExchange, Settings, Suite};

use crate::error::Error;
use crate::handshake::Handshake;
use crate::libcrypto;

/// The payload of the short transaction, in bytes \[HP01\].
pub const SHORT_BYTES: u64 = 14_336;
/// The payload of the "banking" transaction, in bytes \[ETI10\].
pub const LONG_BYTES: u64 = 143_360;

/// One kind of session: a handshake, a `GET`, the response, the end of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    /// The server's key.
    pub key: KeyKind,
    /// Protocol version and key exchange.
    pub protocol: Protocol,
    /// The suite, which then determines version and key exchange. `None`: AES-128-GCM with SHA-256.
    pub suite: Option<Suite>,
    /// The group of the key agreement, if it is not that of the protocol.
    pub group: Option<Group>,
    /// The implementation of the private-key operation.
    pub engine: Engine,
    /// The length of a response's body in bytes.
    pub bytes: u64,
    /// The handshake.
    pub handshake: Handshake,
}

impl Session {
    /// A session with the suite and the group of the protocol, and a full handshake.
    #[must_use]
    pub const fn new(key: KeyKind, protocol: Protocol, engine: Engine, bytes: u64) -> Self {
        Self { key, protocol, suite: None, group: None, engine, bytes, handshake: Handshake::Full }
    }

    /// Returns the suite, group and kind of key that the client offers.
    #[must_use]
    pub fn offer(&self) -> Offer {
        Offer {
            suite: self.suite.map(|suite| suite.name().to_owned()),
            group: self.group.map(|group| group.name().to_owned()),
            curve_key: !self.key.is_rsa(),
        }
    }

    /// Returns whether suite, group, key and handshake fit each other, and the server speaks the
    /// suite.
    #[must_use]
    pub fn is_possible(&self) -> bool {
        let Some(settings) = self.offer().settings(self.protocol) else { return false };
        let has_key = match settings.suite.exchange() {
            KeyExchange::Tls13 => true,
            KeyExchange::EcdheEcdsa => !self.key.is_rsa(),
            KeyExchange::Rsa | KeyExchange::EcdheRsa => self.key.is_rsa(),
        };
        let is_used = self.group.is_none() || settings.suite.has_group();
        // TLS 1.3 has no session IDs.
        let has_handshake = self.handshake != Handshake::SessionId || !settings.suite.is_tls13();
        has_key
            && is_used
            && has_handshake
            && settings.suite.name().parse::<tollgate_server::Suite>().is_ok()
    }

    /// Returns whether the version is TLS 1.3.
    #[must_use]
    pub fn is_tls13(&self) -> bool {
        self.offer().word(self.protocol) == Protocol::Tls13.word()
    }

    /// Returns whether the group is available to the engine.
    fn has_group(&self) -> bool {
        self.group.is_none_or(|group| has_group(self.engine, group))
    }

    /// The client's settings.
    pub(crate) fn settings(&self) -> Result<Settings, Error> {
        self.offer().settings(self.protocol).ok_or(Error::Plan(UNFIT))
    }

    /// Returns the subject, such as `session/rsa-2048/tls13?by=tollgate&bytes=14336`.
    ///
    /// # Errors
    ///
    /// Never for a session that [`SessionPlan::check`] accepts.
    pub fn subject(&self) -> Result<Subject, BadSubject> {
        self.of(Topic::Session(self.service()))
    }

    /// The subject of a figure that covers only a part of this session:
    /// `session/primitive/in-memory/rsa-2048/tls13?by=tollgate&bytes=14336`.
    pub(crate) fn primitive_subject(&self, name: &str) -> Result<Subject, BadSubject> {
        self.of(primitive(name, self.service()))
    }

    fn of(&self, topic: Topic) -> Result<Subject, BadSubject> {
        self.described(Subject::new(topic)?.with(word::BY, self.engine)?)
    }

    /// Adds the parameters of the session to a subject, as the load generator names them.
    fn described(&self, subject: Subject) -> Result<Subject, BadSubject> {
        let mut subject = self.offer().subject(subject.with(word::BYTES, self.bytes)?)?;
        if let Some(by) = self.handshake.resumed_by(self.is_tls13()) {
            subject = subject.with(word::RESUMED_SHARE, 1)?.with(word::RESUMED_BY, by)?;
        }
        Ok(subject)
    }

    /// Key and protocol, as subjects name them.
    pub(crate) fn service(&self) -> Service {
        let (key, protocol) = (self.key.to_string(), self.offer().word(self.protocol));
        Service::Tls { key: key.as_str().into(), protocol: protocol.into() }
    }
}

/// The topic of a session primitive of a service: `session/primitive/system/rsa-2048/tls13`.
pub(crate) fn primitive(name: &str, service: Service) -> Topic {
    Topic::Primitive(format!("{name}/{service}"))
}

impl fmt::Display for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, protocol, engine, bytes, .. } = self;
        let Offer { suite, group, .. } = self.offer();
        let protocol = self.offer().word(*protocol);
        let names: String =
            [suite, group].into_iter().flatten().map(|name| format!(" {name}")).collect();
        write!(f, "{key} {protocol}{names} by {engine}, {bytes} bytes")?;
        if self.handshake != Handshake::Full {
            write!(f, ", {}", self.handshake.word())?;
        }
        Ok(())
    }
}

/// The sessions to measure, and the time for them.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionPlan {
    /// The sessions, each once.
    pub sessions: Vec<Session>,
    /// The number of connections in flight, each with a session. More connections than an engine
    /// has lanes fill its batches.
    pub connections: u32,
    /// The engine may pause handshakes, to run operations of several connections as one batch, as
    /// in the embedded server.
    pub pauses: bool,
    /// The time for all sessions together. Preparation takes some seconds more.
    pub total: Duration,
}

impl SessionPlan {
    /// The keys of the certificates that most public servers have.
    pub const KEYS: [KeyKind; 2] = [KeyKind::EcdsaP256, KeyKind::Rsa { bits: 2048 }];

    /// A plan of these sessions for the embedded server, with as many connections in flight as the
    /// load generator has by default.
    #[must_use]
    pub const fn new(sessions: Vec<Session>, total: Duration) -> Self {
        Self { sessions, connections: CONNECTIONS, pauses: true, total }
    }

    /// Every combination, in the order of the arguments.
    #[must_use]
    pub fn product(
        keys: &[KeyKind],
        protocols: &[Protocol],
        engines: &[Engine],
        bytes: &[u64],
        total: Duration,
    ) -> Self {
        let mut sessions = Vec::new();
        for &key in keys {
            for &protocol in protocols {
                for &engine in engines {
                    let session = |&bytes| Session::new(key, protocol, engine, bytes);
                    sessions.extend(bytes.iter().map(session));
                }
            }
        }
        Self::new(sessions, total)
    }

    /// The plan of the ladder, with both engines under TLS 1.3:
    ///
    /// * ECDSA P-256 and RSA-2048 with the short transaction;
    /// * RSA-2048 with payloads from 0 to [`LONG_BYTES`].
    ///
    /// `None` is the group of the protocol.
    #[must_use]
    pub fn ladder(group: Option<Group>, total: Duration) -> Self {
        let engines = [Engine::OpenSsl, Engine::Tollgate];
        let of = |keys: &[KeyKind], bytes: &[u64]| {
            Self::product(keys, &[Protocol::Tls13], &engines, bytes, total).sessions
        };
        let [curve, rsa] = Self::KEYS;
        let sweep = [0, 4096, 35_840, LONG_BYTES];
        let sessions = [of(&[curve, rsa], &[SHORT_BYTES]), of(&[rsa], &sweep)].concat();
        let sessions = sessions.into_iter().map(|session| Session { group, ..session });
        Self::new(sessions.collect(), total)
    }

    /// Validates the plan.
    ///
    /// # Errors
    ///
    /// [`Error::Plan`] with the rule that the plan violates.
    pub fn check(&self) -> Result<(), Error> {
        let twice = |i: usize| self.sessions[..i].contains(&self.sessions[i]);
        let has_key = |session: &Session| {
            KeyKind::SELF_SIGNED.contains(&session.key) || session.key == KeyKind::OF_2001
        };
        let signs = |session: &Session| {
            let is_served = session.key.is_rsa() || session.key == KeyKind::EcdsaP256;
            is_served || session.engine == Engine::OpenSsl
        };
        let rules = [
            (!self.sessions.is_empty(), "it names no session"),
            (!(1..self.sessions.len()).any(twice), "it names a session twice"),
            (
                self.sessions.iter().all(has_key),
                "keys are rsa-1024, rsa-2048, rsa-3072, rsa-4096, ecdsa-p256, ecdsa-p384 or \
                 ed25519",
            ),
            (self.sessions.iter().all(signs), "the engine tollgate has keys with RSA or on P-256"),
            (self.sessions.iter().all(Session::is_possible), UNFIT),
            (self.sessions.iter().all(Session::has_group), NO_GROUP),
            (
                self.sessions.iter().all(|session| session.bytes <= BYTES_MAX),
                "a response has at most 1048576 bytes",
            ),
            (
                (1..=CONNECTIONS_MAX).contains(&self.connections),
                "1 to 1024 connections are in flight",
            ),
            (self.total <= Duration::from_secs(3600), "it takes at most an hour"),
        ];
        match rules.into_iter().find(|(kept, _)| !kept) {
            None => Ok(()),
            Some((_, rule)) => Err(Error::Plan(rule)),
        }
    }
}

const UNFIT: &str = "suite, group, handshake and key fit each other, and the server speaks the \
                     suite; TLS 1.3 has no session IDs";

const NO_GROUP: &str = "OpenSSL has no X25519MLKEM768 before version 3.5: leave the group out, or \
                        run with a later OpenSSL";

/// Returns whether libcrypto has the key pairs of a group in the library context of this engine. A
/// provider can have groups that an older OpenSSL lacks.
#[must_use]
pub fn has_group(engine: Engine, group: Group) -> bool {
    // Only this group is younger than OpenSSL 3.0.
    if group != Group::X25519MlKem768 {
        return true;
    }
    static FOUND: [OnceLock<bool>; 2] = [const { OnceLock::new() }; 2];
    let found = &FOUND[usize::from(engine == Engine::Tollgate)];
    *found.get_or_init(|| {
        let certificate = Certificate::SelfSigned(KeyKind::Rsa { bits: 2048 });
        let worker = Worker::new(&Config { engine, certificate, ..Config::default() });
        worker.is_ok_and(|worker| libcrypto::has_keys_of(worker.source(), c"X25519MLKEM768"))
    })
}

/// The load generator's default.
pub(crate) const CONNECTIONS: u32 = 16;
/// The most connections in flight.
pub const CONNECTIONS_MAX: u32 = 1024;

/// The longest response. A loopback socket accepts about this many bytes at once.
const BYTES_MAX: u64 = 1 << 20;
const _: () = assert!(BYTES_MAX <= BODY_BYTES_MAX, "the server has such bodies");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_are_spelled_as_the_vocabulary_says() {
        let plan = SessionPlan::ladder(None, Duration::from_secs(1));
        let subject = plan.sessions[1].subject().expect("well spelled").to_string();
        assert_eq!(subject, "session/ecdsa-p256/tls13?by=tollgate&bytes=14336");
        assert_eq!(plan.sessions.len(), 2 * (2 + 4));
        plan.check().expect("the ladder's own plan");
        let hybrid = SessionPlan::ladder(Some(Group::X25519MlKem768), Duration::from_secs(1));
        let subject = hybrid.sessions[2].subject().expect("well spelled").to_string();
        assert!(subject.ends_with("by=openssl&bytes=14336&group=X25519MLKEM768"), "{subject}");
        let session = Session {
            protocol: Protocol::Tls12X25519,
            handshake: Handshake::SessionId,
            ..plan.sessions[1]
        };
        let subject = session.subject().expect("well spelled").to_string();
        assert!(subject.ends_with("resumed_by=session-id&resumed_share=1"), "{subject}");
    }

    #[test]
    fn invalid_plans_are_refused_with_the_rule() {
        let keys = [2048, 3072].map(|bits| KeyKind::Rsa { bits });
        let protocols = [Protocol::Tls12X25519, Protocol::Tls13];
        let engines = [Engine::OpenSsl, Engine::Tollgate];
        let good = SessionPlan::product(&keys, &protocols, &engines, &[0], Duration::ZERO);
        let refused = |change: fn(&mut SessionPlan), rule: &str| {
            let mut plan = good.clone();
            change(&mut plan);
            let text = plan.check().expect_err("refused").to_string();
            assert!(text.contains(rule) && !text.contains('\n'), "{text}");
        };
        refused(|p| p.sessions.clear(), "no session");
        refused(|p| p.sessions.push(p.sessions[0]), "twice");
        refused(|p| p.sessions[1].key = KeyKind::EcdsaP384, "with RSA or on P-256");
        refused(|p| p.sessions[0].suite = Some(Suite::TLS_RSA_WITH_RC4_128_SHA), "speaks");
        refused(
            |p| p.sessions[0].suite = Some(Suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
            "fit each other",
        );
        refused(|p| p.sessions[0].group = Some(Group::X25519MlKem768), "each other");
        refused(|p| p.sessions[0].key = KeyKind::Rsa { bits: 512 }, "rsa-2048");
        if !has_group(good.sessions[2].engine, Group::X25519MlKem768) {
            refused(|p| p.sessions[2].group = Some(Group::X25519MlKem768), "before version 3.5");
        }
        refused(|p| p.sessions[0].bytes = u64::MAX, "1048576");
        refused(|p| p.sessions[2].handshake = Handshake::SessionId, "session IDs");
        refused(|p| p.connections = 0, "1 to 1024 connections");
        refused(|p| p.total = Duration::MAX, "an hour");
    }
}
