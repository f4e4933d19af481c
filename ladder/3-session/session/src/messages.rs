//! Counts the primitives that each message of a handshake needs, and those that the data after the
//! handshake needs.
//!
//! Counts follow the protocols, RFC 5246 and RFC 8446; lengths come from a recorded session.
//!
//! TLS 1.2, per session:
//!
//! * the PRF for the master secret (48 bytes), the key block (40 bytes, counted as 48) and both
//!   Finished messages (12 bytes each);
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

use tollgate_load::Protocol;

use crate::in_memory::Recorded;
use crate::need::Need;
use crate::pipe::Lap;
use crate::primitive::{Group, Primitive, PrivateOperation};
use crate::wire::Flight;

/// The number of bytes that AES-128-GCM adds to a record of TLS 1.2, RFC 5288 §3.
const ADDED_TLS12: usize = 24;
/// The number of bytes that AES-128-GCM and the inner content type add to a record of TLS 1.3.
const ADDED_TLS13: usize = 17;

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
    /// Derives the needs of a recorded session; `None` if its flights do not fit its protocol.
    pub(crate) fn of(protocol: Protocol, recorded: &Recorded) -> Option<Self> {
        let tls13 = protocol == Protocol::Tls13;
        let recording = &recorded.recording;
        let read = |bytes: &[u8], keyed| Flight::read(bytes, tls13, keyed);
        let flights = Flights {
            hello: read(&recording.client[Lap::Hello as usize], false)?,
            answer: read(&recording.server[Lap::Hello as usize], false)?,
            finish: read(&recording.client[Lap::Finish as usize], false)?,
            finished: read(&recording.server[Lap::Finish as usize], false)?,
        };
        let messages = if tls13 {
            flights.tls13()?
        } else {
            let group = match protocol {
                Protocol::Tls12X25519 => Some(Group::X25519),
                Protocol::Tls12P256 => Some(Group::P256),
                Protocol::Tls12Rsa | Protocol::Tls13 => None,
            };
            let pss = recorded.facts.signature.is_some_and(|scheme| scheme.name().contains("_pss"));
            flights.tls12(group, pss, recorded.facts.extended_master_secret)?
        };
        let added = if tls13 { ADDED_TLS13 } else { ADDED_TLS12 };
        let mut data = Need::default();
        for _ in read(&recording.client[Lap::Data as usize], true)?.encrypted {
            data = data.and_opened();
        }
        for body in read(&recording.server[Lap::Data as usize], true)?.encrypted {
            data = data.and_sealed(body.checked_sub(added)?);
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

struct Flights {
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
        // Each record has one message.
        let sealed = |body: usize| {
            let bytes = body.checked_sub(ADDED_TLS13)?;
            Some(Need::default().and_hashed(bytes).and_sealed(bytes))
        };
        let first = |name, need| Message { name, lap: Lap::Hello, need, opens: false };
        let group = Group::X25519;
        Some(vec![
            Message { opens: true, ..first("client-hello", Need::default().and_hashed(hello)) },
            first(
                "server-hello",
                Need::default()
                    .and_hashed(server_hello)
                    .and(1.0, Primitive::Generate(group))
                    .and(1.0, Primitive::Agree(group))
                    .and(2.0, Primitive::Extract)
                    .and(9.0, Primitive::Expand)
                    .and_hash_ends(2.0)
                    .and(2.0, Primitive::RecordKey),
            ),
            first("encrypted-extensions", sealed(extensions)?),
            first("certificate", sealed(certificate)?),
            first(
                "certificate-verify",
                sealed(verify)?
                    .and(1.0, Primitive::Rsa(PrivateOperation::SignPss))
                    .and_hash_ends(1.0),
            ),
            first(
                "server-finished",
                sealed(finished)?
                    .and(2.0, Primitive::Extract)
                    .and(6.0, Primitive::Expand)
                    .and_hash_ends(3.0)
                    .and(1.0, Primitive::RecordKey),
            ),
            Message {
                name: "client-finished",
                lap: Lap::Finish,
                need: Need::default()
                    .and_opened()
                    .and_hashed(client_finished.checked_sub(ADDED_TLS13)?)
                    .and(1.0, Primitive::Extract)
                    .and(3.0, Primitive::Expand)
                    .and_hash_ends(1.0)
                    .and(1.0, Primitive::RecordKey),
                opens: true,
            },
        ])
    }

    fn tls12(&self, group: Option<Group>, pss: bool, extended: bool) -> Option<Vec<Message>> {
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
        let clear = |bytes: usize| Need::default().and_hashed(bytes);
        let first = |name, need| Message { name, lap: Lap::Hello, need, opens: false };
        let second = |name, need| Message { name, lap: Lap::Finish, need, opens: false };
        let mut messages = vec![
            Message { opens: true, ..first("client-hello", clear(hello)) },
            first("server-hello", clear(*server_hello)),
            first("certificate", clear(*certificate)),
        ];
        let exchange = match (group, middle) {
            (Some(group), &[server_key_exchange]) => {
                let sign =
                    if pss { PrivateOperation::SignPss } else { PrivateOperation::SignPkcs1 };
                messages.push(first(
                    "server-key-exchange",
                    clear(server_key_exchange)
                        .and(1.0, Primitive::Generate(group))
                        .and(1.0, Primitive::Rsa(sign)),
                ));
                Primitive::Agree(group)
            }
            (None, []) => Primitive::Rsa(PrivateOperation::Decrypt),
            _ => return None,
        };
        messages.push(first("server-hello-done", clear(*done)));
        messages.push(Message {
            opens: true,
            ..second(
                "client-key-exchange",
                clear(client_key_exchange)
                    .and(1.0, exchange)
                    .and(2.0, Primitive::Prf(PRF_LONG))
                    .and_hash_ends(if extended { 1.0 } else { 0.0 })
                    .and(2.0, Primitive::RecordKey),
            )
        });
        let finished = |body: usize| {
            let need = clear(body.checked_sub(ADDED_TLS12)?);
            Some(need.and(1.0, Primitive::Prf(PRF_SHORT)).and_hash_ends(1.0))
        };
        messages.push(second("client-finished", finished(*client_finished)?.and_opened()));
        let sealed = server_finished.checked_sub(ADDED_TLS12)?;
        messages.push(second("server-finished", finished(*server_finished)?.and_sealed(sealed)));
        Some(messages)
    }
}

/// The length of a master secret in bytes.
pub(crate) const PRF_LONG: u32 = 48;
/// The length in bytes of the data in a Finished.
pub(crate) const PRF_SHORT: u32 = 12;

#[cfg(test)]
mod tests {

    use tollgate_server::in_memory::Worker;
    use tollgate_server::{Config, Engine, KeyKind};

    use super::*;
    use crate::in_memory::Stage;
    use crate::plan::Session;
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
            let session = Session { key, protocol, engine: Engine::OpenSsl, bytes: 40_000 };
            let recorded = Stage::new(session, &worker).unwrap().record().unwrap();
            let anatomy = Anatomy::of(protocol, &recorded).unwrap();
            let need = anatomy.need();
            let close = |found: f64, expected: f64| {
                assert!((found - expected).abs() < 1e-9, "{protocol:?}: {found}, not {expected}");
            };
            let tls13 = protocol == Protocol::Tls13;
            close(count(&need, |p| matches!(p, Primitive::Rsa(_))), 1.0);
            let agreements = if protocol == Protocol::Tls12Rsa { 0.0 } else { 1.0 };
            close(count(&need, |p| matches!(p, Primitive::Generate(_))), agreements);
            close(count(&need, |p| matches!(p, Primitive::Agree(_))), agreements);
            close(count(&need, |p| p == Primitive::Extract), if tls13 { 5.0 } else { 0.0 });
            close(count(&need, |p| p == Primitive::Expand), if tls13 { 18.0 } else { 0.0 });
            close(count(&need, |p| matches!(p, Primitive::Prf(_))), if tls13 { 0.0 } else { 4.0 });
            close(count(&need, |p| p == Primitive::RecordKey), if tls13 { 4.0 } else { 2.0 });
            // The counts of both sizes add up to the number of hashes, because a hashed byte only
            // moves a share of the count from the small size to the large size.
            let taken = count(&need, |p| matches!(p, Primitive::Hash(_)));
            let extended = recorded.facts.extended_master_secret;
            assert_eq!(extended, !tls13, "client and server both have it");
            close(taken, if tls13 { 7.0 } else { 3.0 });
            let hashed = count(&need, |p| p == Primitive::Hash(HASH_BYTES[1])) * 1024.0;
            assert!((1000.0..4000.0).contains(&hashed), "{hashed} bytes of messages");
            // Three records carry the head and 40 000 bytes. One more record carries the alert.
            let handshake = if tls13 { 4.0 } else { 1.0 };
            close(count(&need, |p| matches!(p, Primitive::Seal(_))), handshake + 3.0 + 1.0);
            close(count(&need, |p| matches!(p, Primitive::Open(_))), 2.0);
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
    fn other_flights_are_refused() {
        let strange = || Flights {
            hello: Flight::default(),
            answer: Flight::default(),
            finish: Flight::default(),
            finished: Flight::default(),
        };
        assert_eq!(strange().tls13(), None);
        assert_eq!(strange().tls12(None, false, true), None);
        // The flight is shorter than the overhead of encryption.
        let short = Flight { clear: vec![1; 4], encrypted: vec![1; 4] };
        let one = Flight { clear: vec![1], encrypted: vec![1] };
        let flights =
            Flights { hello: one.clone(), answer: short, finish: one.clone(), finished: one };
        assert_eq!(flights.tls13(), None);
        assert_eq!(flights.tls12(Some(Group::X25519), true, true), None);
    }
}
