//! The negotiated parameters, and their fields in the log.

use std::io::{Read as _, Write as _};

use crate::rig::{self, ONE_REQUEST, Rig, bytes, fetch, s_client};
use tollgate_server::log::Outcome;
use tollgate_server::{
    Certificate, Config, Engine, Failure, Group, Issued, KeyKind, Protocol, Resumption, Suite,
};

/// Performs a handshake and a request; returns their log lines.
fn negotiated(rig: Rig, curl: &[&str]) -> (String, String, Option<String>) {
    let url = rig.url("/bytes/14336");
    assert_eq!(fetch(&[curl, &[url.as_str()]].concat()), bytes(14_336));
    let log = rig.finish();
    let (handshakes, requests) = (log.handshakes(), log.requests());
    assert_eq!((handshakes.len(), requests.len()), (1, 1));
    let (handshake, request) = (handshakes[0], requests[0]);
    assert_eq!(handshake.outcome, Outcome::Full);
    assert_eq!(handshake.protocol.as_deref(), Some(&*request.protocol));
    assert_eq!(handshake.suite.as_deref(), Some(&*request.suite));
    assert_eq!(handshake.group, request.group);
    assert_eq!((request.bytes, request.status, request.complete), (14_336, 200, true));
    assert!(!request.resumed);
    let group = request.group.as_deref().map(str::to_owned);
    (request.protocol.to_string(), request.suite.to_string(), group)
}

fn named(protocol: &str, suite: &str, group: &str) -> (String, String, Option<String>) {
    (protocol.to_owned(), suite.to_owned(), Some(group.to_owned()))
}

#[test]
fn both_versions_with_each_group() {
    for (version, protocol, suite) in [
        ("1.2", "TLSv1.2", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"),
        ("1.3", "TLSv1.3", "TLS_AES_128_GCM_SHA256"),
    ] {
        for (curve, group) in [("X25519", "x25519"), ("P-256", "secp256r1")] {
            let options = ["--tls-max", version, "--curves", curve];
            let found = negotiated(Rig::start(Config::default()), &options);
            assert_eq!(found, named(protocol, suite, group));
        }
    }
}

#[test]
fn the_server_s_preferences_decide() {
    let config = Config {
        protocols: vec![Protocol::Tls12],
        suites: vec![Suite::EcdheRsaChacha20, Suite::EcdheRsaAes128Gcm],
        groups: vec![Group::P256, Group::X25519],
        ..Config::default()
    };
    let found = negotiated(Rig::start(config), &[]);
    let suite = "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256";
    assert_eq!(found, named("TLSv1.2", suite, "secp256r1"));
}

#[test]
fn every_kind_of_key() {
    for kind in KeyKind::SELF_SIGNED {
        let certificate = Certificate::SelfSigned(kind);
        let rig = Rig::with_own_key(Config { certificate, ..Config::default() });
        let found = negotiated(rig, &["--tls-max", "1.2"]);
        let auth = if !kind.is_rsa() { "ECDSA" } else { "RSA" };
        let suite = format!("TLS_ECDHE_{auth}_WITH_AES_128_GCM_SHA256");
        assert_eq!(found, named("TLSv1.2", &suite, "x25519"), "{kind}");
    }
}

#[test]
fn every_suite_with_a_key_that_fits() {
    let suites = Suite::ALL.to_vec();
    for kind in [KeyKind::Rsa { bits: 2048 }, KeyKind::EcdsaP256] {
        let certificate = Certificate::SelfSigned(kind);
        let config =
            Config { certificate, suites: suites.clone(), allow_rsa_kx: true, ..Config::default() };
        let rig = Rig::with_own_key(config);
        for suite in &suites {
            let fits = suite.name().contains("_ECDSA_") != kind.is_rsa();
            let flags = match suite.protocol() {
                Protocol::Tls12 => ["-tls1_2", "-cipher"],
                Protocol::Tls13 => ["-tls1_3", "-ciphersuites"],
            };
            let args = [&flags[..], &[suite.openssl_name()]].concat();
            let (_, words) = s_client(rig.running.addr(), &args, ONE_REQUEST);
            let served = words.contains("HTTP/1.1 200 OK");
            assert_eq!(served, fits || suite.protocol() == Protocol::Tls13, "{suite} {words}");
        }
    }
}

#[test]
fn prime_fields_of_both_versions() {
    let config = |field| Config {
        suites: vec![Suite::Aes128Gcm, Suite::DheRsaAes128Gcm],
        groups: vec![Group::X25519, field],
        ..Config::default()
    };
    for (field, bits) in [(Group::Ffdhe2048, "2048"), (Group::Ffdhe3072, "3072")] {
        let rig = Rig::start(config(field));
        for args in [&["-tls1_2"][..], &["-tls1_3", "-groups", field.openssl_name()]] {
            let (_, words) = s_client(rig.running.addr(), args, ONE_REQUEST);
            assert!(words.contains("HTTP/1.1 200 OK"), "{words}");
            assert!(words.contains(&format!("DH, {bits} bits")), "{args:?}: {words}");
        }
    }
}

#[test]
fn rsa_key_exchange_only_when_allowed() {
    let only = ["-tls1_2", "-cipher", "AES128-SHA:AES128-GCM-SHA256"];
    let rig = Rig::start(Config::default());
    let (_, words) = s_client(rig.running.addr(), &only, ONE_REQUEST);
    assert!(words.contains("handshake failure"), "{words}");
    let refused = || rig.running.counters().failed(Failure::NothingShared) == 1;
    rig::eventually("the failure is counted", refused);
    let log = rig.finish();
    assert_eq!(log.handshakes()[0].reason.as_deref(), Some("nothing_shared"));

    let rig = Rig::start(Config { allow_rsa_kx: true, ..Config::default() });
    for (cipher, suite) in [
        ("AES128-SHA", "TLS_RSA_WITH_AES_128_CBC_SHA"),
        ("AES128-GCM-SHA256", "TLS_RSA_WITH_AES_128_GCM_SHA256"),
    ] {
        let (ok, words) =
            s_client(rig.running.addr(), &["-tls1_2", "-cipher", cipher], ONE_REQUEST);
        assert!(ok && words.contains("HTTP/1.1 200 OK"), "{words}");
        rig.until_closed();
        assert!(words.contains(cipher), "{suite}: {words}");
    }
    let log = rig.finish();
    let suites: Vec<_> = log.requests().iter().map(|line| line.suite.to_string()).collect();
    assert_eq!(suites, ["TLS_RSA_WITH_AES_128_CBC_SHA", "TLS_RSA_WITH_AES_128_GCM_SHA256"]);
    assert!(log.requests().iter().all(|line| line.group.is_none()));
}

/// RFC 5246 §7.4.1.4.1: a client without `signature_algorithms` verifies only SHA-1. The server
/// makes no signatures with SHA-1, but RSA key exchange needs no signature.
#[test]
fn clients_without_signature_algorithms_get_rsa_key_exchange_only() {
    const ECDHE_RSA_AES128_GCM: [u8; 2] = [0xc0, 0x2f];
    const RSA_AES128_SHA: [u8; 2] = [0, 0x2f];
    const SERVER_HELLO: u8 = 2;
    const SERVER_KEY_EXCHANGE: u8 = 12;
    const SERVER_HELLO_DONE: u8 = 14;
    for engine in [Engine::OpenSsl, Engine::Tollgate] {
        let rig = Rig::start(Config { engine, allow_rsa_kx: true, ..Config::default() });
        let only_ecdhe = answer_to_hello(&rig, &[ECDHE_RSA_AES128_GCM]);
        assert_eq!(only_ecdhe, [21, 3, 3, 0, 2, 2, 40], "handshake_failure");
        for suites in [&[RSA_AES128_SHA][..], &[ECDHE_RSA_AES128_GCM, RSA_AES128_SHA]] {
            let flight = answer_to_hello(&rig, suites);
            let messages = handshake_messages(&flight);
            let types: Vec<u8> = messages.iter().map(|message| message[0]).collect();
            assert_eq!(types.first(), Some(&SERVER_HELLO), "{flight:?}");
            assert_eq!(types.last(), Some(&SERVER_HELLO_DONE));
            assert!(!types.contains(&SERVER_KEY_EXCHANGE));
            let session_id_len = usize::from(messages[0][38]);
            let suite = &messages[0][39 + session_id_len..][..2];
            assert_eq!(suite, RSA_AES128_SHA);
        }
        let failed = || rig.running.counters().failed(Failure::NothingShared) == 1;
        rig::eventually("the failure is counted", failed);
        drop(rig);
        // without RSA key exchange on the server, no common suite remains for such a client
        let rig = Rig::start(Config { engine, ..Config::default() });
        let refused = answer_to_hello(&rig, &[ECDHE_RSA_AES128_GCM, RSA_AES128_SHA]);
        assert_eq!(refused, [21, 3, 3, 0, 2, 2, 40], "handshake_failure");
    }
}

/// Sends a TLS 1.2 `ClientHello` without `signature_algorithms`; returns all bytes that the server
/// sends until it waits for the client or closes.
fn answer_to_hello(rig: &Rig, suites: &[[u8; 2]]) -> Vec<u8> {
    let mut client = rig::tcp(rig.running.addr());
    client.write_all(&rig::client_hello(suites, &[])).unwrap();
    let (mut answer, mut chunk) = (Vec::new(), [0; 4096]);
    loop {
        let read = client.read(&mut chunk).unwrap_or(0);
        answer.extend_from_slice(&chunk[..read]);
        // an empty ServerHelloDone, or an alert
        if read == 0 || answer.ends_with(&[14, 0, 0, 0]) || answer.starts_with(&[21]) {
            return answer;
        }
    }
}

/// Returns the handshake messages in these records, each with its header of four bytes.
fn handshake_messages(mut records: &[u8]) -> Vec<Vec<u8>> {
    let mut stream = Vec::new();
    while let [22, 3, 3, high, low, rest @ ..] = records {
        let (content, rest) = rest.split_at(usize::from(*high) << 8 | usize::from(*low));
        stream.extend_from_slice(content);
        records = rest;
    }
    let (mut messages, mut rest) = (Vec::new(), &stream[..]);
    while let [_, 0, high, low, ..] = rest {
        let (message, more) = rest.split_at(4 + (usize::from(*high) << 8 | usize::from(*low)));
        messages.push(message.to_vec());
        rest = more;
    }
    messages
}

#[test]
fn resumption_is_off_or_on() {
    // Four workers: each accepts the tickets of the others.
    for (resumption, expected) in
        [(Resumption::Off, Outcome::Full), (Resumption::Tickets, Outcome::Resumed)]
    {
        let rig = Rig::start(Config { resumption, workers: 4, ..Config::default() });
        let file = rig.folder.path("session.pem");
        let file = file.to_str().unwrap();
        for version in ["-tls1_2", "-tls1_3"] {
            let address = rig.running.addr();
            let (_, words) = s_client(address, &[version, "-sess_out", file], ONE_REQUEST);
            assert!(words.contains("HTTP/1.1 200 OK"), "{words}");
            // Without tickets the client has no session to resume.
            if std::fs::exists(file).unwrap() {
                let (_, words) = s_client(address, &[version, "-sess_in", file], ONE_REQUEST);
                assert!(words.contains("HTTP/1.1 200 OK"), "{words}");
                std::fs::remove_file(file).unwrap();
            } else {
                assert_eq!(resumption, Resumption::Off);
                s_client(address, &[version], ONE_REQUEST);
            }
        }
        rig.until_closed();
        let counters = rig.running.counters();
        let resumed = if resumption == Resumption::Off { 0 } else { 2 };
        assert_eq!(counters.handshakes_resumed, resumed);
        assert_eq!(counters.handshakes_full, 4 - resumed);
        let log = rig.finish();
        let mut handshakes = log.handshakes();
        handshakes.sort_by_key(|line| line.time_us);
        let outcomes: Vec<_> = handshakes.iter().map(|line| line.outcome).collect();
        assert_eq!(outcomes, [Outcome::Full, expected, Outcome::Full, expected]);
    }
}

/// In TLS 1.3, each connection gets a new ticket: a client should use a ticket once.
#[test]
fn tickets_are_replaced_in_tls13_only() {
    let rig = Rig::start(Config { resumption: Resumption::Tickets, ..Config::default() });
    let [file, renewed] = ["session.pem", "renewed.pem"].map(|name| rig.folder.path(name));
    for version in ["-tls1_2", "-tls1_3"] {
        let [old, new] = [&file, &renewed].map(|path| path.to_str().unwrap());
        s_client(rig.running.addr(), &[version, "-sess_out", old], ONE_REQUEST);
        let args = [version, "-sess_in", old, "-sess_out", new];
        let (_, words) = s_client(rig.running.addr(), &args, ONE_REQUEST);
        assert!(words.contains("Reused, "), "{words}");
        assert_eq!(renewed.exists(), version == "-tls1_3", "{words}");
    }
}

/// All workers share the cache.
#[test]
fn a_session_id_resumes_from_the_cache() {
    let rig = Rig::start(Config { resumption: Resumption::Cache, workers: 4, ..Config::default() });
    let file = rig.folder.path("session.pem");
    let file = file.to_str().unwrap();
    for version in ["-tls1_2", "-tls1_3"] {
        for (offer, resumes) in [("-sess_out", false), ("-sess_in", true), ("-sess_in", true)] {
            let (_, words) = s_client(rig.running.addr(), &[version, offer, file], ONE_REQUEST);
            assert!(words.contains("HTTP/1.1 200 OK"), "{words}");
            assert_eq!(words.contains("Reused, "), resumes, "{version} {offer}: {words}");
            assert!(version == "-tls1_3" || !words.contains("session ticket"), "{words}");
        }
    }
    rig.until_closed();
    let counters = rig.running.counters();
    assert_eq!((counters.handshakes_full, counters.handshakes_resumed), (2, 4));
    rig.finish();
}

#[test]
fn clients_need_a_certificate_of_the_roots() {
    let [known, other] = [2, 1].map(|length| Issued::new(KeyKind::EcdsaP256, length).unwrap());
    let client_roots = Some(known.root().unwrap());
    let rig = Rig::start(Config { client_roots, ..Config::default() });
    let present = |issued: &Issued, version: &str| {
        let Certificate::Pem { chain, key } = issued.certificate().unwrap() else { panic!() };
        let [chain_file, key_file] = ["chain", "key"].map(|name| rig.folder.path(name));
        std::fs::write(&chain_file, chain).unwrap();
        std::fs::write(&key_file, key).unwrap();
        let [chain, key] = [&chain_file, &key_file].map(|path| path.to_str().unwrap());
        let shown = ["-cert", chain, "-cert_chain", chain, "-key", key];
        s_client(rig.running.addr(), &[&[version][..], &shown].concat(), ONE_REQUEST).1
    };
    for version in ["-tls1_2", "-tls1_3"] {
        let words = present(&known, version);
        assert!(words.contains("HTTP/1.1 200 OK"), "{words}");
        let words = present(&other, version);
        assert!(!words.contains("HTTP/1.1") && words.contains("alert"), "{words}");
        let (_, words) = s_client(rig.running.addr(), &[version], ONE_REQUEST);
        assert!(!words.contains("HTTP/1.1"), "{words}");
    }
    let failed = rig.finish();
    let failed = failed.handshakes().iter().filter(|line| line.outcome == Outcome::Failed).count();
    assert_eq!(failed, 4);
    let nothing = Config { client_roots: Some(vec![]), ..Config::default() };
    let error = tollgate_server::Server::start(nothing).unwrap_err().to_string();
    assert!(error.contains("trust anchors") && !error.contains('\n'), "{error}");
}

#[test]
fn unsupported_versions_are_refused() {
    let rig = Rig::start(Config { protocols: vec![Protocol::Tls13], ..Config::default() });
    let (_, words) = s_client(rig.running.addr(), &["-tls1_2"], ONE_REQUEST);
    assert!(words.contains("protocol version"), "{words}");
    let log = rig.finish();
    assert_eq!(log.handshakes()[0].reason.as_deref(), Some("version"));
}

#[test]
fn a_client_alert_is_logged() {
    let rig = Rig::start(Config::default());
    // The client does not trust the certificate, and sends unknown_ca.
    let args = ["-tls1_3", "-verify_return_error", "-verify", "1"];
    s_client(rig.running.addr(), &args, ONE_REQUEST);
    let log = rig.finish();
    let line = log.handshakes()[0];
    assert_eq!((line.outcome, line.alert), (Outcome::Failed, Some(48)));
}
