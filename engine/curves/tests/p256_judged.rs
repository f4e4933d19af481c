//! P-256: every kernel against AWS-LC, on random and extreme keys. Wycheproof has extreme points.

#![allow(clippy::unwrap_used, reason = "tests")]

mod inputs;

use core::array::from_fn;

use aws_lc_rs::agreement::{self, ECDH_P256, UnparsedPublicKey};
use aws_lc_rs::digest::{Digest, SHA256};
use aws_lc_rs::signature::{self, ECDSA_P256_SHA256_FIXED};
use fastrand::Rng;
use num_bigint::BigUint;
use tollgate_curves::p256::{Nonce, P256, PublicKey, Request, SecretKey, Signature, VerifyRequest};

use crate::inputs::{bytes, rounds};

fn key(rng: &mut Rng, round: usize) -> SecretKey {
    loop {
        if let Ok(key) = SecretKey::from_bytes(&bytes(rng, round)) {
            return key;
        }
    }
}

/// 2^j and n - 2^j, and numbers close to n/2 and n. With the powers, sums of windows come as close
/// to being equal or opposite as they can.
fn extreme_keys() -> Vec<SecretKey> {
    let (n, one) = (order(), BigUint::from(1u8));
    let powers = (0..256).map(|j| &one << j).flat_map(|power| [&n - &power, power]);
    let numbers = powers.chain([(&n - 1u8) / 2u8, (&n + 1u8) / 2u8, (&one << 256) - &n]);
    numbers.map(|number| SecretKey::from_bytes(&fixed(&number)).unwrap()).collect()
}

/// Eight of the extreme keys, or random ones after those.
fn keys(rng: &mut Rng, round: usize, extremes: &[SecretKey]) -> [SecretKey; 8] {
    from_fn(|l| extremes.get(8 * round + l).cloned().unwrap_or_else(|| key(rng, round)))
}

fn theirs(key: &SecretKey) -> agreement::PrivateKey {
    agreement::PrivateKey::from_private_key(&ECDH_P256, &key.to_bytes()).unwrap()
}

fn their_public(key: &SecretKey) -> [u8; 65] {
    theirs(key).compute_public_key().unwrap().as_ref().try_into().unwrap()
}

fn public(key: &SecretKey) -> PublicKey {
    PublicKey::from_bytes(&their_public(key)).unwrap()
}

fn their_agreement(key: &SecretKey, peer: &PublicKey) -> [u8; 32] {
    let peer = UnparsedPublicKey::new(&ECDH_P256, peer.to_bytes());
    agreement::agree(&theirs(key), peer, (), |shared| Ok(shared.try_into().unwrap())).unwrap()
}

fn they_verify(key: &PublicKey, digest: &[u8], signature: &Signature) -> bool {
    let key = signature::UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key.to_bytes());
    let digest = Digest::import_less_safe(digest, &SHA256).unwrap();
    key.verify_digest(&digest, &signature.to_bytes()).is_ok()
}

#[test]
fn public_keys() {
    let (mut rng, extremes) = (Rng::with_seed(21), extreme_keys());
    for round in 0..rounds(500) {
        let keys = keys(&mut rng, round, &extremes);
        let expected = keys.each_ref().map(their_public);
        for curve in P256::all() {
            let public = curve.public_keys(&keys);
            let public: Vec<_> = public.iter().map(PublicKey::to_bytes).collect();
            assert_eq!(public, expected, "round {round}, {curve:?}");
            let alone = curve.public_key(&keys[round % 8]).to_bytes();
            assert_eq!(alone, expected[round % 8], "round {round}, {curve:?}");
        }
    }
}

#[test]
fn agreements() {
    let mut rng = Rng::with_seed(22);
    let extremes = extreme_keys();
    for round in 0..rounds(150) {
        let keys = keys(&mut rng, round, &extremes);
        let peers: [_; 8] = from_fn(|_| public(&key(&mut rng, round / 4)));
        let expected: [_; 8] = from_fn(|l| their_agreement(&keys[l], &peers[l]));
        let pairs: [_; 8] = from_fn(|l| (&keys[l], &peers[l]));
        for curve in P256::all() {
            let shared = curve.agree_all(&pairs);
            let shared: Vec<_> = shared.iter().map(|shared| *shared.as_bytes()).collect();
            assert_eq!(shared, expected, "round {round}, {curve:?}");
            let (alone, expected) = (pairs[round % 8], expected[round % 8]);
            let alone = *curve.agree(alone.0, alone.1).as_bytes();
            assert_eq!(alone, expected, "round {round}, {curve:?}");
        }
    }
}

/// AWS-LC verifies what each kernel signs; each kernel verifies it, and refuses it after a change.
#[test]
fn signatures() {
    let (mut rng, extremes) = (Rng::with_seed(23), extreme_keys());
    // those that are 0 or 1 modulo the order, and the largest
    let numbers = [BigUint::ZERO, order(), order() + 1u8, number(&"f".repeat(64))];
    for round in 0..rounds(100) {
        let keys = keys(&mut rng, round, &extremes);
        let public = keys.each_ref().map(public);
        let noise: [[u8; 32]; 8] = from_fn(|_| bytes(&mut rng, round / 4));
        let mut digests: [[u8; 32]; 8] = from_fn(|_| bytes(&mut rng, round / 2));
        digests[round % 8] = fixed(&numbers[round / 8 % numbers.len()]);
        let requests: [_; 8] = from_fn(|l| Request {
            key: &keys[l],
            digest: &digests[l],
            nonce: Nonce::Hedged(&noise[l]),
        });
        for curve in P256::all() {
            let signed: Vec<_> =
                curve.sign_all(&requests).into_iter().map(Result::unwrap).collect();
            let l = round % 8;
            let alone = curve.sign(requests[l].key, requests[l].digest, requests[l].nonce);
            assert_eq!(alone.unwrap(), signed[l], "round {round}, {curve:?}");
            let mut requests: [_; 8] = from_fn(|l| VerifyRequest {
                key: &public[l],
                digest: &digests[l],
                signature: signed[l],
            });
            for request in &requests {
                assert!(
                    they_verify(request.key, request.digest, &request.signature),
                    "{round}, {curve:?}"
                );
            }
            assert_eq!(curve.verify_all(&requests), [true; 8], "round {round}, {curve:?}");
            let mut wrong = digests[l];
            wrong[round / 8 % 32] ^= 1 << l;
            requests[l].digest = &wrong;
            let expected: [_; 8] = from_fn(|other| other != l);
            assert_eq!(curve.verify_all(&requests), expected, "round {round}, {curve:?}");
            let alone = (requests[l].key, requests[l].digest);
            assert!(!curve.verify(alone.0, alone.1, &signed[l]), "round {round}, {curve:?}");
        }
    }
}

/// Batches of all sizes, with a key twice, so that sums of lanes are equal, and a request twice;
/// the nonces of some batches are deterministic.
#[test]
fn batches_of_every_size() {
    let mut rng = Rng::with_seed(24);
    for (curve, count) in P256::all().into_iter().flat_map(|c| (0..=20).map(move |n| (c, n))) {
        let mut keys: Vec<_> = (0..count).map(|_| key(&mut rng, 3)).collect();
        if count > 5 {
            keys[5] = keys[1].clone();
        }
        let public: Vec<_> = keys.iter().map(|key| curve.public_key(key)).collect();
        assert_eq!(curve.public_keys(&keys), public, "{count}, {curve:?}");
        let pairs: Vec<_> = keys.iter().zip(public.iter().rev()).collect();
        let noise: Vec<_> = (0..count).map(|_| bytes(&mut rng, 3)).collect();
        let mut requests: Vec<_> = keys
            .iter()
            .zip(&noise)
            .map(|(key, noise)| Request { key, digest: noise, nonce: Nonce::Hedged(noise) })
            .collect();
        if count % 5 == 4 {
            requests[0].nonce = Nonce::Deterministic; // the whole batch is signed alone
        }
        if count % 3 == 2 {
            requests[1] = requests[0];
        }
        let (shared, signed) = (curve.agree_all(&pairs), curve.sign_all(&requests));
        assert_eq!((shared.len(), signed.len()), (count, count));
        for (l, request) in requests.iter().enumerate() {
            let alone = curve.agree(pairs[l].0, pairs[l].1);
            assert_eq!(shared[l].as_bytes(), alone.as_bytes(), "{count}, {curve:?}");
            let alone = curve.sign(request.key, request.digest, request.nonce);
            assert_eq!(signed[l], alone, "{count}, {curve:?}");
        }
        // one at a time is of another digest
        let owners: Vec<_> = requests.iter().map(|request| curve.public_key(request.key)).collect();
        for bad in 0..count {
            let verified = |l: usize| VerifyRequest {
                key: &owners[l],
                digest: if l == bad { &[7; 32] } else { requests[l].digest },
                signature: signed[l].unwrap(),
            };
            let requests: Vec<_> = (0..count).map(verified).collect();
            let expected: Vec<_> = (0..count).map(|l| l != bad).collect();
            assert_eq!(curve.verify_all(&requests), expected, "{count}, {bad}, {curve:?}");
        }
    }
}

fn number(hex: &str) -> BigUint {
    BigUint::parse_bytes(hex.as_bytes(), 16).unwrap()
}

fn order() -> BigUint {
    number("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
}

fn fixed(number: &BigUint) -> [u8; 32] {
    let (mut bytes, number) = ([0; 32], number.to_bytes_be());
    bytes[32 - number.len()..].copy_from_slice(&number);
    bytes
}
