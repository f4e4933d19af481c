//! Sessions with a rustls server in this process, of every kind. They transfer data in both
//! directions, and the bytes arrive in pieces of any size.

use core::num::NonZeroU32;

use rustls::SignatureScheme as Scheme;
use tollgate_tls_client::{
    Confirmation, Error, Freshness, Group, Misuse, SessionPhase, Settings, SignatureScheme, Suite,
    VerifySignature, Violation,
};

use crate::peer;
use crate::peer::{
    EC_P256, ECDHE, ED25519, Pair, RSA_2048, Server, TLS13, ec_p384, kinds, settings,
};

/// Sizes: zero, one byte, one record of 14 KiB, and more than eight records.
const SIZES: [usize; 4] = [0, 1, 14_336, 140_000];

#[test]
fn sessions_of_every_kind_carry_data_both_ways() {
    for (suite, group) in kinds() {
        for key_share in [Freshness::Fresh, Freshness::Reuse] {
            let settings = Settings {
                key_share,
                server_name: Some("host.example".into()),
                ..settings(suite, &[group])
            };
            let mut pair = Pair::new(settings, &Server::new(suite, &[group]));
            pair.run().unwrap();
            assert_eq!((pair.seen.established, pair.seen.closed), (1, 0));
            assert!(pair.client.is_established() && !pair.server.is_handshaking());
            assert_eq!(pair.server.server_name(), Some("host.example"));
            assert_eq!(pair.server.alpn_protocol(), Some(&b"http/1.1"[..]));
            let facts = *pair.client.facts();
            assert_eq!(facts.group, Some(group));
            assert!(facts.signature_verified && !facts.hello_retry);
            assert_eq!(facts.extended_master_secret, !suite.is_tls13());
            assert!(facts.tickets > 0);
            for size in SIZES {
                let data: Vec<u8> = (0..251).cycle().take(size).collect();
                (pair.got, pair.seen.data) = (vec![], vec![]);
                pair.client.send(&data).unwrap();
                pair.say(&data);
                pair.run().unwrap();
                assert_eq!(pair.got, data, "to the server, {size}");
                assert_eq!(pair.seen.data, data, "to the client, {size}");
            }
            pair.client.close();
            pair.server.send_close_notify();
            pair.run().unwrap();
            assert_eq!(pair.seen.closed, 1);
            assert_eq!(pair.client.end_of_stream(), Ok(()));
            assert_eq!(pair.client.phase(), SessionPhase::Close);
        }
    }
}

#[test]
fn records_and_messages_may_be_cut_anywhere() {
    for (suite, group) in kinds() {
        // records of 37 bytes, 5 of them the header, cut most messages
        for (fragment_bytes, piece) in [(None, 1), (Some(37), 1), (Some(37), 5000), (Some(100), 7)]
        {
            let server = Server { fragment_bytes, ..Server::new(suite, &[group]) };
            let mut pair = Pair::new(settings(suite, &[group]), &server);
            pair.say(&[5; 300]);
            let mut established = 0;
            while pair.forward() || pair.server.wants_write() {
                for bytes in pair.server_flight().chunks(piece) {
                    let seen = &mut pair.seen;
                    pair.client.read_tls(bytes, |event| seen.note(event)).unwrap();
                }
                established = pair.seen.established;
            }
            assert_eq!((established, &pair.seen.data[..]), (1, &[5; 300][..]), "{suite} {piece}");
        }
    }
}

#[test]
fn a_connection_serves_one_session_after_another() {
    for (suite, group) in kinds() {
        let server = Server::new(suite, &[group]);
        let mut client = peer::client(settings(suite, &[group]));
        let mut randoms = vec![];
        for _ in 0..3 {
            randoms.push(client.outgoing()[11..43].to_vec());
            let mut pair = Pair::of_connections(client, server.start());
            pair.run().unwrap();
            pair.client.send(b"request").unwrap();
            pair.run().unwrap();
            assert_eq!(pair.got, b"request");
            client = pair.client;
            client.reset().unwrap();
            assert!(!client.is_established() && client.confirmation().is_none());
            assert_eq!(client.key(), None);
        }
        randoms.sort_unstable();
        randoms.dedup();
        assert_eq!(randoms.len(), 3);
    }
}

#[test]
fn a_hello_retry_is_answered_and_reported() {
    let (hybrid, last) = (Group::X25519MlKem768, Group::P256);
    for (offered, is_asked_again) in [
        (&[Group::X25519, last][..], true),
        (&[last, Group::P384], true),
        (&[Group::P384, hybrid], true),
        (&[hybrid, Group::X25519, last], true),
        // a share of its own, as browsers send
        (&[hybrid, last, Group::X25519], false),
    ] {
        let chosen = offered[offered.len() - 1];
        let server = Server::new(TLS13, &[chosen]);
        let mut pair = Pair::new(settings(TLS13, offered), &server);
        pair.run().unwrap();
        let facts = pair.client.facts();
        assert!(facts.hello_retry == is_asked_again && facts.signature_verified, "{offered:?}");
        assert_eq!(facts.group, Some(chosen));
        pair.client.send(b"request").unwrap();
        pair.run().unwrap();
        assert_eq!(pair.got, b"request");
    }
    // TLS 1.2 has no key share, so the server takes its group from the list
    let server = Server::new(ECDHE, &[Group::P256]);
    let offered = [Group::X25519, Group::P256];
    let mut pair = Pair::new(settings(ECDHE, &offered), &server);
    pair.run().unwrap();
    assert_eq!(pair.client.facts().group, Some(Group::P256));
}

#[test]
fn every_scheme_is_verified() {
    let schemes = [
        (Scheme::RSA_PSS_SHA256, SignatureScheme::PssSha256),
        (Scheme::RSA_PSS_SHA384, SignatureScheme::PssSha384),
        (Scheme::RSA_PSS_SHA512, SignatureScheme::PssSha512),
        (Scheme::RSA_PKCS1_SHA256, SignatureScheme::Pkcs1Sha256),
        (Scheme::RSA_PKCS1_SHA384, SignatureScheme::Pkcs1Sha384),
        (Scheme::RSA_PKCS1_SHA512, SignatureScheme::Pkcs1Sha512),
    ];
    let schemes = schemes.map(|(theirs, ours)| (theirs, ours, RSA_2048.to_owned()));
    let on_curves = [
        (Scheme::ECDSA_NISTP256_SHA256, SignatureScheme::EcdsaSha256, EC_P256.to_owned()),
        (Scheme::ECDSA_NISTP384_SHA384, SignatureScheme::EcdsaSha384, ec_p384()),
        (Scheme::ED25519, SignatureScheme::Ed25519, ED25519.to_owned()),
    ];
    let ecdsa = Suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256;
    let cases = [
        (ECDHE, &schemes[..]),
        (TLS13, &schemes[..3]),
        (ecdsa, &on_curves[..]),
        (TLS13, &on_curves[..]),
    ];
    for (suite, schemes) in cases {
        for (theirs, ours, key_pem) in schemes {
            for lies in [false, true] {
                let server = Server {
                    schemes: vec![*theirs],
                    lies,
                    key_pem: key_pem.clone(),
                    ..Server::new(suite, &[Group::X25519])
                };
                let settings = Settings { schemes: vec![*ours], ..Settings::new(suite) };
                let mut pair = Pair::new(settings, &server);
                let result = pair.run();
                if lies {
                    let violation = Violation::BadSignature;
                    assert_eq!(
                        result,
                        Err(Error::Violation { phase: SessionPhase::KeyExchange, violation })
                    );
                    pair.forward();
                    let alert = format!("{:?}", pair.server_error.unwrap());
                    assert!(alert.contains("DecryptError"), "{alert}");
                } else {
                    result.unwrap();
                    assert_eq!(pair.client.facts().signature, Some(*ours));
                }
            }
        }
    }
}

#[test]
fn unverified_wrong_signatures_go_unnoticed() {
    let one_in = |n| VerifySignature::Sample(NonZeroU32::new(n).unwrap());
    for suite in [ECDHE, TLS13] {
        let server = Server { lies: true, ..Server::new(suite, &[Group::X25519]) };
        let passes = |verify_signature| {
            let mut pair =
                Pair::new(Settings { verify_signature, ..Settings::new(suite) }, &server);
            let passed = pair.run().is_ok();
            assert!(!pair.client.facts().signature_verified);
            passed
        };
        assert!(passes(VerifySignature::Never));
        assert!(!passes(VerifySignature::Always));
        assert!(!passes(one_in(1)));
        // with a probability of 2^-39, 40 random bits are all equal
        let passed = (0..40).filter(|_| passes(one_in(2))).count();
        assert!((1..40).contains(&passed), "{passed}");
    }
}

#[test]
fn each_kind_of_handshake_is_confirmed() {
    let group = Group::X25519;
    let mut pair = Pair::new(Settings::new(ECDHE), &Server::new(ECDHE, &[group]));
    pair.run().unwrap();
    assert_eq!(pair.client.confirmation(), Some(Confirmation::Finished));
    assert_eq!(pair.client.phase(), SessionPhase::Data);

    let established = || {
        let mut pair = Pair::new(Settings::new(TLS13), &Server::new(TLS13, &[group]));
        pair.run().unwrap();
        assert!(pair.client.is_established() && pair.client.facts().tickets > 0);
        assert_eq!(pair.client.confirmation(), None, "a ticket is no proof");
        assert_eq!(pair.client.phase(), SessionPhase::Confirm);
        pair
    };
    let mut pair = established();
    pair.say(b"a greeting");
    pair.run().unwrap();
    assert_eq!(pair.client.confirmation(), None, "data that answers nothing is no proof");
    pair.client.send(b"request").unwrap();
    pair.say(b"unasked");
    let unasked = pair.server_flight();
    pair.client.read_tls(&unasked, |_| ()).unwrap();
    assert_eq!(pair.client.confirmation(), None, "the request was not sent yet");
    pair.run().unwrap();
    pair.say(b"response");
    pair.run().unwrap();
    assert_eq!(pair.client.confirmation(), Some(Confirmation::Response));
    assert_eq!(pair.client.phase(), SessionPhase::Data);

    let mut pair = established();
    pair.client.close();
    assert_eq!(pair.client.phase(), SessionPhase::Close);
    pair.run().unwrap();
    pair.server.send_close_notify();
    pair.run().unwrap();
    assert_eq!(pair.client.confirmation(), Some(Confirmation::CloseNotify));

    let mut pair = established();
    pair.server.send_close_notify();
    pair.run().unwrap();
    assert_eq!(pair.client.confirmation(), None, "the server closed of its own accord");
}

#[test]
fn keys_are_updated_when_the_server_asks() {
    let mut pair = Pair::new(Settings::new(TLS13), &Server::new(TLS13, &[Group::X25519]));
    pair.run().unwrap();
    for round in 0..3_u8 {
        pair.server.refresh_traffic_keys().unwrap();
        pair.say(&[round; 100]);
        pair.run().unwrap();
        pair.client.send(&[round; 50]).unwrap();
        pair.run().unwrap();
        assert!(pair.seen.data.ends_with(&[round; 100]));
        assert!(pair.got.ends_with(&[round; 50]));
    }
}

#[test]
fn misuse_is_named_and_harmless() {
    let group = Group::X25519;
    let mut pair = Pair::new(Settings::new(TLS13), &Server::new(TLS13, &[group]));
    assert_eq!(pair.client.send(b"early"), Err(Misuse::NotEstablished.into()));
    let waiting = pair.client.outgoing().len();
    assert_eq!(pair.client.sent(waiting + 1), Err(Misuse::SentTooMuch.into()));
    let room = pair.client.space().len();
    assert_eq!(pair.client.filled(room + 1), Err(Misuse::FilledTooMuch.into()));
    pair.run().unwrap();
    pair.client.close();
    pair.client.close();
    assert_eq!(pair.client.send(b"late"), Err(Misuse::SendAfterClose.into()));
    pair.run().unwrap();
    assert!(pair.server_error.is_none());
}
