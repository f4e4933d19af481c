//! Counts the primitives that a session needs.
//!
//! Counts follow the protocols, RFC 5246 and RFC 8446; lengths come from a recorded handshake.
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

use tollgate_tls_client::{Facts, MacHash, Suite};

use crate::flight::Flight;
use crate::framing::Framing;
use crate::need::Need;
use crate::plan::Session;
use crate::primitive::{Kem, Primitive, PrivateOperation};
use crate::recording::Recording;

/// The length of a master secret in bytes.
const PRF_LONG: u32 = 48;
/// The length in bytes of the data in a Finished.
const PRF_SHORT: u32 = 12;
/// The length of a Finished of TLS 1.2 in bytes, with its header.
const FINISHED: usize = 16;
/// The longest content of a record in bytes.
const RECORD_BYTES_MAX: usize = 16_384;
/// The length of an alert in bytes.
const ALERT: usize = 2;

/// The data of a session after its handshake.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Data {
    /// The length of the request in bytes.
    pub(crate) request: usize,
    /// The length of the response in bytes, with its head.
    pub(crate) response: usize,
    /// The most bytes that the server writes at once.
    pub(crate) write: usize,
}

/// The flights of a handshake.
struct Flights {
    framing: Framing,
    hash: MacHash,
    private: PrivateOperation,
    facts: Facts,
    hello: Flight,
    answer: Flight,
    finish: Flight,
    finished: Flight,
}

/// Returns the primitives of a whole session; `None` if its flights do not fit its suite.
pub(crate) fn need(session: &Session, recording: &Recording, data: Data) -> Option<Need> {
    let suite = session.settings().ok()?.suite;
    let (is_tls13, framing) = (suite.is_tls13(), Framing::new(suite));
    let read = |bytes: &[u8]| Flight::read(bytes, is_tls13);
    let flights = Flights {
        framing,
        hash: suite.transcript_hash(),
        private: private_operation(session, &recording.facts),
        facts: recording.facts,
        hello: read(&recording.hello)?,
        answer: read(&recording.answer)?,
        finish: read(&recording.finish)?,
        finished: read(&recording.finished)?,
    };
    let need = if is_tls13 { flights.tls13()? } else { flights.tls12(key_block(suite))? };
    data.need(need, framing)
}

impl Data {
    fn need(self, need: Need, framing: Framing) -> Option<Need> {
        let mut need = framing.open(need, framing.body(self.request))?;
        let (mut left, write) = (self.response, self.write.min(RECORD_BYTES_MAX));
        while left > 0 {
            let record = left.min(write);
            need = framing.seal(need, framing.body(record))?;
            left -= record;
        }
        framing.seal(need, framing.body(ALERT))
    }
}

impl Flights {
    /// The hash of all messages in the clear.
    fn clear(&self) -> Need {
        let all = [&self.hello, &self.answer, &self.finish, &self.finished];
        let bytes = all.iter().flat_map(|flight| &flight.clear).sum();
        Need::default().and_hashed(self.hash, bytes)
    }

    /// RFC 5246 §7.3, full and abbreviated.
    fn tls12(&self, key_block: u32) -> Option<Need> {
        let bodies = [&self.answer, &self.finish, &self.finished].map(|flight| &*flight.encrypted);
        let [client, server] = match bodies {
            [[server], [client], []] if self.facts.resumed => [*client, *server],
            [[], [client], [server]] if !self.facts.resumed => [*client, *server],
            _ => return None,
        };
        // Another length would mean that the MAC was not computed over the encrypted record.
        if [client, server] != [self.framing.body(FINISHED); 2] {
            return None;
        }
        let mut need = self.clear().and_hashed(self.hash, 2 * FINISHED);
        if !self.facts.resumed {
            need = need.and(1.0, Primitive::Private(self.private));
            if let Some(group) = self.facts.group {
                need = need.and(1.0, Primitive::Generate(group)).and(1.0, Primitive::Agree(group));
            }
            need = need.and(1.0, Primitive::Prf(self.hash, PRF_LONG));
            if self.facts.extended_master_secret {
                need = need.and_hash_ends(self.hash, 1.0);
            }
        }
        need = need
            .and(1.0, Primitive::Prf(self.hash, key_block))
            .and(2.0, Primitive::Prf(self.hash, PRF_SHORT))
            .and_hash_ends(self.hash, 2.0);
        need = self.framing.key(need, 2.0);
        self.framing.seal(self.framing.open(need, client)?, server)
    }

    /// RFC 8446 §2. Each encrypted record has one message.
    fn tls13(&self) -> Option<Need> {
        let (group, is_resumed) = (self.facts.group?, self.facts.resumed);
        let messages = if is_resumed { 2 } else { 4 };
        if self.answer.encrypted.len() != messages || self.finish.encrypted.len() != 1 {
            return None;
        }
        let (extract, expand) = (Primitive::Extract(self.hash), Primitive::Expand(self.hash));
        let mut need = self.clear().and(5.0, extract).and(18.0, expand);
        need = match group.is_kem() {
            // the only such group
            true => need.and(1.0, Primitive::Encapsulate(Kem::X25519MlKem768)),
            false => need.and(1.0, Primitive::Generate(group)).and(1.0, Primitive::Agree(group)),
        };
        need = self.framing.key(need.and_hash_ends(self.hash, 6.0), 4.0);
        need = if is_resumed {
            // the binder, RFC 8446 §4.2.11.2: its key, that of its HMAC, two hashes
            need.and(1.0, extract).and(2.0, expand).and_hash_ends(self.hash, 2.0)
        } else {
            need.and(1.0, Primitive::Private(self.private)).and_hash_ends(self.hash, 1.0)
        };
        for &body in &self.finish.encrypted {
            let hashed = need.and_hashed(self.hash, self.framing.content(body)?);
            need = self.framing.open(hashed, body)?;
        }
        for &body in self.answer.encrypted.iter().chain(&self.finished.encrypted) {
            let hashed = need.and_hashed(self.hash, self.framing.content(body)?);
            need = self.framing.seal(hashed, body)?;
        }
        // the pre-shared key of each ticket
        #[allow(clippy::cast_precision_loss, reason = "a few tickets")]
        let tickets = self.finished.encrypted.len() as f64;
        Some(need.and(tickets, expand))
    }
}

/// The server's operation with its key: a signature, or without one the decryption of a secret.
fn private_operation(session: &Session, facts: &Facts) -> PrivateOperation {
    match facts.signature {
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

#[cfg(test)]
mod tests {
    use tollgate_load::Protocol;
    use tollgate_server::in_memory::Worker;
    use tollgate_server::{Config, Engine, KeyKind};
    use tollgate_tls_client::Group;

    use super::*;
    use crate::handshake::Handshake;
    use crate::plan::SessionPlan;
    use crate::primitive::HASH_BYTES;
    use crate::workers::Workers;

    const DATA: Data = Data { request: 70, response: 40_160, write: 16_384 };

    fn count(need: &Need, of: impl Fn(Primitive) -> bool) -> f64 {
        need.counts().filter(|(primitive, _)| of(*primitive)).map(|(_, count)| count).sum()
    }

    fn recorded(session: &Session, config: &Config) -> (Need, Recording) {
        let worker = Worker::new(config).unwrap();
        let recording = Recording::new(session, &worker).unwrap();
        (need(session, &recording, DATA).unwrap_or_else(|| panic!("{session}")), recording)
    }

    #[test]
    fn counts_are_those_of_the_protocols() {
        let key = KeyKind::Rsa { bits: 2048 };
        let config = Config::default();
        for protocol in Protocol::ALL {
            let session = Session::new(key, protocol, Engine::OpenSsl, 40_000);
            let (need, recording) = recorded(&session, &config);
            let close = |of: &dyn Fn(Primitive) -> bool, expected: f64| {
                let found = count(&need, of);
                assert!((found - expected).abs() < 1e-9, "{protocol:?}: {found}, not {expected}");
            };
            let is_tls13 = protocol == Protocol::Tls13;
            let by_version = |new, old| if is_tls13 { new } else { old };
            close(&|p| matches!(p, Primitive::Private(_)), 1.0);
            let agreements = if protocol == Protocol::Tls12Rsa { 0.0 } else { 1.0 };
            close(&|p| matches!(p, Primitive::Generate(_)), agreements);
            close(&|p| matches!(p, Primitive::Agree(_)), agreements);
            close(&|p| matches!(p, Primitive::Extract(_)), by_version(5.0, 0.0));
            close(&|p| matches!(p, Primitive::Expand(_)), by_version(18.0, 0.0));
            close(&|p| matches!(p, Primitive::Prf(..)), by_version(0.0, 4.0));
            close(&|p| matches!(p, Primitive::RecordKey(_)), by_version(4.0, 2.0));
            // The counts of both sizes add up to the number of hashes, because a hashed byte only
            // moves a share of the count from the small size to the large size.
            let extended = recording.facts.extended_master_secret;
            assert_eq!(extended, !is_tls13, "client and server both have it");
            close(&|p| matches!(p, Primitive::Hash(..)), by_version(7.0, 3.0));
            let is_large = |p| matches!(p, Primitive::Hash(_, bytes) if bytes == HASH_BYTES[1]);
            let hashed = count(&need, is_large) * 1024.0;
            assert!((1000.0..4000.0).contains(&hashed), "{hashed} bytes of messages");
            // Three records carry the head and 40 000 bytes. One more record carries the alert.
            let handshake = by_version(4.0, 1.0);
            close(&|p| matches!(p, Primitive::Seal(..)), handshake + 3.0 + 1.0);
            close(&|p| matches!(p, Primitive::Open(..)), 2.0);
        }
    }

    #[test]
    fn every_suite_and_key_has_counts() {
        let base = Config::default();
        let base = Config { suites: tollgate_server::Suite::ALL.to_vec(), ..base };
        for key in [KeyKind::Rsa { bits: 2048 }, KeyKind::EcdsaP256] {
            let certificate = tollgate_server::Certificate::SelfSigned(key).to_pem().unwrap();
            let config = Config { certificate, ..base.clone() };
            let usual = Session::new(key, Protocol::Tls13, Engine::OpenSsl, 40_000);
            let all = Suite::ALL.map(|suite| Session { suite: Some(suite), ..usual });
            for session in all.into_iter().filter(Session::is_possible) {
                let (need, _) = recorded(&session, &config);
                let records = |of: fn(Primitive) -> bool| count(&need, of);
                let sealed = records(|p| matches!(p, Primitive::Seal(..)));
                let opened = records(|p| matches!(p, Primitive::Open(..)));
                let authenticated = records(|p| matches!(p, Primitive::Mac(..)));
                let has_mac = session.settings().unwrap().suite.cipher().mac().is_some();
                let expected = if has_mac { sealed + opened } else { 0.0 };
                assert!((authenticated - expected).abs() < 1e-9, "{session}: {authenticated}");
                assert!((records(|p| matches!(p, Primitive::Private(_))) - 1.0).abs() < 1e-9);
            }
        }
        for (key, group) in [(KeyKind::EcdsaP384, None), (KeyKind::Ed25519, Some(Group::P256))] {
            let certificate = tollgate_server::Certificate::SelfSigned(key);
            let groups = group.map_or_else(Vec::new, |group| vec![group.name().parse().unwrap()]);
            let groups = [groups, vec![tollgate_server::Group::X25519]].concat();
            let config = Config { certificate, groups, ..base.clone() };
            let usual = Session::new(key, Protocol::Tls13, Engine::OpenSsl, 0);
            let (need, _) = recorded(&Session { group, ..usual }, &config);
            let wanted = Primitive::Agree(group.unwrap_or(Group::X25519));
            assert!((count(&need, |p| p == wanted) - 1.0).abs() < 1e-9, "{key}");
        }
    }

    fn planned(session: Session) -> (Need, Recording) {
        let plan = SessionPlan::new(vec![session], core::time::Duration::from_secs(1));
        let workers = Workers::new(&plan).unwrap();
        let recording = Recording::new(&session, workers.of_session(&session)).unwrap();
        (need(&session, &recording, DATA).unwrap(), recording)
    }

    #[test]
    fn resumed_sessions_need_no_signature() {
        let usual = Session::new(KeyKind::EcdsaP256, Protocol::Tls12X25519, Engine::OpenSsl, 1000);
        // agreements, handshake records sealed
        for (protocol, handshake, expected) in [
            (Protocol::Tls12X25519, Handshake::Ticket, [0.0, 1.0]),
            (Protocol::Tls12X25519, Handshake::SessionId, [0.0, 1.0]),
            // with a new ticket
            (Protocol::Tls13, Handshake::Ticket, [1.0, 3.0]),
        ] {
            let session = Session { protocol, handshake, ..usual };
            let (need, recording) = planned(session);
            assert!(recording.facts.resumed, "{session}");
            let signed = count(&need, |p| matches!(p, Primitive::Private(_)));
            let agreed = count(&need, |p| matches!(p, Primitive::Agree(_)));
            let sealed = count(&need, |p| matches!(p, Primitive::Seal(..))) - 4.0;
            assert!(signed.abs() < 1e-9, "{session}");
            let found = [agreed, sealed];
            let is_close = found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-9);
            assert!(is_close, "{session}: {found:?}, not {expected:?}");
        }
    }

    #[test]
    fn other_flights_are_refused() {
        let config = Config::default();
        for protocol in [Protocol::Tls13, Protocol::Tls12X25519] {
            let key = KeyKind::Rsa { bits: 2048 };
            let session = Session::new(key, protocol, Engine::OpenSsl, 0);
            let (_, recording) = recorded(&session, &config);
            let nothing = Recording { finish: Vec::new(), ..recording.clone() };
            assert_eq!(need(&session, &nothing, DATA), None);
            let cut = recording.answer[..recording.answer.len() - 1].to_vec();
            assert_eq!(need(&session, &Recording { answer: cut, ..recording.clone() }, DATA), None);
            // shorter than the overhead of encryption
            let short = Recording { finish: vec![23, 3, 3, 0, 1, 7], ..recording };
            assert_eq!(need(&session, &short, DATA), None);
        }
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
