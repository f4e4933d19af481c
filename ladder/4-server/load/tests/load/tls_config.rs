//! Certificates and TLS configurations, good and faulty, of the test server.

use std::sync::{Arc, OnceLock};

use openssl::asn1::Asn1Time;
use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::rsa::Rsa;
use openssl::x509::{X509, X509NameBuilder};
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{NoServerSessionStorage, ProducesTickets, WebPkiClientVerifier};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{RootCertStore, ServerConfig};

/// Returns a key and a certificate in PEM, made once.
pub(crate) fn identity() -> &'static (String, String) {
    static IDENTITY: OnceLock<(String, String)> = OnceLock::new();
    IDENTITY.get_or_init(|| {
        let key = PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap();
        let mut name = X509NameBuilder::new().unwrap();
        name.append_entry_by_text("CN", "localhost").unwrap();
        let name = name.build();
        let mut certificate = X509::builder().unwrap();
        certificate.set_version(2).unwrap();
        certificate.set_subject_name(&name).unwrap();
        certificate.set_issuer_name(&name).unwrap();
        certificate.set_pubkey(&key).unwrap();
        certificate.set_not_before(&Asn1Time::days_from_now(0).unwrap()).unwrap();
        certificate.set_not_after(&Asn1Time::days_from_now(2).unwrap()).unwrap();
        certificate.sign(&key, MessageDigest::sha256()).unwrap();
        let text = |pem: Vec<u8>| String::from_utf8(pem).unwrap();
        (text(key.private_key_to_pem_pkcs8().unwrap()), text(certificate.build().to_pem().unwrap()))
    })
}

/// Returns the key and certificate in DER.
fn identity_der() -> (PrivateKeyDer<'static>, Vec<u8>) {
    let (key, certificate) = identity();
    let key = PKey::private_key_from_pem(key.as_bytes()).unwrap().private_key_to_pkcs8().unwrap();
    let certificate = X509::from_pem(certificate.as_bytes()).unwrap().to_der().unwrap();
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
