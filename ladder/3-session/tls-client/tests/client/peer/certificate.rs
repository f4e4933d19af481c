//! Self-signed certificates for the test keys.

use openssl::asn1::Asn1Time;
use openssl::bn::BigNum;
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{Id, PKey};
use openssl::x509::{X509, X509NameBuilder};

pub(crate) const RSA_2048: &str = include_str!("../../../../../../vectors/keys/rsa-2048.pem");
pub(crate) const EC_P256: &str = include_str!("../../../../../../vectors/keys/ec-p256.pem");
pub(crate) const ED25519: &str = include_str!("../../../../../../vectors/keys/ed25519.pem");

/// Generates a key on P-384.
pub(crate) fn ec_p384() -> String {
    let group = EcGroup::from_curve_name(Nid::SECP384R1).unwrap();
    let key = PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap();
    String::from_utf8(key.private_key_to_pem_pkcs8().unwrap()).unwrap()
}

/// Returns a self-signed certificate and its key. Both are in DER, and the key is PKCS#8.
pub(crate) fn certificate(key_pem: &str) -> (Vec<u8>, Vec<u8>) {
    let key = PKey::private_key_from_pem(key_pem.as_bytes()).unwrap();
    let mut name = X509NameBuilder::new().unwrap();
    name.append_entry_by_text("CN", "host.example").unwrap();
    let name = name.build();
    let mut builder = X509::builder().unwrap();
    builder.set_version(2).unwrap();
    builder.set_serial_number(&BigNum::from_u32(1).unwrap().to_asn1_integer().unwrap()).unwrap();
    builder.set_subject_name(&name).unwrap();
    builder.set_issuer_name(&name).unwrap();
    builder.set_not_before(&Asn1Time::days_from_now(0).unwrap()).unwrap();
    builder.set_not_after(&Asn1Time::days_from_now(2).unwrap()).unwrap();
    builder.set_pubkey(&key).unwrap();
    let hashes = key.id() != Id::ED25519;
    let digest = if hashes { MessageDigest::sha256() } else { MessageDigest::null() };
    builder.sign(&key, digest).unwrap();
    (builder.build().to_der().unwrap(), key.private_key_to_pkcs8().unwrap())
}
