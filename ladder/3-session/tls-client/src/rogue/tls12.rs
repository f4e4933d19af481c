//! Full handshakes of TLS 1.2: correct ones, and ones in which the server violates the protocol.

use super::*;
use crate::error::Found;
use crate::wire::{AlertDescription, AlertLevel, Extension};

/// Sends a `ServerHello` for this suite; `extensions` are already encoded.
fn hello(rogue: &mut Rogue, suite: Suite, extensions: &[u8]) {
    let body = server_hello(&SERVER_RANDOM, &[], suite.number(), extensions);
    rogue.say(Message::SERVER_HELLO, &body);
}

fn show_certificate(rogue: &mut Rogue, pem: &str) {
    let list = vector(3, &certificate(pem).0);
    rogue.say(Message::CERTIFICATE, &vector(3, &list));
}

fn key_exchange(rogue: &mut Rogue, pair: &KeyPair) {
    let group = pair.group.number().to_be_bytes();
    let signature = [&[8, 4][..], &vector(2, b"no signature")].concat();
    let body = [&[3], &group[..], &vector(1, &pair.public), &signature].concat();
    rogue.say(Message::SERVER_KEY_EXCHANGE, &body);
}

/// Performs a handshake up to the client's Finished, and checks that the Finished decrypts. Returns
/// the master secret and the server's key.
fn up_to_finished(rogue: &mut Rogue, suite: Suite, extended: bool) -> (Master, RecordKey) {
    let extensions = if extended { extension(23, &[]) } else { vec![] };
    hello(rogue, suite, &extensions);
    show_certificate(rogue, RSA_2048);
    let pair = KeyPair::generate(Group::X25519).unwrap();
    if suite.has_group() {
        key_exchange(rogue, &pair);
    }
    rogue.say(Message::SERVER_HELLO_DONE, &[]);
    assert_eq!(rogue.deliver().unwrap(), Vec::<String>::new());
    answer(rogue, suite, &pair, extended)
}

fn answer(rogue: &mut Rogue, suite: Suite, pair: &KeyPair, extended: bool) -> (Master, RecordKey) {
    let flight = rogue.take();
    let length = usize::from(u16::from_be_bytes([flight[3], flight[4]]));
    let exchange = &flight[HEADER..HEADER + length];
    assert_eq!(exchange[0], Message::CLIENT_KEY_EXCHANGE.0);
    rogue.transcript.add(exchange);
    let premaster = match suite.exchange() {
        KeyExchange::Rsa => {
            let key = PrivateDecryptingKey::from_pkcs8(&certificate(RSA_2048).1).unwrap();
            let key = Pkcs1PrivateDecryptingKey::new(key).unwrap();
            key.decrypt(&exchange[6..], &mut [0; 256]).unwrap().to_vec()
        }
        _ => pair.agree(&exchange[5..], <[u8]>::to_vec).unwrap(),
    };
    let premaster = suite.hash().hmac_key(&premaster);
    let master = if extended {
        Master::extended(suite.hash(), &premaster, rogue.transcript.hash().as_ref())
    } else {
        Master::new(suite.hash(), &premaster, [rogue.random(), &SERVER_RANDOM])
    };
    let (mut client, server) = master.record_keys(suite, [rogue.random(), &SERVER_RANDOM], false);
    let mut finished = flight[HEADER + length + 6..].to_vec(); // after the change_cipher_spec
    let (content, range) = client.open(&mut finished).unwrap();
    assert_eq!(content, Content::HANDSHAKE);
    let expected = master.verify_data(Side::Client, rogue.transcript.hash().as_ref());
    assert_eq!(finished[range.clone()], whole(Message::FINISHED, &expected));
    rogue.transcript.add(&finished[range]);
    (master, server)
}

fn established(suite: Suite) -> Rogue {
    let mut rogue = Rogue::quiet(suite);
    let (master, key) = up_to_finished(&mut rogue, suite, true);
    rogue.finish_tls12(&master, key);
    assert_eq!(rogue.deliver().unwrap(), ["Established"]);
    rogue
}

/// Performs this many steps of a handshake. The session is established from the fourth step on.
pub(super) fn advanced(steps: usize) -> Rogue {
    let suite = ECDHE;
    if steps > 3 {
        return established(suite);
    }
    let mut rogue = Rogue::quiet(suite);
    if steps > 0 {
        hello(&mut rogue, suite, &extension(23, &[]));
    }
    if steps > 1 {
        show_certificate(&mut rogue, RSA_2048);
    }
    if steps > 2 {
        key_exchange(&mut rogue, &KeyPair::generate(Group::X25519).unwrap());
    }
    rogue.deliver().unwrap();
    rogue
}

#[test]
fn with_and_without_the_extended_master_secret() {
    for suite in [RSA, ECDHE] {
        for extended in [true, false] {
            let mut rogue = Rogue::quiet(suite);
            let (master, key) = up_to_finished(&mut rogue, suite, extended);
            rogue.finish_tls12(&master, key);
            assert_eq!(rogue.deliver().unwrap(), ["Established"]);
            assert_eq!(rogue.client.facts().extended_master_secret, extended);
            assert_eq!(rogue.session_id(), b"", "no session is offered");
        }
    }
}

#[test]
fn a_wrong_finished_is_detected_under_the_right_keys() {
    let exchanges = [KeyExchange::Rsa, KeyExchange::EcdheRsa];
    for suite in Suite::ALL.into_iter().filter(|suite| exchanges.contains(&suite.exchange())) {
        for bad in [&[0; 12][..], &[], &[0; 13]] {
            let mut rogue = Rogue::quiet(suite);
            let (_, key) = up_to_finished(&mut rogue, suite, true);
            rogue.record(Content::CHANGE_CIPHER_SPEC, &[1]);
            rogue.sealing = Some(key);
            rogue.say(Message::FINISHED, bad);
            assert_eq!(rogue.refused(), (SessionPhase::Finished, Violation::BadFinished));
            assert!(!rogue.client.is_established() && rogue.client.confirmation().is_none());
        }
    }
}

#[test]
fn a_finished_without_change_cipher_spec_is_refused() {
    let mut rogue = Rogue::quiet(RSA);
    let (master, _) = up_to_finished(&mut rogue, RSA, true);
    let data = master.verify_data(Side::Server, rogue.transcript.hash().as_ref());
    rogue.say(Message::FINISHED, &data);
    let (phase, violation) = rogue.refused();
    assert_eq!(phase, SessionPhase::Finished);
    let found = Found::Handshake(Message::FINISHED);
    assert!(matches!(violation, Violation::UnexpectedMessage { found: f, .. } if f == found));
}

#[test]
fn messages_out_of_order_are_refused_at_every_step() {
    type Step = fn(&mut Rogue);
    let steps: [Step; 3] = [
        |rogue| hello(rogue, ECDHE, &[]),
        |rogue| show_certificate(rogue, RSA_2048),
        |rogue| key_exchange(rogue, &KeyPair::generate(Group::X25519).unwrap()),
    ];
    for done in 0..=steps.len() {
        // messages and records that are never expected here, and the message of the step after next
        let wrong: [Step; 5] = [
            |rogue| rogue.say(Message::FINISHED, &[0; 12]),
            |rogue| rogue.say(Message(99), &[]),
            |rogue| rogue.record(Content::CHANGE_CIPHER_SPEC, &[1]),
            |rogue| rogue.record(Content::APPLICATION_DATA, b"data"),
            |rogue| rogue.say(Message::NEW_SESSION_TICKET, &[0; 6]),
        ];
        for wrong in wrong.iter().chain(steps.get(done + 1)) {
            let mut rogue = Rogue::quiet(ECDHE);
            steps[..done].iter().for_each(|step| step(&mut rogue));
            wrong(&mut rogue);
            let (phase, violation) = rogue.refused();
            assert!(matches!(violation, Violation::UnexpectedMessage { .. }), "{violation:?}");
            assert_eq!(
                phase,
                if done == 0 { SessionPhase::Hello } else { SessionPhase::KeyExchange }
            );
            // the server also receives an alert
            let alert = [AlertLevel::FATAL.0, AlertDescription::UNEXPECTED_MESSAGE.0];
            assert!(rogue.take().ends_with(&alert));
        }
    }
}

#[test]
fn invalid_hellos_are_named() {
    let refusal = |suite: u16, extensions: &[u8]| {
        let mut rogue = Rogue::quiet(RSA);
        rogue.say(Message::SERVER_HELLO, &server_hello(&SERVER_RANDOM, &[], suite, extensions));
        rogue.refused().1
    };
    let suite = RSA.number();
    assert_eq!(refusal(0x002F, &[]), Violation::CipherSuite { found: 0x002F });
    let twice = extension(23, &[]).repeat(2);
    let found = Extension::EXTENDED_MASTER_SECRET;
    assert_eq!(refusal(suite, &twice), Violation::ExtensionTwice { extension: found });
    let found = Violation::ExtensionUnexpected { extension: Extension(16_000) };
    assert_eq!(refusal(suite, &extension(16_000, &[])), found);
    assert_eq!(refusal(suite, &extension(65281, &[1, 7])), illegal("renegotiation_info"));
    assert_eq!(refusal(suite, &extension(16, &vector(2, &vector(1, b"h2")))), Violation::Alpn);
    let two = [vector(1, b"http/1.1"), vector(1, b"h2")].concat();
    assert!(matches!(refusal(suite, &extension(16, &vector(2, &two))), Violation::Decode { .. }));

    let mut rogue = Rogue::quiet(RSA);
    let mut body = server_hello(&SERVER_RANDOM, &[], suite, &[]);
    body[1] = 1;
    rogue.say(Message::SERVER_HELLO, &body);
    assert_eq!(rogue.refused().1, Violation::Version { found: 0x0301 });
}

#[test]
fn invalid_certificates_are_named() {
    let refusal = |body: &[u8]| {
        let mut rogue = Rogue::quiet(RSA);
        hello(&mut rogue, RSA, &[]);
        rogue.say(Message::CERTIFICATE, body);
        rogue.refused().1
    };
    assert_eq!(refusal(&[0; 3]), Violation::NoCertificate);
    assert_eq!(refusal(&vector(3, &vector(3, b"none"))), Violation::Certificate);
    let ec = include_str!("../../../../../vectors/keys/ec-p256.pem");
    let ec = certificate(ec).0;
    assert_eq!(refusal(&vector(3, &vector(3, &ec))), Violation::CertificateKeyType);
    // no proper prefix of the certificate is valid
    for cut in 0..ec.len() {
        assert_eq!(refusal(&vector(3, &vector(3, &ec[..cut]))), Violation::Certificate);
    }
}

#[test]
fn a_short_key_is_named_if_it_is_used() {
    let short = include_str!("../../../../../vectors/keys/rsa-1024.pem");
    let unfit = (SessionPhase::KeyExchange, Violation::KeySize { bits: 1024 });
    let pair = KeyPair::generate(Group::X25519).unwrap();
    for (mut rogue, passes) in
        [(Rogue::new(Settings::new(ECDHE)), false), (Rogue::quiet(ECDHE), true)]
    {
        hello(&mut rogue, ECDHE, &[]);
        show_certificate(&mut rogue, short);
        key_exchange(&mut rogue, &pair);
        if passes {
            rogue.deliver().unwrap();
        } else {
            assert_eq!(rogue.refused(), unfit);
        }
    }
    // RSA-1024, which servers of 2001 had, is accepted for encryption; shorter keys are refused
    let short = include_str!("../../../../../vectors/keys/rsa-512.pem");
    let mut rogue = Rogue::quiet(RSA);
    hello(&mut rogue, RSA, &[]);
    show_certificate(&mut rogue, short);
    rogue.say(Message::SERVER_HELLO_DONE, &[]);
    assert_eq!(rogue.refused(), (SessionPhase::KeyExchange, Violation::KeySize { bits: 512 }));
}

#[test]
fn invalid_key_exchanges_are_named() {
    let refusal = |body: &[u8]| {
        let mut rogue = Rogue::quiet(ECDHE);
        hello(&mut rogue, ECDHE, &[]);
        show_certificate(&mut rogue, RSA_2048);
        rogue.say(Message::SERVER_KEY_EXCHANGE, body);
        rogue.refused().1
    };
    let body = |group: u16, point: &[u8], scheme: u16| {
        let group = group.to_be_bytes();
        let scheme = scheme.to_be_bytes();
        [&[3], &group[..], &vector(1, point), &scheme, &vector(2, b"signature")].concat()
    };
    assert_eq!(refusal(&body(24, &[9; 32], 0x0804)), Violation::Group { found: 24 });
    assert_eq!(refusal(&body(23, &[9; 32], 0x0804)), Violation::Group { found: 23 });
    assert_eq!(refusal(&body(29, &[0; 32], 0x0804)), Violation::KeyShare);
    assert_eq!(refusal(&body(29, &[9; 31], 0x0804)), Violation::KeyShare);
    let sha1 = Violation::SignatureScheme { found: 0x0201 };
    assert_eq!(refusal(&body(29, &[9; 32], 0x0201)), sha1);
    let good = body(29, &[9; 32], 0x0804);
    for cut in 0..good.len() {
        assert!(matches!(refusal(&good[..cut]), Violation::Decode { .. }), "{cut}");
    }
}

/// The server may use the extension only if the client offered it, and only with a block cipher.
#[test]
fn encrypt_then_mac_needs_an_offer_and_a_block_cipher() {
    let cbc = Suite::TLS_RSA_WITH_AES_128_CBC_SHA;
    for (suite, encrypt_then_mac, passes) in
        [(cbc, true, true), (cbc, false, false), (RSA, true, false)]
    {
        let mut rogue = Rogue::new(Settings { encrypt_then_mac, ..Settings::new(suite) });
        hello(&mut rogue, suite, &extension(22, &[]));
        if passes {
            rogue.deliver().unwrap();
            assert!(rogue.client.facts().encrypt_then_mac);
        } else {
            let extension = Extension::ENCRYPT_THEN_MAC;
            assert_eq!(rogue.refused().1, Violation::ExtensionUnexpected { extension });
        }
    }
}

/// RFC 5077 §3.3: a server sends a ticket only if its hello has the extension.
#[test]
fn an_unannounced_ticket_is_refused() {
    for promised in [true, false] {
        let mut rogue = Rogue::quiet(RSA);
        hello(&mut rogue, RSA, &if promised { extension(35, &[]) } else { vec![] });
        show_certificate(&mut rogue, RSA_2048);
        rogue.say(Message::SERVER_HELLO_DONE, &[]);
        rogue.say(Message::NEW_SESSION_TICKET, &[0; 6]);
        if promised {
            rogue.deliver().unwrap();
            assert_eq!(rogue.client.facts().tickets, 1);
        } else {
            assert!(matches!(rogue.refused().1, Violation::UnexpectedMessage { .. }));
        }
    }
}

#[test]
fn repeated_renegotiation_gets_one_alert() {
    let mut rogue = established(ECDHE);
    for _ in 0..5 {
        rogue.record(Content::HANDSHAKE, &whole(Message::HELLO_REQUEST, &[]));
    }
    assert_eq!(rogue.deliver().unwrap(), Vec::<String>::new());
    // the length of one sealed alert: 5 + 8 + 2 + 16 bytes
    assert_eq!(rogue.take().len(), 31);
    rogue.record(Content::APPLICATION_DATA, b"data");
    assert_eq!(rogue.deliver().unwrap().len(), 1);
}

#[test]
fn no_other_record_may_interrupt_a_message() {
    let mut rogue = established(RSA);
    rogue.record(Content::HANDSHAKE, &[0]);
    rogue.record(Content::APPLICATION_DATA, b"data");
    assert_eq!(rogue.refused(), (SessionPhase::Data, Violation::Interleaved));
}

#[test]
fn warnings_are_ignored_and_fatal_alerts_named() {
    let mut rogue = established(RSA);
    rogue.record(Content::ALERT, &[1, 112]);
    assert_eq!(rogue.deliver().unwrap(), Vec::<String>::new());
    rogue.record(Content::ALERT, &[2, 80]);
    let error = rogue.deliver().unwrap_err();
    let (level, description) = (AlertLevel::FATAL, AlertDescription::INTERNAL_ERROR);
    assert_eq!(error, Error::Alert { phase: SessionPhase::Data, level, description });
    assert!(rogue.take().is_empty(), "an alert is not answered");
}
