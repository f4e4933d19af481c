//! Test keys, certificates and queues.

use openssl::asn1::Asn1Time;
use openssl::hash::MessageDigest;
use openssl::pkey::{Id, PKey};
use openssl::x509::{X509, X509NameBuilder};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tollgate_curves::p256::P256;
use tollgate_queue::{Config, PrivateJob, Queue};

pub(crate) const RSA_2048: &str = include_str!("../../../../vectors/keys/rsa-2048.pem");
pub(crate) const EC_P256: &str = include_str!("../../../../vectors/keys/ec-p256.pem");
pub(crate) const ED25519: &str = include_str!("../../../../vectors/keys/ed25519.pem");

/// Returns whether the engine has no kernels of P-256 here: aws-lc-rs has that curve then.
pub(crate) fn has_no_curves() -> bool {
    let has_none = P256::best().is_err();
    if has_none {
        println!("not run: this processor has no kernels of P-256");
    }
    has_none
}

pub(crate) fn queue() -> Queue<PrivateJob> {
    Queue::of_this_processor(Config::default()).unwrap()
}

/// Returns the key in PKCS#8.
pub(crate) fn key(pem: &str) -> PrivateKeyDer<'static> {
    let key = PKey::private_key_from_pem(pem.as_bytes()).unwrap();
    PrivatePkcs8KeyDer::from(key.private_key_to_pkcs8().unwrap()).into()
}

/// Returns a self-signed certificate.
pub(crate) fn certificate(pem: &str) -> CertificateDer<'static> {
    let key = PKey::private_key_from_pem(pem.as_bytes()).unwrap();
    let mut name = X509NameBuilder::new().unwrap();
    name.append_entry_by_text("CN", "host.example").unwrap();
    let name = name.build();
    let mut builder = X509::builder().unwrap();
    builder.set_version(2).unwrap();
    builder.set_subject_name(&name).unwrap();
    builder.set_issuer_name(&name).unwrap();
    builder.set_not_before(&Asn1Time::days_from_now(0).unwrap()).unwrap();
    builder.set_not_after(&Asn1Time::days_from_now(2).unwrap()).unwrap();
    builder.set_pubkey(&key).unwrap();
    let is_ed25519 = key.id() == Id::ED25519;
    let digest = if is_ed25519 { MessageDigest::null() } else { MessageDigest::sha256() };
    builder.sign(&key, digest).unwrap();
    builder.build().to_der().unwrap().into()
}
