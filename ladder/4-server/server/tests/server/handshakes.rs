//! The negotiated parameters, and their fields in the log.

use crate::rig::{ONE_REQUEST, Rig, bytes, fetch, s_client};
use tollgate_server::log::Outcome;
use tollgate_server::{Certificate, Config, Failure, Group, KeyKind, Protocol, Resumption, Suite};

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
        let config = Config { certificate, suites: suites.clone(), ..Config::default() };
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
fn rsa_key_exchange_has_no_group_and_its_absence_is_a_violation() {
    let rig = Rig::start(Config::default());
    for (cipher, served) in
        [("AES128-SHA", true), ("AES128-GCM-SHA256", true), ("AES256-SHA256", false)]
    {
        let (_, words) = s_client(rig.running.addr(), &["-tls1_2", "-cipher", cipher], ONE_REQUEST);
        assert_eq!(words.contains("HTTP/1.1 200 OK"), served, "{words}");
        assert_eq!(words.contains("handshake failure"), !served, "{words}");
        rig.until_closed();
    }
    assert_eq!(rig.running.counters().failed(Failure::Violation), 1);
    let log = rig.finish();
    assert_eq!(log.handshakes()[2].reason.as_deref(), Some("violation"));
    let suites: Vec<_> = log.requests().iter().map(|line| line.suite.to_string()).collect();
    assert_eq!(suites, ["TLS_RSA_WITH_AES_128_CBC_SHA", "TLS_RSA_WITH_AES_128_GCM_SHA256"]);
    assert!(log.requests().iter().all(|line| line.group.is_none()));
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
fn unsupported_versions_are_refused() {
    let rig = Rig::start(Config { protocols: vec![Protocol::Tls13], ..Config::default() });
    let (_, words) = s_client(rig.running.addr(), &["-tls1_2"], ONE_REQUEST);
    assert!(words.contains("protocol version"), "{words}");
    rig.until_closed();
    let log = rig.finish();
    assert_eq!(log.handshakes()[0].reason.as_deref(), Some("violation"));
}

#[test]
fn a_client_alert_is_logged() {
    let rig = Rig::start(Config::default());
    // The client does not trust the certificate, and sends unknown_ca.
    let args = ["-tls1_3", "-verify_return_error", "-verify", "1"];
    s_client(rig.running.addr(), &args, ONE_REQUEST);
    rig.until_closed();
    let log = rig.finish();
    let line = log.handshakes()[0];
    assert_eq!((line.outcome, line.alert), (Outcome::Failed, Some(48)));
}
