//! The server side of the client under test: a rustls server, and a conversion of input bytes to
//! records.

use std::sync::Arc;

use rustls::crypto::aws_lc_rs::{Ticketer, default_provider, sign::any_supported_type};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ServerConfig, ServerConnection};
use tollgate_tls_client::{Config, Connection, SavedSession, Settings, Suite, VerifySignature};

/// Returns the settings of clients of this server.
pub(crate) fn settings(suite: Suite) -> Settings {
    Settings {
        verify_signature: VerifySignature::Never,
        server_name: Some("host.example".to_owned()),
        save_sessions: true,
        ..Settings::new(suite)
    }
}

/// Returns a server. With `tickets`, its tickets contain the sessions and can be used again;
/// otherwise the server stores sessions itself.
pub(crate) fn server(tickets: bool) -> ServerConfig {
    let pem = include_str!("../../../vectors/keys/rsa-2048.pem");
    let key = PrivateKeyDer::from_pem_slice(pem.as_bytes()).expect("a key");
    let key = any_supported_type(&key).expect("a key of RSA");
    // the key need not belong to the certificate: the client verifies no signature
    let certificate = include_bytes!("../../seeds/texts/probe/certificate.der");
    let certified = CertifiedKey::new(vec![CertificateDer::from(&certificate[..])], key);
    let mut server = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .expect("both versions")
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
    server.max_early_data_size = 1000;
    if tickets {
        server.ticketer = Ticketer::new().expect("random bytes");
    }
    server
}

/// Completes a handshake and delivers the server's tickets.
pub(crate) fn shake_hands(client: &mut Connection, server: &mut ServerConnection) {
    while !client.outgoing().is_empty() {
        let mut said = client.outgoing();
        let count = server.read_tls(&mut said).expect("memory");
        client.sent(count).expect("as much as was there");
        server.process_new_packets().expect("an honest client");
        let mut answer = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut answer).expect("memory");
        }
        client.read_tls(&answer, |_| ()).expect("an honest server");
    }
    assert!(client.is_established());
}

/// Returns a session that the server resumes.
pub(crate) fn saved(suite: Suite, server: &Arc<ServerConfig>) -> SavedSession {
    let mut server = ServerConnection::new(Arc::clone(server)).expect("a server");
    let config = Config::new(settings(suite)).expect("settings of the suite");
    let mut client = Connection::new(&Arc::new(config)).expect("random bytes and key pairs");
    shake_hands(&mut client, &mut server);
    let mut saved = SavedSession::default();
    assert!(client.save(&mut saved), "{suite}: a session");
    saved
}

/// Converts the input to records, as content type and bytes. For each record the input has a kind,
/// a length of two bytes, and a body. A kind below 128 is that of a handshake message. Otherwise
/// the record has the content type kind - 128.
pub(crate) fn records(mut bytes: &[u8]) -> impl Iterator<Item = (u8, Vec<u8>)> {
    core::iter::from_fn(move || {
        let [kind, high, low, rest @ ..] = bytes else { return None };
        let length = usize::from(u16::from_be_bytes([*high, *low])).min(rest.len()).min(16_000);
        let (body, tail) = rest.split_at(length);
        bytes = tail;
        Some(if *kind < 128 { (22, message(*kind, body)) } else { (kind - 128, body.to_vec()) })
    })
}

/// Returns a handshake message.
pub(crate) fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len()).expect("at most 16000");
    [&[kind, 0], &length.to_be_bytes()[..], body].concat()
}
