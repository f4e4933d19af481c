//! Full handshakes of TLS 1.3: correct ones, and ones in which the server violates the protocol.

use super::*;
use crate::connection::Confirmation;
use crate::error::Found;
use crate::wire::{AlertDescription, AlertLevel};

/// Returns the random bytes of a `HelloRetryRequest` (RFC 8446 §4.1.3).
fn retry_random() -> Vec<u8> {
    let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, b"HelloRetryRequest");
    hash.as_ref().to_vec()
}

fn hello_body(rogue: &Rogue, random: &[u8], extensions: &[u8]) -> Vec<u8> {
    server_hello(random, rogue.session_id(), TLS13.number(), extensions)
}

/// Sends a `ServerHello` and changes keys. The client's share ends its hello.
fn say_hello(rogue: &mut Rogue) -> Handshake {
    let pair = KeyPair::generate(Group::X25519).unwrap();
    let body = hello_body(rogue, &[7; 32], &[version(), share(&pair)].concat());
    rogue.say(Message::SERVER_HELLO, &body);
    let transcript = rogue.transcript.hash();
    let make = |shared: &[u8]| Early::new(Hash::Sha256).handshake(shared, transcript.as_ref());
    let secrets = pair.agree(rogue.hello.last_chunk::<32>().unwrap(), make).unwrap();
    rogue.sealing = Some(secrets.server.record_key(TLS13));
    secrets
}

/// Returns a client that received a `ServerHello`.
fn greeted(settings: Settings) -> (Rogue, Handshake) {
    let mut rogue = Rogue::new(settings);
    let secrets = say_hello(&mut rogue);
    (rogue, secrets)
}

fn show_certificate(rogue: &mut Rogue) {
    rogue.say(Message::ENCRYPTED_EXTENSIONS, &[0, 0]);
    let entry = [vector(3, &certificate(RSA_2048).0), vec![0, 0]].concat();
    rogue.say(Message::CERTIFICATE, &[vec![0], vector(3, &entry)].concat());
}

fn certify(rogue: &mut Rogue) {
    show_certificate(rogue);
    let signature = [&[8, 4][..], &vector(2, b"no signature")].concat();
    rogue.say(Message::CERTIFICATE_VERIFY, &signature);
}

/// Returns the client's records after its `change_cipher_spec`, decrypted.
fn open_flight(rogue: &mut Rogue, key: &mut RecordKey) -> Vec<Vec<u8>> {
    let mut flight = rogue.take();
    if flight.first() == Some(&Content::CHANGE_CIPHER_SPEC.0) {
        flight.drain(..6);
    }
    let mut opened = vec![];
    while !flight.is_empty() {
        let length = HEADER + usize::from(u16::from_be_bytes([flight[3], flight[4]]));
        let mut record: Vec<u8> = flight.drain(..length).collect();
        let (_, range) = key.open(&mut record).unwrap();
        opened.push(record[range].to_vec());
    }
    opened
}

fn established() -> (Rogue, (Traffic, Traffic)) {
    let (mut rogue, secrets) = greeted(quiet(TLS13));
    certify(&mut rogue);
    let application = rogue.finish_tls13(&secrets);
    assert_eq!(rogue.deliver().unwrap(), ["Established"]);
    let transcript = rogue.transcript.hash();
    let finished = open_flight(&mut rogue, &mut secrets.client.record_key(TLS13));
    let expected =
        whole(Message::FINISHED, secrets.client.verify_data(transcript.as_ref()).as_ref());
    assert_eq!(finished, [expected]);
    (rogue, application)
}

/// Performs this many steps of a handshake. The session is established from the third step on.
pub(super) fn advanced(steps: usize) -> Rogue {
    if steps > 2 {
        return established().0;
    }
    let mut rogue = Rogue::quiet(TLS13);
    if steps > 0 {
        say_hello(&mut rogue);
    }
    if steps > 1 {
        certify(&mut rogue);
    }
    rogue.deliver().unwrap();
    rogue
}

#[test]
fn a_wrong_finished_is_detected_under_the_right_keys() {
    for bad in [&[0; 32][..], &[], &[0; 33]] {
        let (mut rogue, secrets) = greeted(quiet(TLS13));
        certify(&mut rogue);
        rogue.say(Message::FINISHED, bad);
        assert_eq!(rogue.refused(), (SessionPhase::Finished, Violation::BadFinished));
        assert!(!rogue.client.is_established());
        let alert = open_flight(&mut rogue, &mut secrets.client.record_key(TLS13));
        assert_eq!(alert, [[AlertLevel::FATAL.0, AlertDescription::DECRYPT_ERROR.0]]);
    }
}

/// RFC 8446 §5: alerts are protected as soon as there are keys.
#[test]
fn a_wrong_signature_is_answered_with_a_protected_alert() {
    let (mut rogue, secrets) = greeted(Settings::new(TLS13));
    certify(&mut rogue);
    assert_eq!(rogue.refused(), (SessionPhase::KeyExchange, Violation::BadSignature));
    let alert = open_flight(&mut rogue, &mut secrets.client.record_key(TLS13));
    assert_eq!(alert, [[AlertLevel::FATAL.0, AlertDescription::DECRYPT_ERROR.0]]);
}

#[test]
fn certificate_requests_have_no_context_in_a_handshake() {
    for (context, passes) in [(&[][..], true), (&[7], false)] {
        let (mut rogue, _) = greeted(quiet(TLS13));
        rogue.say(Message::ENCRYPTED_EXTENSIONS, &[0, 0]);
        rogue.say(Message::CERTIFICATE_REQUEST, &[vector(1, context), vector(2, &[])].concat());
        if passes {
            rogue.deliver().unwrap();
        } else {
            let (message, field) = (Message::CERTIFICATE_REQUEST, "certificate_request_context");
            assert_eq!(rogue.refused().1, Violation::IllegalParameter { message, field });
        }
    }
}

#[test]
fn debug_output_has_no_secrets_and_no_data() {
    let (mut rogue, (client, server)) = established();
    rogue.record(Content::APPLICATION_DATA, &[201, 202, 203]);
    rogue.deliver().unwrap();
    assert!(!format!("{:?}", rogue.client).contains("201, 202"));
    let text = format!("{:?} {:?}", rogue.client, rogue.client.config());
    for traffic in [client, server] {
        let secret = format!("{:?}", &*traffic.secret);
        assert!(text.contains("TLS_") && !text.contains(&secret[1..secret.len() - 1]), "{text}");
    }
}

#[test]
fn pkcs1_signatures_are_refused_in_tls13() {
    let (mut rogue, _) = greeted(quiet(TLS13));
    show_certificate(&mut rogue);
    rogue.say(Message::CERTIFICATE_VERIFY, &[4, 1, 0, 1, 0]);
    assert_eq!(rogue.refused().1, Violation::SignatureScheme { found: 0x0401 });
}

#[test]
fn a_cookie_is_returned_and_a_second_retry_refused() {
    let retry = |rogue: &Rogue, extensions: &[u8]| hello_body(rogue, &retry_random(), extensions);
    let cookie = extension(44, &vector(2, b"a cookie"));
    let mut rogue = Rogue::quiet(TLS13);
    let body = retry(&rogue, &[version(), cookie.clone()].concat());
    rogue.transcript.retry();
    rogue.say(Message::SERVER_HELLO, &body);
    assert_eq!(rogue.deliver().unwrap(), Vec::<String>::new());
    let again = rogue.take();
    assert_eq!(again[..6], [20, 3, 3, 0, 1, 1]);
    let second = &again[6 + HEADER..];
    assert!(second.windows(cookie.len()).any(|bytes| bytes == cookie));
    assert_eq!(second[6..71], rogue.hello[6..71], "random and session ID stay");
    assert_eq!(second[second.len() - 32..], rogue.hello[rogue.hello.len() - 32..]);
    rogue.transcript.add(second);
    rogue.hello = second.to_vec();
    let secrets = say_hello(&mut rogue);
    certify(&mut rogue);
    rogue.finish_tls13(&secrets);
    assert_eq!(rogue.deliver().unwrap(), ["Established"]);
    assert!(rogue.client.facts().hello_retry);

    let mut rogue = Rogue::quiet(TLS13);
    let body = retry(&rogue, &[version(), cookie].concat());
    rogue.say(Message::SERVER_HELLO, &body);
    rogue.say(Message::SERVER_HELLO, &body);
    // a second retry in the same flight
    assert_eq!(rogue.refused(), (SessionPhase::Hello, Violation::RetryTwice));

    let group = |number: u16| extension(51, &number.to_be_bytes());
    for (extensions, violation, text) in [
        (group(24), Violation::Group { found: 24 }, "group 24, which"),
        (group(999), Violation::Group { found: 999 }, "group 999, which"),
        (group(Group::X25519.number()), Violation::RetryVain, "HelloRetryRequest changes nothing"),
        (vec![], Violation::RetryVain, "HelloRetryRequest changes nothing"),
    ] {
        let mut rogue = Rogue::quiet(TLS13);
        let body = retry(&rogue, &[version(), extensions].concat());
        rogue.say(Message::SERVER_HELLO, &body);
        let (phase, found) = rogue.refused();
        assert_eq!((phase, found), (SessionPhase::Hello, violation));
        assert!(found.to_string().contains(text), "{found}");
    }
    // the second of two shares
    let groups = vec![Group::X25519MlKem768, Group::X25519];
    let mut rogue = Rogue::new(Settings { groups, ..Settings::new(TLS13) });
    let body = retry(&rogue, &[version(), group(Group::X25519.number())].concat());
    rogue.say(Message::SERVER_HELLO, &body);
    assert_eq!(rogue.refused(), (SessionPhase::Hello, Violation::RetryVain));
}

#[test]
fn the_length_of_a_cookie_is_limited() {
    let server_name = Some(vec!["a".repeat(63); 3].join("."));
    for (length, fits) in [(32 << 10, true), ((32 << 10) + 1, false), (65_500, false)] {
        let settings = Settings { server_name: server_name.clone(), ..Settings::new(TLS13) };
        let mut rogue = Rogue::new(settings);
        let cookie = extension(44, &vector(2, &vec![7; length]));
        let body = hello_body(&rogue, &retry_random(), &[version(), cookie].concat());
        rogue.say(Message::SERVER_HELLO, &body);
        if fits {
            rogue.deliver().unwrap();
            assert!(rogue.take().len() > length);
        } else {
            assert!(matches!(rogue.refused().1, Violation::MessageTooLong { .. }));
        }
    }
}

#[test]
fn keys_change_between_messages() {
    let mut rogue = Rogue::quiet(TLS13);
    let pair = KeyPair::generate(Group::X25519).unwrap();
    let body = hello_body(&rogue, &[7; 32], &[version(), share(&pair)].concat());
    let mut bytes = whole(Message::SERVER_HELLO, &body);
    bytes.push(Message::ENCRYPTED_EXTENSIONS.0);
    rogue.record(Content::HANDSHAKE, &bytes);
    assert_eq!(rogue.refused(), (SessionPhase::Hello, Violation::Interleaved));
}

#[test]
fn messages_after_the_server_hello_must_be_encrypted() {
    let (mut rogue, _) = established();
    rogue.sealing = None;
    rogue.record(Content::ALERT, &[1, 0]);
    let content = Content::ALERT;
    assert_eq!(rogue.refused(), (SessionPhase::Confirm, Violation::Unprotected { content }));
}

#[test]
fn change_cipher_spec_is_ignored_only_until_finished() {
    let mut rogue = Rogue::quiet(TLS13);
    rogue.record(Content::CHANGE_CIPHER_SPEC, &[1]);
    let secrets = say_hello(&mut rogue);
    let plain = [20, 3, 3, 0, 1, 1];
    rogue.out.extend(plain);
    certify(&mut rogue);
    rogue.out.extend(plain);
    rogue.finish_tls13(&secrets);
    assert_eq!(rogue.deliver().unwrap(), ["Established"]);
    rogue.out.extend(plain);
    let (phase, violation) = rogue.refused();
    assert_eq!(phase, SessionPhase::Confirm);
    let found = Found::Record(Content::CHANGE_CIPHER_SPEC);
    assert!(matches!(violation, Violation::UnexpectedMessage { found: f, .. } if f == found));

    let mut rogue = Rogue::quiet(TLS13);
    rogue.record(Content::CHANGE_CIPHER_SPEC, &[2]);
    assert!(matches!(rogue.refused().1, Violation::UnexpectedMessage { .. }));
}

/// RFC 8446 §4.6.1: some servers send tickets with their Finished, before they receive the client's
/// Finished.
#[test]
fn tickets_before_the_clients_finished_are_counted_and_confirm_nothing() {
    let (mut rogue, secrets) = greeted(quiet(TLS13));
    certify(&mut rogue);
    rogue.finish_tls13(&secrets);
    let ticket = [vec![0; 8], vector(1, &[1]), vector(2, b"a ticket"), vec![0, 0]].concat();
    rogue.say(Message::NEW_SESSION_TICKET, &ticket);
    rogue.say(Message::NEW_SESSION_TICKET, &ticket);
    rogue.record(Content::APPLICATION_DATA, b"before any request");
    assert_eq!(rogue.deliver().unwrap().len(), 2);
    assert_eq!(rogue.client.facts().tickets, 2);
    assert_eq!(rogue.client.confirmation(), None);
    rogue.client.send(b"request").unwrap();
    rogue.record(Content::APPLICATION_DATA, b"not sent yet");
    rogue.deliver().unwrap();
    assert_eq!(rogue.client.confirmation(), None);
    rogue.take();
    rogue.record(Content::APPLICATION_DATA, b"");
    rogue.deliver().unwrap();
    assert_eq!(rogue.client.confirmation(), None, "an empty record answers nothing");
    rogue.record(Content::APPLICATION_DATA, b"response");
    rogue.deliver().unwrap();
    assert_eq!(rogue.client.confirmation(), Some(Confirmation::Response));

    rogue.say(Message::NEW_SESSION_TICKET, &ticket[..ticket.len() - 1]);
    assert!(matches!(rogue.refused(), (SessionPhase::Data, Violation::Decode { .. })));
}

#[test]
fn pending_key_updates_get_one_answer() {
    let (mut rogue, (mut client, mut server)) = established();
    for request in [1, 1, 0, 1] {
        rogue.say(Message::KEY_UPDATE, &[request]);
        server = server.next();
        rogue.sealing = Some(server.record_key(TLS13));
    }
    rogue.record(Content::APPLICATION_DATA, b"data");
    assert_eq!(rogue.deliver().unwrap().len(), 1);
    let answer = open_flight(&mut rogue, &mut client.record_key(TLS13));
    assert_eq!(answer, [whole(Message::KEY_UPDATE, &[0])]);
    client = client.next();
    rogue.client.send(b"request").unwrap();
    assert_eq!(open_flight(&mut rogue, &mut client.record_key(TLS13)), [b"request"]);
    rogue.say(Message::KEY_UPDATE, &[2]);
    assert!(matches!(rogue.refused().1, Violation::IllegalParameter { .. }));
}

#[test]
fn alerts_of_any_level_are_fatal() {
    let (mut rogue, _) = established();
    rogue.record(Content::ALERT, &[1, AlertDescription::USER_CANCELED.0]);
    assert_eq!(rogue.deliver().unwrap(), Vec::<String>::new());
    rogue.record(Content::ALERT, &[1, AlertDescription::ACCESS_DENIED.0]);
    let (level, description) = (AlertLevel::WARNING, AlertDescription::ACCESS_DENIED);
    let expected = Error::Alert { phase: SessionPhase::Confirm, level, description };
    assert_eq!(rogue.deliver().unwrap_err(), expected);
}

#[test]
fn data_after_close_notify_is_ignored() {
    let (mut rogue, _) = established();
    rogue.record(Content::ALERT, &[1, 0]);
    rogue.out.extend(b"anything");
    assert_eq!(rogue.deliver().unwrap(), ["Closed"]);
    rogue.out.extend([0; 40_000]);
    assert_eq!(rogue.deliver().unwrap(), Vec::<String>::new());
    rogue.client.send(b"half of the way is open").unwrap();
    assert_eq!(rogue.client.end_of_stream(), Ok(()));
}

#[test]
fn invalid_hellos_are_named() {
    let refusal = |extensions: Vec<Vec<u8>>, change: fn(&mut Vec<u8>)| {
        let mut rogue = Rogue::quiet(TLS13);
        let mut body = hello_body(&rogue, &[7; 32], &extensions.concat());
        change(&mut body);
        rogue.say(Message::SERVER_HELLO, &body);
        rogue.refused().1
    };
    let pair = KeyPair::generate(Group::X25519).unwrap();
    let good = || vec![version(), share(&pair)];
    assert_eq!(refusal(good(), |b| b[35] ^= 1), illegal("legacy_session_id_echo"));
    assert_eq!(refusal(good(), |b| b[69] = 1), illegal("compression_method"));
    assert_eq!(refusal(vec![version()], |_| ()), illegal("key_share"));
    let old = Violation::Version { found: 0x0303 };
    assert_eq!(refusal(vec![share(&pair)], |_| ()), old);
    let p256 = KeyPair::generate(Group::P256).unwrap();
    let group = Violation::Group { found: 23 };
    assert_eq!(refusal(vec![version(), share(&p256)], |_| ()), group);
    let zero = extension(51, &[&[0, 29][..], &vector(2, &[0; 32])].concat());
    assert_eq!(refusal(vec![version(), zero], |_| ()), Violation::KeyShare);
    assert!(matches!(refusal(good(), |b| b.truncate(80)), Violation::Decode { .. }));
}
