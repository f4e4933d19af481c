//! The client names the alerts of a rustls server, and the phase in which they arrived.

use std::sync::Arc;

use rustls::ServerConnection;
use tollgate_tls_client::{AlertDescription, AlertLevel, Error, Group, SessionPhase, Settings};

use crate::peer::{ECDHE, Pair, RSA, Server, TLS13, client};

fn alert(phase: SessionPhase, description: AlertDescription) -> Result<(), Error> {
    Err(Error::Alert { phase, level: AlertLevel::FATAL, description })
}

#[test]
fn missing_common_parameters_are_reported_in_phase_hello() {
    let all = [Group::X25519, Group::P256];
    let cases = [
        // no common suite or version
        (ECDHE, TLS13, AlertDescription::PROTOCOL_VERSION),
        (TLS13, ECDHE, AlertDescription::PROTOCOL_VERSION),
        // rustls has no RSA key exchange
        (RSA, ECDHE, AlertDescription::HANDSHAKE_FAILURE),
    ];
    for (ours, theirs, description) in cases {
        let mut pair = Pair::new(Settings::new(ours), &Server::new(theirs, &all));
        assert_eq!(pair.run(), alert(SessionPhase::Hello, description), "{ours} {theirs}");
        assert_eq!(pair.run(), Ok(()), "nothing is left to carry");
        let again = pair.client.poll().map(|_| ());
        assert_eq!(again, alert(SessionPhase::Hello, description), "the error stays");
    }
    for suite in [ECDHE, TLS13] {
        let server = Server::new(suite, &[Group::P256]);
        let mut pair = Pair::new(Settings::new(suite), &server);
        assert_eq!(pair.run(), alert(SessionPhase::Hello, AlertDescription::HANDSHAKE_FAILURE));

        let mut config = Server::new(suite, &all).config();
        config.alpn_protocols = vec![b"gopher".to_vec()];
        let server = ServerConnection::new(Arc::new(config)).unwrap();
        let mut pair = Pair::of_connections(client(Settings::new(suite)), server);
        // in TLS 1.3 this alert comes after the ServerHello, because ALPN is negotiated under
        // encryption
        let phase = if suite == TLS13 { SessionPhase::KeyExchange } else { SessionPhase::Hello };
        assert_eq!(pair.run(), alert(phase, AlertDescription::NO_APPLICATION_PROTOCOL));
    }
}

/// In TLS 1.3 the client has finished before the server refuses it. A finished client therefore
/// does not mean that the server has confirmed the handshake.
#[test]
fn a_refused_client_gets_an_alert_in_phase_finished_or_confirm() {
    let demanding =
        |suite| Server { demands_certificate: true, ..Server::new(suite, &[Group::X25519]) };
    let mut pair = Pair::new(Settings::new(ECDHE), &demanding(ECDHE));
    let expected = alert(SessionPhase::Finished, AlertDescription::CERTIFICATE_REQUIRED);
    assert_eq!(pair.run(), expected);
    assert!(pair.client.facts().client_certificate_asked);
    assert!(!pair.client.is_established());

    let mut pair = Pair::new(Settings::new(TLS13), &demanding(TLS13));
    assert_eq!(pair.run(), alert(SessionPhase::Confirm, AlertDescription::CERTIFICATE_REQUIRED));
    assert!(pair.client.facts().client_certificate_asked);
    assert!(pair.client.is_established() && pair.client.confirmation().is_none());
}

#[test]
fn a_stream_that_ends_early_is_an_error_in_its_phase() {
    for suite in [ECDHE, TLS13] {
        let ended = |phase| Err(Error::EndOfStream { phase });
        // small records, so that the truncated flight has whole records
        let server = Server { fragment_bytes: Some(100), ..Server::new(suite, &[Group::X25519]) };
        let mut pair = Pair::new(Settings::new(suite), &server);
        pair.forward();
        assert_eq!(pair.client.end_of_stream(), ended(SessionPhase::Hello));
        assert_eq!(pair.client.poll().map(|_| ()), ended(SessionPhase::Hello), "the error stays");

        let mut pair = Pair::new(Settings::new(suite), &server);
        pair.forward();
        let flight = pair.server_flight();
        pair.client.read_tls(&flight[..flight.len() / 2], |_| ()).unwrap();
        assert_eq!(pair.client.end_of_stream(), ended(SessionPhase::KeyExchange));

        let mut pair = Pair::new(Settings::new(suite), &Server::new(suite, &[Group::X25519]));
        pair.run().unwrap();
        let phase = pair.client.phase();
        assert_eq!(pair.client.end_of_stream(), ended(phase));
        assert!(pair.client.send(b"more").is_err());
    }
}
