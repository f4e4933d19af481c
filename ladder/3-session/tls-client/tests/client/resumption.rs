//! rustls and `OpenSSL` resume sessions, or refuse to resume them, with every mechanism
//! that each server supports.

use core::time::Duration;
use std::sync::Arc;

use rustls::server::NoServerSessionStorage;
use rustls::{HandshakeKind, ServerConfig, ServerConnection};
use tollgate_tls_client::{
    Confirmation, Connection, EarlyData, Group, Resume, SavedSession, SessionKind, Settings, Suite,
};

use crate::peer;
use crate::peer::process::OLD_MASTER_SECRET;
use crate::peer::socket::page;
use crate::peer::{ECDHE, Pair, Process, RSA, Server, TLS13, kinds};

fn settings(suite: Suite, groups: &[Group]) -> Settings {
    Settings { save_sessions: true, ..peer::settings(suite, groups) }
}

fn resume(client: &mut Connection, session: &SavedSession, early_data: &[u8]) {
    client.resume(&Resume { session, age: Duration::from_millis(5), early_data }).unwrap();
}

/// Performs a session with a request and its response; returns the connection for the next session.
fn session(
    client: Connection,
    server: &Arc<ServerConfig>,
    expected: HandshakeKind,
) -> (Connection, SavedSession) {
    let mut pair = Pair::of_connections(client, ServerConnection::new(Arc::clone(server)).unwrap());
    pair.run().unwrap();
    pair.client.send(b"request").unwrap();
    pair.run().unwrap();
    pair.say(b"response");
    pair.run().unwrap();
    assert_eq!((&pair.got[..], &pair.seen.data[..]), (&b"request"[..], &b"response"[..]));
    assert_eq!(pair.server.handshake_kind(), Some(expected));
    let resumed = matches!(expected, HandshakeKind::Resumed);
    assert_eq!(pair.client.facts().resumed, resumed);
    let full_tls12 = !resumed && !pair.client.config().settings().suite.is_tls13();
    let confirmation = if full_tls12 { Confirmation::Finished } else { Confirmation::Response };
    assert_eq!(pair.client.confirmation(), Some(confirmation));
    let mut saved = SavedSession::default();
    pair.client.save(&mut saved);
    (pair.client, saved)
}

/// Returns a rustls configuration with tickets, or with a session cache.
fn rustls(suite: Suite, groups: &[Group], tickets: bool) -> Arc<ServerConfig> {
    let mut config = Server::new(suite, groups).config();
    if tickets {
        config.session_storage = Arc::new(NoServerSessionStorage {});
    } else {
        config.ticketer =
            ServerConfig::builder_with_provider(Server::new(suite, groups).provider())
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_no_client_auth()
                .with_cert_resolver(Arc::clone(&config.cert_resolver))
                .ticketer;
    }
    Arc::new(config)
}

#[test]
fn rustls_resumes_every_kind_of_session_repeatedly() {
    for (suite, group) in kinds() {
        for tickets in [true, false] {
            let server = rustls(suite, &[group], tickets);
            let client = peer::client(settings(suite, &[group]));
            let (mut client, mut saved) = session(client, &server, HandshakeKind::Full);
            let expected = match (suite.is_tls13(), tickets) {
                (true, _) => SessionKind::Psk,
                (false, true) => SessionKind::Ticket,
                (false, false) => SessionKind::SessionId,
            };
            for _ in 0..3 {
                assert_eq!(saved.kind(), Some(expected), "{suite}");
                resume(&mut client, &saved, b"");
                let next;
                (client, next) = session(client, &server, HandshakeKind::Resumed);
                assert_eq!(client.facts().offered, Some(expected));
                assert_eq!(client.facts().leaf_bytes, 0);
                if next.is_empty() {
                    assert!(!saved.is_single_use());
                } else {
                    saved = next;
                }
            }
        }
    }
}

#[test]
fn another_server_performs_a_full_handshake() {
    for (suite, group) in kinds() {
        for tickets in [true, false] {
            let [first, second] = [(); 2].map(|()| rustls(suite, &[group], tickets));
            let client = peer::client(settings(suite, &[group]));
            let (mut client, saved) = session(client, &first, HandshakeKind::Full);
            resume(&mut client, &saved, b"");
            let (client, next) = session(client, &second, HandshakeKind::Full);
            assert_eq!(client.facts().offered, saved.kind());
            assert!(client.facts().signature_verified && !next.is_empty());
        }
    }
}

#[test]
fn a_hello_retry_has_a_new_binder() {
    let groups = [Group::X25519, Group::P256];
    let mut server = Server::new(TLS13, &groups[1..]).config();
    server.max_early_data_size = 1000;
    server.ticketer = rustls(TLS13, &groups[1..], false).ticketer.clone();
    let server = Arc::new(server);
    let client = peer::client(settings(TLS13, &groups));
    let (mut client, saved) = session(client, &server, HandshakeKind::FullWithHelloRetryRequest);
    for early_data in [&b""[..], b"early"] {
        resume(&mut client, &saved, early_data);
        let mut pair =
            Pair::of_connections(client, ServerConnection::new(Arc::clone(&server)).unwrap());
        pair.run().unwrap();
        let facts = *pair.client.facts();
        assert!(facts.hello_retry);
        assert_ne!(facts.early_data, EarlyData::Accepted);
        pair.client.send(b"request").unwrap();
        pair.run().unwrap();
        assert_eq!(pair.got, b"request");
        // rustls removes a session from its cache when it is resumed
        assert_eq!(facts.resumed, early_data.is_empty());
        client = pair.client;
    }
}

#[test]
fn rustls_reads_early_data_or_refuses_it() {
    let mut config = Server::new(TLS13, &[Group::X25519]).config();
    config.max_early_data_size = 1000;
    config.ticketer = rustls(TLS13, &[Group::X25519], false).ticketer.clone();
    let server = Arc::new(config);
    let client = peer::client(settings(TLS13, &[Group::X25519]));
    let (mut client, saved) = session(client, &server, HandshakeKind::Full);
    assert_eq!(saved.early_data_bytes_max(), 1000);
    // at the second attempt, the server no longer has the session
    for accepted in [true, false] {
        resume(&mut client, &saved, b"early request");
        let mut pair =
            Pair::of_connections(client, ServerConnection::new(Arc::clone(&server)).unwrap());
        let hello = pair.client.outgoing().to_vec();
        pair.client.sent(hello.len()).unwrap();
        pair.server.read_tls(&mut &hello[..]).unwrap();
        pair.server.process_new_packets().unwrap();
        let mut early = vec![];
        if let Some(mut data) = pair.server.early_data() {
            std::io::Read::read_to_end(&mut data, &mut early).unwrap();
        }
        pair.run().unwrap();
        assert_eq!(early == b"early request", accepted);
        let facts = *pair.client.facts();
        assert_eq!((facts.resumed, pair.client.is_established()), (accepted, true));
        let expected = if accepted { EarlyData::Accepted } else { EarlyData::Refused };
        assert_eq!(facts.early_data, expected);
        pair.say(b"response");
        pair.run().unwrap();
        let confirmation = accepted.then_some(Confirmation::EarlyResponse);
        assert_eq!(pair.client.confirmation(), confirmation);
        pair.client.send(b"request").unwrap();
        pair.run().unwrap();
        assert_eq!(pair.got, b"request");
        client = pair.client;
    }
}

/// Returns the cases: name, server arguments, client settings, and the kind of the resumed
/// sessions.
fn cases() -> Vec<(&'static str, Vec<&'static str>, Settings, SessionKind)> {
    let x25519 = [Group::X25519];
    let by_id = |suite| Settings { tickets: false, ..settings(suite, &x25519) };
    let sha384 = settings(Suite::TLS_AES_256_GCM_SHA384, &x25519);
    let cbc = Suite::TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA;
    let ecdhe = settings(ECDHE, &x25519);
    vec![
        ("rsa-ticket", vec!["-tls1_2"], settings(RSA, &x25519), SessionKind::Ticket),
        ("rsa-id", vec!["-tls1_2"], by_id(RSA), SessionKind::SessionId),
        ("ecdhe-ticket", vec!["-tls1_2"], ecdhe.clone(), SessionKind::Ticket),
        (OLD_MASTER_SECRET, vec!["-tls1_2"], ecdhe.clone(), SessionKind::Ticket),
        ("ecdhe-id", vec!["-tls1_2", "-no_ticket"], ecdhe, SessionKind::SessionId),
        ("cbc-ticket", vec!["-tls1_2"], settings(cbc, &x25519), SessionKind::Ticket),
        ("psk", vec!["-tls1_3"], settings(TLS13, &x25519), SessionKind::Psk),
        ("psk-sha384", vec!["-tls1_3"], sha384, SessionKind::Psk),
        ("psk-stateful", vec!["-tls1_3", "-no_ticket"], settings(TLS13, &x25519), SessionKind::Psk),
        (
            "psk-retry",
            vec!["-tls1_3", "-groups", "P-256"],
            settings(TLS13, &[Group::X25519, Group::P256]),
            SessionKind::Psk,
        ),
    ]
}

/// In each case, performs three sessions with a request. The first is full, and the other two are
/// resumed.
#[test]
fn s_server_resumes_by_every_mechanism() {
    for (name, mut arguments, settings, expected) in cases() {
        arguments.extend(["-www", "-cipher", "DEFAULT:@SECLEVEL=0"]);
        let Some(server) = Process::s_server(name, &arguments) else { return };
        let is_extended = !settings.suite.is_tls13() && name != OLD_MASTER_SECRET;
        let mut client = peer::client(settings);
        let mut saved = SavedSession::default();
        for round in 0..3 {
            if round > 0 {
                resume(&mut client, &saved, b"");
            }
            let response =
                String::from_utf8_lossy(&page(server.connect(), &mut client)).into_owned();
            assert!(response.starts_with("HTTP/1.0 200"), "{name} {round}: {response}");
            let told = if round > 0 { "Reused, TLS" } else { "New, TLS" };
            assert!(response.contains(told), "{name} {round}: {response}");
            let facts = *client.facts();
            assert_eq!(facts.resumed, round > 0, "{name} {round}");
            assert_eq!(facts.offered, (round > 0).then_some(expected), "{name} {round}");
            assert_eq!(facts.extended_master_secret, is_extended, "{name} {round}");
            client.save(&mut saved);
            assert!(!saved.is_empty(), "{name} {round}");
        }
    }
}
