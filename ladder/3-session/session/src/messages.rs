//! Counts the primitives that each message of a handshake needs, and those that the data after the
//! handshake needs.
//!
//! Counts follow the protocols, RFC 5246 and RFC 8446; lengths come from a recorded session.
//!
//! TLS 1.2, per session:
//!
//! * the PRF for the master secret (48 bytes), the key block and both Finished messages (12 bytes
//!   each); a key block that takes as many HMACs as a master secret is counted as one;
//! * a transcript hash for each Finished, and one for the extended master secret if it is
//!   negotiated (RFC 7627);
//! * a record key in each direction.
//!
//! TLS 1.3, per session (RFC 8446 §7.1, without PSK):
//!
//! * 3 HKDF-Extract (early, handshake, master), and 2 HMACs for the Finished messages, counted as
//!   extracts;
//! * 18 HKDF-Expand: 2 `derived`, 4 traffic secrets with key and IV each, 2 Finished keys, the
//!   exporter and the resumption secret;
//! * 7 hashes: of the transcript at `ServerHello`, `Certificate`, `CertificateVerify` and both
//!   Finished messages, and 2 of the empty string for `derived`;
//! * a record key in each direction, twice.
//!
//! A resumed session of TLS 1.2 has no master secret to derive. One of TLS 1.3 has the key and the
//! HMAC of a binder (RFC 8446 §4.2.11.2), and a pre-shared key for each new ticket; it hashes and
//! signs no certificate. The encryption of tickets is counted as the library's work.
//!
//! If the client presents a certificate, the server verifies the signatures of its chain and the
//! client's own. The primitives of the client's end are those of the server's, with signing and
//! verifying, sealing and opening exchanged.

mod tls12;
mod tls13;

use tollgate_tls_client::{Group, MacHash, SignatureScheme, Suite};

use crate::framing::Framing;
use crate::handshake::Handshake;
use crate::in_memory::Recorded;
use crate::need::Need;
use crate::pipe::Lap;
use crate::plan::Session;
use crate::primitive::{Primitive, PrivateOperation};
use crate::wire::Flight;

/// A message of the handshake.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Message {
    /// The message's name, as records spell it.
    pub(crate) name: &'static str,
    /// The lap in which the server handles the message.
    pub(crate) lap: Lap,
    pub(crate) need: Need,
    /// True if the library's work in this lap is charged to this message.
    pub(crate) opens: bool,
}

/// The primitives that a whole session needs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Anatomy {
    /// The messages of the handshake, in order.
    pub(crate) messages: Vec<Message>,
    /// The requests, the responses and the end of the connection.
    pub(crate) data: Need,
    /// The signatures of a chain, which the end that receives it verifies.
    chain: Need,
    /// True if the client presents a chain.
    is_mutual: bool,
}

impl Anatomy {
    /// Derives the needs of a recorded session; `None` if its flights do not fit its suite.
    pub(crate) fn of(session: &Session, recorded: &Recorded) -> Option<Self> {
        let suite = session.settings().ok()?.suite;
        let (tls13, framing) = (suite.is_tls13(), Framing::of(suite));
        let recording = &recorded.recording;
        let read = |bytes: &[u8], keyed| Flight::read(bytes, tls13, keyed);
        let flights = Flights {
            framing,
            hash: suite.transcript_hash(),
            private: private_operation(session, recorded.facts.signature),
            client: recorded.facts.client_signature.map(|of| private_operation(session, Some(of))),
            resumed: recorded.facts.resumed,
            group: recorded.facts.group,
            hello: read(&recording.client[Lap::Hello as usize], false)?,
            answer: read(&recording.server[Lap::Hello as usize], false)?,
            finish: read(&recording.client[Lap::Finish as usize], false)?,
            finished: read(&recording.server[Lap::Finish as usize], false)?,
        };
        let messages = if tls13 {
            flights.tls13()?
        } else {
            flights.tls12(key_block(suite), recorded.facts.extended_master_secret)?
        };
        let mut data = Need::default();
        for body in read(&recording.client[Lap::Data as usize], true)?.encrypted {
            data = framing.open(data, body)?;
        }
        for body in read(&recording.server[Lap::Data as usize], true)?.encrypted {
            data = framing.seal(data, body)?;
        }
        // Certificates with RSA are signed with PKCS#1 v1.5.
        let of_certificate = match session.key.is_rsa() {
            true => PrivateOperation::SignPkcs1,
            false => PrivateOperation::Sign,
        };
        let length = f64::from(session.chain_length());
        let chain = Need::default().and(length, Primitive::Public(of_certificate));
        let is_mutual = session.handshake == Handshake::Mutual;
        let mut this = Self { messages, data, chain, is_mutual };
        if is_mutual {
            let chain = this.chain.clone();
            let receives = |message: &&mut Message| message.name == CLIENT_CERTIFICATE;
            this.messages.iter_mut().find(receives)?.need += &chain;
        }
        Some(this)
    }

    /// The sum over the whole session.
    pub(crate) fn need(&self) -> Need {
        let mut need = self.data.clone();
        self.messages.iter().for_each(|message| need += &message.need);
        need
    }

    /// The sum over the whole session for the client's end, which verifies the server's chain.
    pub(crate) fn need_of_client(&self) -> Need {
        let mut need = self.need();
        if self.is_mutual {
            need -= &self.chain;
        }
        let mut need = need.at_other_end();
        need += &self.chain;
        need
    }
}

/// The operation with the key of an end that makes this signature, or decrypts.
fn private_operation(session: &Session, scheme: Option<SignatureScheme>) -> PrivateOperation {
    match scheme {
        None => PrivateOperation::Decrypt,
        Some(_) if !session.key.is_rsa() => PrivateOperation::Sign,
        Some(scheme) if scheme.name().contains("_pss") => PrivateOperation::SignPss,
        Some(_) => PrivateOperation::SignPkcs1,
    }
}

/// The length in bytes of the PRF's output for the key block, RFC 5246 §6.3: as much as libssl
/// derives, IVs of CBC included.
fn key_block(suite: Suite) -> u32 {
    let cipher = suite.cipher();
    let mac = cipher.mac().map_or(0, MacHash::bytes);
    let iv = cipher.block_bytes().unwrap_or(cipher.iv_bytes());
    let (bytes, hash) = (2 * (mac + cipher.key_bytes() + iv), suite.transcript_hash().bytes());
    match u32::try_from(bytes) {
        Ok(bytes_exact) if bytes.div_ceil(hash) != (PRF_LONG as usize).div_ceil(hash) => {
            bytes_exact
        }
        _ => PRF_LONG,
    }
}

#[derive(Clone)]
struct Flights {
    framing: Framing,
    hash: MacHash,
    private: PrivateOperation,
    /// The client's signature.
    client: Option<PrivateOperation>,
    resumed: bool,
    group: Option<Group>,
    hello: Flight,
    answer: Flight,
    finish: Flight,
    finished: Flight,
}

impl Flights {
    /// A message without primitives but its hash, in a lap.
    fn message(&self, lap: Lap, name: &'static str, bytes: usize) -> Message {
        let need = Need::default().and_hashed(self.hash, bytes);
        Message { name, lap, need, opens: false }
    }
}

impl Message {
    /// Charges the library's work in the lap to the message.
    fn opening(self) -> Self {
        Self { opens: true, ..self }
    }

    fn needing(self, more: impl FnOnce(Need) -> Need) -> Self {
        Self { need: more(self.need), ..self }
    }
}

/// The message with the client's chain.
const CLIENT_CERTIFICATE: &str = "client-certificate";
/// The length of a master secret in bytes.
pub(crate) const PRF_LONG: u32 = 48;
/// The length in bytes of the data in a Finished.
pub(crate) const PRF_SHORT: u32 = 12;

#[cfg(test)]
mod tests {

    use tollgate_load::Protocol;
    use tollgate_record::vocabulary as word;
    use tollgate_server::in_memory::Worker;
    use tollgate_server::{Config, Engine, KeyKind};

    use super::*;
    use crate::in_memory::Stage;
    use crate::libcrypto::is_without_hybrid;
    use crate::plan::SessionPlan;
    use crate::primitive::HASH_BYTES;
    use crate::wire::Flight;
    use crate::workers::{Served, Workers};

    fn count(need: &Need, of: impl Fn(Primitive) -> bool) -> f64 {
        need.counts().filter(|(primitive, _)| of(*primitive)).map(|(_, count)| count).sum()
    }

    #[test]
    fn counts_are_those_of_the_protocols() {
        let key = KeyKind::Rsa { bits: 2048 };
        let config = Config { allow_rsa_kx: true, ..Config::default() };
        let worker = Worker::new(&config).unwrap();
        for protocol in Protocol::ALL {
            let session = Session::new(key, protocol, Engine::OpenSsl, 40_000);
            let recorded = Stage::new(session, &worker).unwrap().record().unwrap();
            let anatomy = Anatomy::of(&session, &recorded).unwrap();
            let need = anatomy.need();
            let close = |found: f64, expected: f64| {
                assert!((found - expected).abs() < 1e-9, "{protocol:?}: {found}, not {expected}");
            };
            let tls13 = protocol == Protocol::Tls13;
            close(count(&need, |p| matches!(p, Primitive::Private(_))), 1.0);
            let agreements = if protocol == Protocol::Tls12Rsa { 0.0 } else { 1.0 };
            close(count(&need, |p| matches!(p, Primitive::Generate(_))), agreements);
            close(count(&need, |p| matches!(p, Primitive::Agree(_))), agreements);
            close(
                count(&need, |p| matches!(p, Primitive::Extract(_))),
                if tls13 { 5.0 } else { 0.0 },
            );
            close(
                count(&need, |p| matches!(p, Primitive::Expand(_))),
                if tls13 { 18.0 } else { 0.0 },
            );
            close(count(&need, |p| matches!(p, Primitive::Prf(..))), if tls13 { 0.0 } else { 4.0 });
            close(
                count(&need, |p| matches!(p, Primitive::RecordKey(_))),
                if tls13 { 4.0 } else { 2.0 },
            );
            // The counts of both sizes add up to the number of hashes, because a hashed byte only
            // moves a share of the count from the small size to the large size.
            let taken = count(&need, |p| matches!(p, Primitive::Hash(..)));
            let extended = recorded.facts.extended_master_secret;
            assert_eq!(extended, !tls13, "client and server both have it");
            close(taken, if tls13 { 7.0 } else { 3.0 });
            let hashed =
                count(&need, |p| matches!(p, Primitive::Hash(_, bytes) if bytes == HASH_BYTES[1]))
                    * 1024.0;
            assert!((1000.0..4000.0).contains(&hashed), "{hashed} bytes of messages");
            // Three records carry the head and 40 000 bytes. One more record carries the alert.
            let handshake = if tls13 { 4.0 } else { 1.0 };
            close(count(&need, |p| matches!(p, Primitive::Seal(..))), handshake + 3.0 + 1.0);
            close(count(&need, |p| matches!(p, Primitive::Open(..))), 2.0);
            let names: Vec<_> = anatomy.messages.iter().map(|message| message.name).collect();
            assert_eq!((names[0], names.len()), ("client-hello", names_of(protocol)));
            for lap in [Lap::Hello, Lap::Finish] {
                let opening = anatomy.messages.iter().filter(|m| m.lap == lap && m.opens);
                assert_eq!(opening.count(), 1, "the rest of a lap is counted once");
            }
        }
    }

    const fn names_of(protocol: Protocol) -> usize {
        match protocol {
            Protocol::Tls12P256 | Protocol::Tls12X25519 => 8,
            Protocol::Tls12Rsa | Protocol::Tls13 => 7,
        }
    }

    #[test]
    fn every_suite_and_key_has_an_anatomy() {
        let anatomy = |session: Session, config: &Config| {
            let worker = Worker::new(config).unwrap();
            let recorded = Stage::new(session, &worker).unwrap().record().unwrap();
            Anatomy::of(&session, &recorded).unwrap_or_else(|| panic!("{session}")).need()
        };
        let base = Config { allow_rsa_kx: true, ..Config::default() };
        let base = Config { suites: tollgate_server::Suite::ALL.to_vec(), ..base };
        for key in [KeyKind::Rsa { bits: 2048 }, KeyKind::EcdsaP256] {
            let certificate = tollgate_server::Certificate::SelfSigned(key).to_pem().unwrap();
            let config = Config { certificate, ..base.clone() };
            let usual = Session::new(key, Protocol::Tls13, Engine::OpenSsl, 40_000);
            let all = Suite::ALL.map(|suite| Session { suite: Some(suite), ..usual });
            for session in all.into_iter().filter(Session::is_possible) {
                let need = anatomy(session, &config);
                let records = |of: fn(Primitive) -> bool| count(&need, of);
                let sealed = records(|p| matches!(p, Primitive::Seal(..)));
                let opened = records(|p| matches!(p, Primitive::Open(..)));
                let authenticated = records(|p| matches!(p, Primitive::Mac(..)));
                let has_mac = session.settings().unwrap().suite.cipher().mac().is_some();
                let expected = if has_mac { sealed + opened } else { 0.0 };
                assert!((authenticated - expected).abs() < 1e-9, "{session}: {authenticated}");
                assert!((count(&need, |p| matches!(p, Primitive::Private(_))) - 1.0).abs() < 1e-9);
            }
        }
        for (key, group) in [
            (KeyKind::EcdsaP384, None),
            (KeyKind::Ed25519, Some(Group::P256)),
            (KeyKind::OF_2001, Some(Group::Ffdhe2048)),
        ] {
            let certificate = tollgate_server::Certificate::SelfSigned(key);
            let groups = group.map_or_else(Vec::new, |group| vec![group.name().parse().unwrap()]);
            let groups = [groups, vec![tollgate_server::Group::X25519]].concat();
            let config = Config { certificate, groups, allow_rsa_1024: true, ..base.clone() };
            let usual = Session::new(key, Protocol::Tls13, Engine::OpenSsl, 0);
            let need = anatomy(Session { group, ..usual }, &config);
            let wanted = Primitive::Agree(group.unwrap_or(Group::X25519));
            assert!((count(&need, |p| p == wanted) - 1.0).abs() < 1e-9, "{key}");
        }
    }

    #[test]
    fn with_a_kem_the_server_encapsulates_to_the_key_pair_of_the_client() {
        if is_without_hybrid() {
            return;
        }
        let (key, group) = (KeyKind::EcdsaP256, Group::X25519MlKem768);
        let usual = Session::new(key, Protocol::Tls13, Engine::OpenSsl, 0);
        let session = Session { group: Some(group), ..usual };
        let plan = SessionPlan::new(vec![session], core::time::Duration::from_secs(1));
        let workers = Workers::of(&plan).unwrap();
        let worker = &workers.of_session(&session).worker;
        let recorded = Stage::new(session, worker).unwrap().record().unwrap();
        let anatomy = Anatomy::of(&session, &recorded).unwrap();
        let exchange = |need: Need| need.of(word::PART_KEY_EXCHANGE);
        let of = |primitive| Need::default().and(1.0, primitive);
        assert_eq!(exchange(anatomy.need()), of(Primitive::Encapsulate(group)));
        let client = of(Primitive::Generate(group)).and(1.0, Primitive::Decapsulate(group));
        assert_eq!(exchange(anatomy.need_of_client()), client);
    }

    #[test]
    fn other_handshakes_need_other_primitives() {
        let total = core::time::Duration::from_secs(1);
        let usual = Session::new(KeyKind::EcdsaP256, Protocol::Tls12X25519, Engine::OpenSsl, 1000);
        let session = |handshake| Session { handshake, ..usual };
        let (mutual, ticket) = (session(Handshake::Mutual), session(Handshake::Ticket));
        let tls13 = |one| Session { protocol: Protocol::Tls13, ..one };
        let long = Session { chain: Some(3), requests: 4, ..mutual };
        // signatures, verifications at the server and at the client, agreements, records sealed
        for (session, expected) in [
            (mutual, [1.0, 2.0, 2.0, 1.0, 3.0]),
            (long, [1.0, 4.0, 4.0, 1.0, 6.0]),
            (tls13(mutual), [1.0, 2.0, 2.0, 1.0, 7.0]),
            (ticket, [0.0, 0.0, 0.0, 0.0, 3.0]),
            (session(Handshake::SessionId), [0.0, 0.0, 0.0, 0.0, 3.0]),
            // with a new ticket
            (tls13(ticket), [0.0, 0.0, 0.0, 1.0, 5.0]),
        ] {
            let plan = SessionPlan::new(vec![session], total);
            let workers = Workers::of(&plan).unwrap();
            let Served { worker, certificates } = workers.of_session(&session);
            let identity = certificates.identity();
            let mut stage = Stage::presenting(session, worker, identity, 1).unwrap();
            stage.play().unwrap();
            let recorded = stage.record().unwrap();
            assert_eq!(recorded.facts.resumed, session.handshake.is_resumed(), "{session}");
            let anatomy = Anatomy::of(&session, &recorded).unwrap();
            let (need, client) = (anatomy.need(), anatomy.need_of_client());
            let verified = |need| count(need, |p| matches!(p, Primitive::Public(_)));
            let signed = |need| count(need, |p| matches!(p, Primitive::Private(_)));
            let sealed = |need| count(need, |p| matches!(p, Primitive::Seal(..)));
            let opened = |need| count(need, |p| matches!(p, Primitive::Open(..)));
            let agreed = count(&need, |p| matches!(p, Primitive::Agree(_)));
            let found = [signed(&need), verified(&need), verified(&client), agreed, sealed(&need)];
            let expected = match session.handshake.is_resumed() {
                // nobody measures the client's end of a resumed session
                true => [expected[0], expected[1], found[2], expected[3], expected[4]],
                false => expected,
            };
            let is_close = found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-9);
            assert!(is_close, "{session}: {found:?}, not {expected:?}");
            assert!((sealed(&need) - opened(&client)).abs() < 1e-9, "{session}");
            assert!(signed(&client) <= 1.0, "{session}");
        }
    }

    #[test]
    fn other_flights_are_refused() {
        let of = |suite, group, flights: [Flight; 4]| {
            let [hello, answer, finish, finished] = flights;
            let (framing, hash) = (Framing::of(suite), MacHash::Sha256);
            let private = private();
            let (client, resumed) = (None, false);
            Flights {
                framing,
                hash,
                private,
                client,
                resumed,
                group,
                hello,
                answer,
                finish,
                finished,
            }
        };
        let old = Suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256;
        let strange = |suite| of(suite, None, [(); 4].map(|()| Flight::default()));
        assert_eq!(strange(Suite::TLS_AES_128_GCM_SHA256).tls13(), None);
        assert_eq!(strange(old).tls12(PRF_LONG, true), None);
        // The flight is shorter than the overhead of encryption.
        let short = Flight { clear: vec![1; 4], encrypted: vec![1; 4] };
        let one = Flight { clear: vec![1], encrypted: vec![1] };
        for suite in [Suite::TLS_AES_128_GCM_SHA256, old] {
            let flights = [one.clone(), short.clone(), one.clone(), one.clone()];
            let flights = of(suite, Some(Group::X25519), flights);
            for resumed in [false, true] {
                let client = Some(private()).filter(|_| !resumed);
                let flights = Flights { resumed, client, ..flights.clone() };
                assert_eq!(flights.tls13(), None);
                assert_eq!(flights.tls12(PRF_LONG, true), None);
            }
        }
    }

    const fn private() -> PrivateOperation {
        PrivateOperation::SignPss
    }

    #[test]
    fn a_key_block_counts_with_its_hmacs() {
        for (suite, bytes) in [
            (Suite::TLS_RSA_WITH_AES_128_GCM_SHA256, 48), // 40: two HMACs
            (Suite::TLS_RSA_WITH_AES_256_GCM_SHA384, 72), // two HMACs, and a master secret is one
            (Suite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, 88),
            (Suite::TLS_RSA_WITH_AES_128_CBC_SHA, 104),
            (Suite::TLS_RSA_WITH_AES_256_CBC_SHA256, 160),
        ] {
            assert_eq!(key_block(suite), bytes, "{suite}");
        }
    }
}
