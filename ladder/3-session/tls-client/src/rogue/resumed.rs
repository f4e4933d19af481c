//! Resumed sessions, and servers that only pretend to resume.

use super::*;
use crate::connection::Confirmation;
use crate::error::{Found, Misuse};
use crate::hash::Secret;
use crate::saved::{Name, SessionKind};
use crate::schedule::Psk;
use crate::session::EarlyData;
use crate::wire::Extension;

fn saved(suite: Suite, name: Name, identity: &[u8]) -> SavedSession {
    SavedSession {
        of: Some((suite, name)),
        identity: identity.to_vec(),
        secret: Secret::new(&[0xAB; 48][..if suite.is_tls13() { 32 } else { 48 }]),
        extended_master_secret: true,
        lifetime_s: 100,
        age_add: u32::MAX,
        early_data_bytes_max: if suite.is_tls13() { 100 } else { 0 },
    }
}

fn settings(suite: Suite) -> Settings {
    Settings { save_sessions: true, ..quiet(suite) }
}

/// Echoes the session ID, and derives the keys from the master secret.
fn repeat(rogue: &mut Rogue, extensions: &[u8]) -> (Master, RecordKey, RecordKey) {
    let body = server_hello(&SERVER_RANDOM, rogue.session_id(), ECDHE.number(), extensions);
    rogue.say(Message::SERVER_HELLO, &body);
    let master = Master::saved(ECDHE.hash(), &[0xAB; 48]);
    let (client, server) = master.record_keys(ECDHE, [rogue.random(), &SERVER_RANDOM], false);
    (master, client, server)
}

fn both() -> [SavedSession; 2] {
    [saved(ECDHE, Name::SessionId, &[7; 20]), saved(ECDHE, Name::Ticket, &[8; 200])]
}

#[test]
fn a_server_with_the_master_secret_resumes_and_a_response_confirms_it() {
    for session in both() {
        let mut rogue = Rogue::offered(settings(ECDHE), &session, b"");
        let (master, mut client, server) = repeat(&mut rogue, &extension(23, &[]));
        rogue.finish_tls12(&master, server);
        assert_eq!(rogue.deliver().unwrap(), ["Established"]);
        let facts = *rogue.client.facts();
        assert_eq!((facts.offered, facts.resumed), (session.kind(), true));
        assert_eq!((rogue.client.confirmation(), rogue.client.key()), (None, None));
        // the client's Finished is the last message, and covers all previous messages
        let mut flight = rogue.take();
        assert_eq!(flight[..6], [20, 3, 3, 0, 1, 1]);
        let (_, range) = client.open(&mut flight[6..]).unwrap();
        let expected = master.verify_data(Side::Client, rogue.transcript.hash().as_ref());
        assert_eq!(flight[6..][range], whole(Message::FINISHED, &expected));
        rogue.record(Content::APPLICATION_DATA, b"unasked");
        rogue.deliver().unwrap();
        assert_eq!(rogue.client.confirmation(), None);
        rogue.client.send(b"request").unwrap();
        rogue.take();
        rogue.record(Content::APPLICATION_DATA, b"response");
        rogue.deliver().unwrap();
        assert_eq!(rogue.client.confirmation(), Some(Confirmation::Response));
        assert!(!rogue.client.save(&mut SavedSession::default()), "the old one serves on");
    }
}

#[test]
fn a_renewed_ticket_keeps_the_secret() {
    let session = saved(ECDHE, Name::Ticket, &[8; 200]);
    let mut rogue = Rogue::offered(settings(ECDHE), &session, b"");
    let extensions = [extension(23, &[]), extension(35, &[])].concat();
    let (master, _, server) = repeat(&mut rogue, &extensions);
    let ticket = [&[0, 0, 1, 0][..], &vector(2, b"the next one")].concat();
    rogue.say(Message::NEW_SESSION_TICKET, &ticket);
    rogue.finish_tls12(&master, server);
    rogue.deliver().unwrap();
    let mut next = SavedSession::default();
    assert!(rogue.client.save(&mut next) && !rogue.client.save(&mut SavedSession::default()));
    assert_eq!(next.identity, b"the next one");
    assert_eq!((&*next.secret, next.lifetime_s), (&[0xAB; 48][..], 256));
    assert!(next.extended_master_secret);
}

#[test]
fn a_server_without_the_secret_cannot_resume() {
    for session in both() {
        let mut rogue = Rogue::offered(settings(ECDHE), &session, b"");
        repeat(&mut rogue, &extension(23, &[]));
        let other = Master::saved(ECDHE.hash(), &[0xCD; 48]);
        let (_, key) = other.record_keys(ECDHE, [rogue.random(), &SERVER_RANDOM], false);
        rogue.finish_tls12(&other, key);
        assert_eq!(rogue.refused(), (SessionPhase::Finished, Violation::BadRecordMac));
        assert!(!rogue.client.is_established());

        let mut rogue = Rogue::offered(settings(ECDHE), &session, b"");
        let (_, _, server) = repeat(&mut rogue, &extension(23, &[]));
        rogue.record(Content::CHANGE_CIPHER_SPEC, &[1]);
        rogue.sealing = Some(server);
        rogue.say(Message::FINISHED, &[0; 12]);
        assert_eq!(rogue.refused(), (SessionPhase::Finished, Violation::BadFinished));

        let mut rogue = Rogue::offered(settings(ECDHE), &session, b"");
        repeat(&mut rogue, &[]);
        assert_eq!(rogue.refused().1, Violation::ExtendedMasterSecret);
    }
}

#[test]
fn another_session_id_starts_a_full_handshake() {
    for session in both() {
        for id in [&[][..], &[9; 32]] {
            let mut rogue = Rogue::offered(settings(ECDHE), &session, b"");
            let body = server_hello(&SERVER_RANDOM, id, ECDHE.number(), &extension(23, &[]));
            rogue.say(Message::SERVER_HELLO, &body);
            rogue.record(Content::CHANGE_CIPHER_SPEC, &[1]);
            let (phase, violation) = rogue.refused();
            assert_eq!(phase, SessionPhase::KeyExchange);
            let found = Found::Record(Content::CHANGE_CIPHER_SPEC);
            assert_eq!(violation, Violation::UnexpectedMessage { expected: "certificate", found });
            assert!(rogue.client.facts().offered.is_some() && !rogue.client.facts().resumed);
        }
    }
}

/// Sends the `ServerHello` of a server that accepts the pre-shared key. Returns its secrets.
fn take_psk(rogue: &mut Rogue, index: u16, with_share: bool) -> Handshake {
    let pair = KeyPair::generate(Group::X25519).unwrap();
    let mut extensions = [version(), extension(41, &index.to_be_bytes())].concat();
    if with_share {
        extensions.extend(share(&pair));
    }
    let early = Psk::new(Hash::Sha256, &[0xAB; 32]).early();
    rogue.hello_tls13(&early, &pair, &extensions)
}

/// Performs this many steps of a resumed session, with early data in TLS 1.3. The session is
/// established from the third step on.
pub(super) fn advanced(tls13: bool, steps: usize) -> Rogue {
    let mut rogue = if tls13 {
        Rogue::offered(settings(TLS13), &ticket(), b"early")
    } else {
        Rogue::offered(settings(ECDHE), &saved(ECDHE, Name::Ticket, &[8; 200]), b"")
    };
    if steps > 0 && tls13 {
        let secrets = take_psk(&mut rogue, 0, true);
        if steps > 1 {
            rogue.say(Message::ENCRYPTED_EXTENSIONS, &vector(2, &extension(42, &[])));
        }
        if steps > 2 {
            rogue.finish_tls13(&secrets);
        }
    } else if steps > 0 {
        let (master, _, server) = repeat(&mut rogue, &extension(23, &[]));
        if steps > 2 {
            rogue.finish_tls12(&master, server);
        } else if steps > 1 {
            rogue.record(Content::CHANGE_CIPHER_SPEC, &[1]);
            rogue.sealing = Some(server);
        }
    }
    rogue.deliver().unwrap();
    assert_eq!(rogue.client.is_established(), steps > 2);
    rogue
}

fn ticket() -> SavedSession {
    saved(TLS13, Name::Ticket, &[8; 200])
}

#[test]
fn a_pre_shared_key_replaces_the_certificate() {
    let mut rogue = Rogue::offered(settings(TLS13), &ticket(), b"");
    // the identity, and its obfuscated age: the age minus 1, modulo 2^32
    let age = [&[8; 200][..], &1233_u32.to_be_bytes()].concat();
    assert!(rogue.hello.windows(age.len()).any(|bytes| bytes == age));
    let mode = extension(45, &[1, 1]);
    assert!(rogue.hello.windows(mode.len()).any(|bytes| bytes == mode));
    let secrets = take_psk(&mut rogue, 0, true);
    rogue.say(Message::ENCRYPTED_EXTENSIONS, &[0, 0]);
    rogue.finish_tls13(&secrets);
    assert_eq!(rogue.deliver().unwrap(), ["Established"]);
    let facts = rogue.client.facts();
    assert_eq!((facts.offered, facts.resumed), (Some(SessionKind::Psk), true));
    assert_eq!(facts.group, Some(Group::X25519));
    assert_eq!((facts.signature, rogue.client.confirmation()), (None, None));
}

#[test]
fn early_data_ends_before_the_finished() {
    let mut rogue = Rogue::offered(settings(TLS13), &ticket(), b"early");
    let psk = Psk::new(Hash::Sha256, &[0xAB; 32]);
    let mut key = psk.early_data(rogue.transcript.hash().as_ref()).record_key(TLS13);
    let mut early = rogue.early.clone();
    assert_eq!(early[..6], [20, 3, 3, 0, 1, 1]);
    let (content, range) = key.open(&mut early[6..]).unwrap();
    assert_eq!((content, &early[6..][range]), (Content::APPLICATION_DATA, &b"early"[..]));
    let secrets = take_psk(&mut rogue, 0, true);
    rogue.say(Message::ENCRYPTED_EXTENSIONS, &vector(2, &extension(42, &[])));
    rogue.finish_tls13(&secrets);
    assert_eq!(rogue.deliver().unwrap(), ["Established"]);
    assert_eq!(rogue.client.facts().early_data, EarlyData::Accepted);
    let mut flight = rogue.take();
    let length = HEADER + usize::from(u16::from_be_bytes([flight[3], flight[4]]));
    let (_, range) = key.open(&mut flight[..length]).unwrap();
    let end = whole(Message::END_OF_EARLY_DATA, &[]);
    assert_eq!(flight[range], end);
    rogue.transcript.add(&end);
    let expected = secrets.client.verify_data(rogue.transcript.hash().as_ref());
    let finished = &mut flight[length..];
    let (_, range) = secrets.client.record_key(TLS13).open(finished).unwrap();
    assert_eq!(finished[range], whole(Message::FINISHED, expected.as_ref()));
    rogue.record(Content::APPLICATION_DATA, b"response");
    rogue.deliver().unwrap();
    assert_eq!(rogue.client.confirmation(), Some(Confirmation::EarlyResponse));
}

#[test]
fn refused_early_data_confirms_nothing() {
    let mut rogue = Rogue::offered(settings(TLS13), &ticket(), b"early");
    let secrets = take_psk(&mut rogue, 0, true);
    rogue.say(Message::ENCRYPTED_EXTENSIONS, &[0, 0]);
    rogue.finish_tls13(&secrets);
    assert_eq!(rogue.deliver().unwrap(), ["Established"]);
    assert_eq!(rogue.client.facts().early_data, EarlyData::Refused);
    let mut finished = rogue.take();
    secrets.client.record_key(TLS13).open(&mut finished).unwrap();
    rogue.record(Content::APPLICATION_DATA, b"of its own accord");
    rogue.deliver().unwrap();
    assert_eq!(rogue.client.confirmation(), None);
}

#[test]
fn servers_that_accept_unoffered_parameters_are_refused() {
    let mut rogue = Rogue::offered(settings(TLS13), &ticket(), b"");
    take_psk(&mut rogue, 1, true);
    assert_eq!(rogue.refused(), (SessionPhase::Hello, illegal("pre_shared_key")));
    // a key agreement is missing
    let mut rogue = Rogue::offered(settings(TLS13), &ticket(), b"");
    take_psk(&mut rogue, 0, false);
    assert_eq!(rogue.refused().1, illegal("key_share"));
    let mut rogue = Rogue::quiet(TLS13);
    take_psk(&mut rogue, 0, true);
    let extension_ = Extension::PRE_SHARED_KEY;
    assert_eq!(rogue.refused().1, Violation::ExtensionUnexpected { extension: extension_ });
    // a suite with another hash function
    let mut rogue = Rogue::offered(settings(TLS13), &ticket(), b"");
    let extensions = [version(), extension(41, &[0, 0])].concat();
    let body = server_hello(&[7; 32], rogue.session_id(), 0x1302, &extensions);
    rogue.say(Message::SERVER_HELLO, &body);
    assert_eq!(rogue.refused().1, Violation::CipherSuite { found: 0x1302 });
    // early data that was never sent
    let mut rogue = Rogue::offered(settings(TLS13), &ticket(), b"");
    take_psk(&mut rogue, 0, true);
    rogue.say(Message::ENCRYPTED_EXTENSIONS, &vector(2, &extension(42, &[])));
    let found = Violation::ExtensionUnexpected { extension: Extension::EARLY_DATA };
    assert_eq!(rogue.refused().1, found);
    // a certificate in addition to the pre-shared key
    let mut rogue = Rogue::offered(settings(TLS13), &ticket(), b"");
    take_psk(&mut rogue, 0, true);
    rogue.say(Message::ENCRYPTED_EXTENSIONS, &[0, 0]);
    rogue.say(Message::CERTIFICATE, &[0, 0, 0, 0]);
    let found = Found::Handshake(Message::CERTIFICATE);
    let unexpected = Violation::UnexpectedMessage { expected: "finished", found };
    assert_eq!(rogue.refused().1, unexpected);
}

#[test]
fn a_server_without_the_pre_shared_key_cannot_resume() {
    let mut session = ticket();
    session.secret = Secret::new(&[0xCD; 32]);
    let mut rogue = Rogue::offered(settings(TLS13), &session, b"");
    take_psk(&mut rogue, 0, true);
    rogue.say(Message::ENCRYPTED_EXTENSIONS, &[0, 0]);
    assert_eq!(rogue.refused(), (SessionPhase::KeyExchange, Violation::BadRecordMac));
}

#[test]
fn unsuitable_sessions_are_misuse_and_harmless() {
    let mut client = Rogue::new(settings(TLS13)).client;
    let mut misuse = |session: &SavedSession, early_data: &[u8]| {
        client.resume(&Resume { session, age: Duration::ZERO, early_data }).unwrap_err()
    };
    assert_eq!(misuse(&SavedSession::default(), b""), Misuse::SessionUnfit.into());
    let [by_id, by_ticket] = both();
    assert_eq!(misuse(&by_id, b""), Misuse::SessionUnfit.into());
    assert_eq!(misuse(&by_ticket, b""), Misuse::SessionUnfit.into());
    assert_eq!(misuse(&ticket(), &[0; 101]), Misuse::EarlyData.into());
    let mut client = Rogue::new(settings(ECDHE)).client;
    let resume = Resume { session: &by_id, age: Duration::ZERO, early_data: b"early" };
    assert_eq!(client.resume(&resume), Err(Misuse::EarlyData.into()));
    client.resume(&Resume { early_data: b"", ..resume }).unwrap();
    client.reset().unwrap();
    assert_eq!(client.facts().offered, None);
}

#[test]
fn debug_output_has_no_secret_and_no_ticket() {
    for session in both().into_iter().chain([ticket()]) {
        let text = format!("{session:?}");
        for secret in ["171", "7, 7", "8, 8"] {
            assert!(!text.contains(secret), "{text}");
        }
    }
}
