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

use tollgate_tls_client::{Group, MacHash, Suite};

use crate::framing::Framing;
use crate::in_memory::Recorded;
use crate::need::Need;
use crate::pipe::Lap;
use crate::plan::Session;
use crate::primitive::{Primitive, PrivateOperation};
use crate::wire::Flight;

/// The length of a Finished of TLS 1.2 in bytes, with its header.
const FINISHED_TLS12: usize = 16;

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
    /// The request, the response and the end of the connection.
    pub(crate) data: Need,
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
            private: private_operation(session, recorded),
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
        Some(Self { messages, data })
    }

    /// The sum over the whole session.
    pub(crate) fn need(&self) -> Need {
        let mut need = self.data.clone();
        self.messages.iter().for_each(|message| need += &message.need);
        need
    }
}

/// The operation with the server's key.
fn private_operation(session: &Session, recorded: &Recorded) -> PrivateOperation {
    match recorded.facts.signature {
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

struct Flights {
    framing: Framing,
    hash: MacHash,
    private: PrivateOperation,
    group: Option<Group>,
    hello: Flight,
    answer: Flight,
    finish: Flight,
    finished: Flight,
}

impl Flights {
    fn tls13(&self) -> Option<Vec<Message>> {
        let [hello] = self.hello.clear[..] else { return None };
        let [server_hello] = self.answer.clear[..] else { return None };
        let [extensions, certificate, verify, finished] = self.answer.encrypted[..] else {
            return None;
        };
        let [client_finished] = self.finish.encrypted[..] else { return None };
        let (framing, hash) = (self.framing, self.hash);
        let (extract, expand) = (Primitive::Extract(hash), Primitive::Expand(hash));
        let clear = |bytes| Need::default().and_hashed(hash, bytes);
        // Each record has one message.
        let sealed = |body| framing.seal(clear(framing.content(body)?), body);
        let first = |name, need| Message { name, lap: Lap::Hello, need, opens: false };
        let group = self.group?;
        Some(vec![
            Message { opens: true, ..first("client-hello", clear(hello)) },
            first(
                "server-hello",
                framing
                    .key(clear(server_hello), 2.0)
                    .and(1.0, Primitive::Generate(group))
                    .and(1.0, Primitive::Agree(group))
                    .and(2.0, extract)
                    .and(9.0, expand)
                    .and_hash_ends(hash, 2.0),
            ),
            first("encrypted-extensions", sealed(extensions)?),
            first("certificate", sealed(certificate)?),
            first(
                "certificate-verify",
                sealed(verify)?.and(1.0, Primitive::Private(self.private)).and_hash_ends(hash, 1.0),
            ),
            first(
                "server-finished",
                framing
                    .key(sealed(finished)?, 1.0)
                    .and(2.0, extract)
                    .and(6.0, expand)
                    .and_hash_ends(hash, 3.0),
            ),
            Message {
                name: "client-finished",
                lap: Lap::Finish,
                need: framing
                    .key(
                        framing.open(clear(framing.content(client_finished)?), client_finished)?,
                        1.0,
                    )
                    .and(1.0, extract)
                    .and(3.0, expand)
                    .and_hash_ends(hash, 1.0),
                opens: true,
            },
        ])
    }

    fn tls12(&self, key_block: u32, extended: bool) -> Option<Vec<Message>> {
        let (framing, hash) = (self.framing, self.hash);
        let [hello] = self.hello.clear[..] else { return None };
        let [server_hello, certificate, middle @ .., done] = &self.answer.clear[..] else {
            return None;
        };
        let [client_key_exchange] = self.finish.clear[..] else { return None };
        let ([client_finished], [server_finished]) =
            (&self.finish.encrypted[..], &self.finished.encrypted[..])
        else {
            return None;
        };
        let clear = |bytes: usize| Need::default().and_hashed(hash, bytes);
        let first = |name, need| Message { name, lap: Lap::Hello, need, opens: false };
        let second = |name, need| Message { name, lap: Lap::Finish, need, opens: false };
        let mut messages = vec![
            Message { opens: true, ..first("client-hello", clear(hello)) },
            first("server-hello", clear(*server_hello)),
            first("certificate", clear(*certificate)),
        ];
        let exchange = match (self.group, middle) {
            (Some(group), &[server_key_exchange]) => {
                messages.push(first(
                    "server-key-exchange",
                    clear(server_key_exchange)
                        .and(1.0, Primitive::Generate(group))
                        .and(1.0, Primitive::Private(self.private)),
                ));
                Primitive::Agree(group)
            }
            (None, []) => Primitive::Private(self.private),
            _ => return None,
        };
        messages.push(first("server-hello-done", clear(*done)));
        messages.push(Message {
            opens: true,
            ..second(
                "client-key-exchange",
                framing
                    .key(clear(client_key_exchange), 2.0)
                    .and(1.0, exchange)
                    .and(1.0, Primitive::Prf(hash, PRF_LONG))
                    .and(1.0, Primitive::Prf(hash, key_block))
                    .and_hash_ends(hash, if extended { 1.0 } else { 0.0 }),
            )
        });
        // Another length would mean that the MAC was not computed over the encrypted record.
        let body = framing.body(FINISHED_TLS12);
        if [*client_finished, *server_finished] != [body; 2] {
            return None;
        }
        let finished = clear(FINISHED_TLS12)
            .and(1.0, Primitive::Prf(hash, PRF_SHORT))
            .and_hash_ends(hash, 1.0);
        let opened = framing.open(finished.clone(), body)?;
        messages.push(second("client-finished", opened));
        messages.push(second("server-finished", framing.seal(finished, body)?));
        Some(messages)
    }
}

/// The length of a master secret in bytes.
pub(crate) const PRF_LONG: u32 = 48;
/// The length in bytes of the data in a Finished.
pub(crate) const PRF_SHORT: u32 = 12;

#[cfg(test)]
mod tests {

    use tollgate_load::Protocol;
    use tollgate_server::in_memory::Worker;
    use tollgate_server::{Config, Engine, KeyKind};

    use super::*;
    use crate::in_memory::Stage;
    use crate::primitive::HASH_BYTES;
    use crate::wire::Flight;

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
    fn other_flights_are_refused() {
        let of = |suite, group, flights: [Flight; 4]| {
            let [hello, answer, finish, finished] = flights;
            let (framing, hash) = (Framing::of(suite), MacHash::Sha256);
            let private = PrivateOperation::SignPss;
            Flights { framing, hash, private, group, hello, answer, finish, finished }
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
            assert_eq!(flights.tls13(), None);
            assert_eq!(flights.tls12(PRF_LONG, true), None);
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
