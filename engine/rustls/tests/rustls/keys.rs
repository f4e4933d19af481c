//! Loaded keys, refused keys, and signatures.

use core::time::Duration;
use std::sync::Arc;

use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::rsa::Padding;
use openssl::sign::{RsaPssSaltlen, Verifier};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs1KeyDer, PrivatePkcs8KeyDer};
use rustls::sign::SigningKey as _;
use rustls::{Error, InconsistentKeys, ServerConfig, SignatureAlgorithm, SignatureScheme};
use tollgate_rsa::PrivateKey;
use tollgate_rustls::{SigningKey, provider};

use crate::identity::{EC_P256, ED25519, RSA_2048, certificate, key, queue};

const ALL: [SignatureScheme; 6] = [
    SignatureScheme::RSA_PSS_SHA512,
    SignatureScheme::RSA_PSS_SHA384,
    SignatureScheme::RSA_PSS_SHA256,
    SignatureScheme::RSA_PKCS1_SHA512,
    SignatureScheme::RSA_PKCS1_SHA384,
    SignatureScheme::RSA_PKCS1_SHA256,
];

/// Verifies with OpenSSL; for PSS, with a salt as long as the digest.
fn verifies(scheme: SignatureScheme, message: &[u8], signature: &[u8]) -> bool {
    let name = format!("{scheme:?}");
    let digest = match &name[name.len() - 3..] {
        "256" => MessageDigest::sha256(),
        "384" => MessageDigest::sha384(),
        _ => MessageDigest::sha512(),
    };
    let key = PKey::private_key_from_pem(RSA_2048.as_bytes()).unwrap();
    let mut verifier = Verifier::new(digest, &key).unwrap();
    if name.contains("PSS") {
        verifier.set_rsa_padding(Padding::PKCS1_PSS).unwrap();
        verifier.set_rsa_pss_saltlen(RsaPssSaltlen::DIGEST_LENGTH).unwrap();
    }
    verifier.update(message).unwrap();
    verifier.verify(signature).unwrap()
}

#[test]
fn every_scheme_signs_through_the_engine() {
    let queue = queue();
    let ours = SigningKey::from_der(&queue, &key(RSA_2048)).unwrap();
    assert_eq!(ours.algorithm(), SignatureAlgorithm::RSA);
    for (done, scheme) in (1..).zip(ALL) {
        let signer = ours.choose_scheme(&[SignatureScheme::ED25519, scheme]).unwrap();
        assert_eq!(signer.scheme(), scheme);
        let signature = signer.sign(b"a message").unwrap();
        assert!(verifies(scheme, b"a message", &signature), "{scheme:?}");
        assert!(!verifies(scheme, b"another", &signature), "{scheme:?}");
        assert_eq!(queue.stats().unwrap().done, done);
    }
}

#[test]
fn schemes_and_the_public_key_are_those_of_rustls() {
    let ours = SigningKey::from_der(&queue(), &key(RSA_2048)).unwrap();
    let theirs = aws_lc_rs::sign::any_supported_type(&key(RSA_2048)).unwrap();
    assert_eq!(ours.public_key(), theirs.public_key());
    // every subset of a client's schemes, not in order of preference
    let offers = [ALL[5], ALL[0], ALL[4], ALL[1], ALL[3], ALL[2], SignatureScheme::RSA_PKCS1_SHA1];
    for subset in 0..1_u32 << offers.len() {
        let offered: Vec<_> =
            (0..offers.len()).filter(|i| subset >> i & 1 == 1).map(|i| offers[i]).collect();
        let ours = ours.choose_scheme(&offered).map(|signer| signer.scheme());
        assert_eq!(ours, theirs.choose_scheme(&offered).map(|signer| signer.scheme()));
    }
}

#[test]
fn both_encodings_are_read_and_debug_shows_no_secret() {
    let queue = queue();
    let pair = PKey::private_key_from_pem(RSA_2048.as_bytes()).unwrap();
    let pkcs1 = PrivatePkcs1KeyDer::from(pair.rsa().unwrap().private_key_to_der().unwrap());
    let from_pkcs1 = SigningKey::from_der(&queue, &pkcs1.into()).unwrap();
    let from_pkcs8 = SigningKey::from_der(&queue, &key(RSA_2048)).unwrap();
    assert_eq!(from_pkcs1.public_key(), from_pkcs8.public_key());
    assert_eq!(format!("{from_pkcs1:?}"), "SigningKey { bits: 2048, .. }");
    let signer = from_pkcs1.choose_scheme(&ALL).unwrap();
    assert_eq!(format!("{signer:?}"), "Signer { scheme: RSA_PSS_SHA512, .. }");
}

#[test]
fn invalid_keys_are_refused_with_an_instruction() {
    let refused = |der: PrivateKeyDer<'static>| {
        let error = provider(&queue()).key_provider.load_private_key(der).unwrap_err();
        let Error::General(text) = error else { panic!("{error:?}") };
        assert!(!text.contains('\n'), "{text}");
        text
    };
    let damaged = key(include_str!("../../../../vectors/keys/bad/bad-dp.pem"));
    assert!(refused(damaged).contains("d_p"));
    let small = refused(key(include_str!("../../../../vectors/keys/rsa-1024.pem")));
    assert!(small.contains("1024 bits") && small.contains("make another"), "{small}");
    let garbage = PrivatePkcs8KeyDer::from(b"garbage".to_vec());
    assert!(refused(garbage.into()).contains("give a key file"));
    let garbage = PrivatePkcs1KeyDer::from(vec![0x30, 0x80]);
    assert!(refused(garbage.into()).contains("DER"));
    let other = SigningKey::from_der(&queue(), &key(EC_P256)).unwrap_err();
    assert!(other.to_string().contains("rustls's own provider"), "{other}");
}

#[test]
fn other_keys_are_left_to_rustls() {
    let queue = queue();
    let provider = provider(&queue);
    let sec1 = PKey::private_key_from_pem(EC_P256.as_bytes()).unwrap().ec_key().unwrap();
    let sec1 = rustls::pki_types::PrivateSec1KeyDer::from(sec1.private_key_to_der().unwrap());
    for (der, algorithm) in [
        (key(EC_P256), SignatureAlgorithm::ECDSA),
        (sec1.into(), SignatureAlgorithm::ECDSA),
        (key(ED25519), SignatureAlgorithm::ED25519),
    ] {
        let key = provider.key_provider.load_private_key(der).unwrap();
        assert_eq!(key.algorithm(), algorithm);
    }
    assert_eq!(queue.stats().unwrap().submitted, 0);
}

#[test]
fn a_key_of_another_certificate_is_refused() {
    let other = include_str!("../../../../vectors/keys/rsa-3072.pem");
    let refused = ServerConfig::builder_with_provider(Arc::new(provider(&queue())))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate(RSA_2048)], key(other));
    let refused = refused.unwrap_err();
    assert_eq!(refused, Error::InconsistentKeys(InconsistentKeys::KeyMismatch));
}

#[test]
fn an_error_of_the_queue_is_an_error_of_the_signature() {
    let queue = queue();
    let key = Arc::new(PrivateKey::from_pem(RSA_2048).unwrap());
    let key = SigningKey::new(&queue, key).unwrap();
    let signer = key.choose_scheme(&ALL).unwrap();
    queue.shut_down(Duration::ZERO).unwrap();
    let Err(Error::General(text)) = signer.sign(b"a message") else {
        panic!("a queue that was shut down signed");
    };
    assert!(text.contains("shutting down"), "{text}");
}
