//! Keys on P-256: how they are read, and what they sign.

use openssl::bn::{BigNum, BigNumContext};
use openssl::ec::{EcGroup, EcKey, EcPoint};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::sign::Verifier;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs1KeyDer, PrivatePkcs8KeyDer, PrivateSec1KeyDer};
use rustls::sign::SigningKey as _;
use rustls::{SignatureAlgorithm, SignatureScheme};
use tollgate_curves::p256::P256;
use tollgate_rustls::{EcdsaKey, provider};

use crate::identity::{EC_P256, ED25519, RSA_2048, has_no_curves, key, queue};

const SCHEME: SignatureScheme = SignatureScheme::ECDSA_NISTP256_SHA256;

fn pair() -> PKey<Private> {
    PKey::private_key_from_pem(EC_P256.as_bytes()).unwrap()
}

fn sec1(der: Vec<u8>) -> PrivateKeyDer<'static> {
    PrivateSec1KeyDer::from(der).into()
}

#[test]
fn signatures_verify_and_differ() {
    if has_no_curves() {
        return;
    }
    let ours = EcdsaKey::from_der(&key(EC_P256)).unwrap();
    let signer = ours.choose_scheme(&[SignatureScheme::ED25519, SCHEME]).unwrap();
    assert_eq!((signer.scheme(), ours.algorithm()), (SCHEME, SignatureAlgorithm::ECDSA));
    let pair = pair();
    let verifies = |signature: &[u8], message: &[u8]| {
        let mut verifier = Verifier::new(MessageDigest::sha256(), &pair).unwrap();
        verifier.verify_oneshot(signature, message).unwrap()
    };
    let signatures: Vec<_> = (0..50).map(|_| signer.sign(b"a message").unwrap()).collect();
    assert!(signatures.iter().all(|signature| verifies(signature, b"a message")));
    assert!(!verifies(&signatures[0], b"another"));
    assert_ne!(signatures[0], signatures[1], "each has a nonce of its own");
    assert_eq!(format!("{ours:?} {signer:?}"), "EcdsaKey(..) EcdsaSigner(..)");
}

#[test]
fn the_public_key_and_the_scheme_are_those_of_rustls() {
    if has_no_curves() {
        return;
    }
    let ours = EcdsaKey::from_der(&key(EC_P256)).unwrap();
    let theirs = aws_lc_rs::sign::any_supported_type(&key(EC_P256)).unwrap();
    assert_eq!(ours.public_key(), theirs.public_key());
    for offered in [
        &[SCHEME][..],
        &[SignatureScheme::RSA_PSS_SHA256, SCHEME],
        &[SignatureScheme::ECDSA_NISTP384_SHA384, SignatureScheme::ED25519],
        &[],
    ] {
        let ours = ours.choose_scheme(offered).map(|signer| signer.scheme());
        assert_eq!(ours, theirs.choose_scheme(offered).map(|signer| signer.scheme()));
    }
}

#[test]
fn all_encodings_are_read() {
    if has_no_curves() {
        return;
    }
    let sec1_der = pair().ec_key().unwrap().private_key_to_der().unwrap();
    // 30 77, version, 04 20 and the number, then the curve and the point
    let bare = [&[0x30, 0x31], &sec1_der[2..39], &sec1_der[39..51]].concat();
    let pkcs8 = pair().private_key_to_pkcs8().unwrap();
    let public_key = EcdsaKey::from_der(&key(EC_P256)).unwrap();
    for der in [sec1(sec1_der), sec1(bare), PrivatePkcs8KeyDer::from(pkcs8).into()] {
        let read = EcdsaKey::from_der(&der).unwrap();
        assert_eq!(read.public_key(), public_key.public_key());
    }
}

#[test]
fn other_and_invalid_keys_are_refused() {
    let good = pair().ec_key().unwrap().private_key_to_der().unwrap();
    let with = |at: usize, byte: u8| {
        let mut der = good.clone();
        der[at] ^= byte;
        sec1(der)
    };
    let p384 = EcKey::generate(&EcGroup::from_curve_name(Nid::SECP384R1).unwrap()).unwrap();
    let p384 = PKey::from_ec_key(p384).unwrap();
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    let mut order = BigNum::new().unwrap();
    group.order(&mut order, &mut BigNumContext::new().unwrap()).unwrap();
    let number = [&[0x30, 0x31, 2, 1, 1, 4, 0x20], &*order.to_vec(), &good[39..51]].concat();
    for (der, why) in [
        (key(RSA_2048), "RSA"),
        (key(ED25519), "Ed25519"),
        (PrivatePkcs8KeyDer::from(p384.private_key_to_pkcs8().unwrap()).into(), "P-384"),
        (PrivatePkcs1KeyDer::from(good.clone()).into(), "the format of RSA"),
        (PrivatePkcs8KeyDer::from(b"garbage".to_vec()).into(), "garbage"),
        (sec1(good[..good.len() - 1].to_vec()), "a byte is missing"),
        (sec1([&good[..], &[0]].concat()), "a byte follows"),
        (sec1([&[0x30, 0x25], &good[2..39]].concat()), "no curve"),
        (sec1(number), "the order itself"),
        (with(4, 3), "another version"),
        (with(20, 1), "a point of another number"),
        (with(50, 1), "another curve"),
    ] {
        assert!(EcdsaKey::from_der(&der).is_err(), "{why}");
    }
    let damaged = with(20, 1);
    assert!(provider(&queue()).key_provider.load_private_key(damaged).is_err());
}

#[test]
fn the_provider_loads_keys_where_it_is_faster() {
    let loaded = provider(&queue()).key_provider.load_private_key(key(EC_P256)).unwrap();
    let is_ours = format!("{loaded:?}") == "EcdsaKey(..)";
    assert_eq!(is_ours, matches!(P256::best(), Ok(P256::Ifma(..))));
    let mut context = BigNumContext::new().unwrap();
    let pair = pair().ec_key().unwrap();
    let point: &EcPoint = &pair.public_key().to_owned(pair.group()).unwrap();
    let form = openssl::ec::PointConversionForm::UNCOMPRESSED;
    let point = point.to_bytes(pair.group(), form, &mut context).unwrap();
    assert!(loaded.public_key().unwrap().ends_with(&point));
}
