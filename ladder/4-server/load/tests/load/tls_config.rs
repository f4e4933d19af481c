//! Certificates and TLS configurations, good and faulty, of the test server.

use std::sync::Arc;

use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{NoServerSessionStorage, ProducesTickets, WebPkiClientVerifier};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{RootCertStore, ServerConfig};

#[path = "../../../../3-session/tls-client/tests/client/peer/certificate.rs"]
#[allow(dead_code, reason = "the TLS client's tests have further keys")]
mod certificate;

/// Returns a certificate and its key, both in DER; the key is PKCS#8.
pub(crate) fn identity() -> (Vec<u8>, Vec<u8>) {
    certificate::certificate(certificate::RSA_2048)
}

/// Returns the key and certificate in DER.
fn identity_der() -> (PrivateKeyDer<'static>, Vec<u8>) {
    let (certificate, key) = identity();
    (PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key)), certificate)
}

/// Returns the configuration of a server that sends half of its certificate.
pub(crate) fn broken() -> ServerConfig {
    let (key, certificate) = identity_der();
    let half = CertificateDer::from(certificate[..certificate.len() / 2].to_vec());
    let key = CertifiedKey::new(vec![half], any_supported_type(&key).unwrap());
    let resolver = Arc::new(SingleCertAndKey::from(key));
    ServerConfig::builder().with_no_client_auth().with_cert_resolver(resolver)
}

/// Returns the configuration of a server that gives empty tickets.
pub(crate) fn ticketing() -> ServerConfig {
    let mut config = config(false);
    config.ticketer = Arc::new(EmptyTickets);
    config
}

#[derive(Debug)]
struct EmptyTickets;

impl ProducesTickets for EmptyTickets {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        3600
    }

    fn encrypt(&self, _: &[u8]) -> Option<Vec<u8>> {
        Some(Vec::new())
    }

    fn decrypt(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

/// Returns a good server; with `strict` it requires a client certificate.
pub(crate) fn config(strict: bool) -> ServerConfig {
    let (key, certificate) = identity_der();
    let builder = ServerConfig::builder();
    let certificate = CertificateDer::from(certificate);
    let builder = if strict {
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).unwrap();
        let verifier = WebPkiClientVerifier::builder(Arc::new(roots)).build().unwrap();
        builder.with_client_cert_verifier(verifier)
    } else {
        builder.with_no_client_auth()
    };
    builder.with_single_cert(vec![certificate], key).unwrap()
}

/// Returns the configuration of a server that accepts up to `bytes_max` bytes of early data, and
/// may answer them at once.
pub(crate) fn early(bytes_max: u32) -> ServerConfig {
    let mut config = config(false);
    config.max_early_data_size = bytes_max;
    config.send_half_rtt_data = true;
    config
}

/// Returns the configuration of a server that neither gives nor resumes sessions.
pub(crate) fn forgetful() -> ServerConfig {
    let mut config = config(false);
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    config
}
