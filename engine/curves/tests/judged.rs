//! Every kernel against AWS-LC, on random keys and patterned ones. Wycheproof has extreme points.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

mod inputs;

use aws_lc_rs::agreement;
use fastrand::Rng;
use tollgate_curves::p256::P256;
use tollgate_curves::{HaveGraviola, LowOrder, PublicKey, SecretKey, Unavailable, X25519};

use crate::inputs::{bytes, rounds};

/// AWS-LC's result. It refuses a shared secret of zero too.
fn other(secret: &[u8; 32], peer: &[u8; 32]) -> Result<[u8; 32], LowOrder> {
    let secret = agreement::PrivateKey::from_private_key(&agreement::X25519, secret).unwrap();
    let peer = agreement::UnparsedPublicKey::new(&agreement::X25519, peer);
    agreement::agree(&secret, peer, LowOrder, |shared| Ok(shared.try_into().unwrap()))
}

fn other_public(secret: &[u8; 32]) -> [u8; 32] {
    let secret = agreement::PrivateKey::from_private_key(&agreement::X25519, secret).unwrap();
    secret.compute_public_key().unwrap().as_ref().try_into().unwrap()
}

fn agreed(curve: X25519, secret: &[u8; 32], peer: &[u8; 32]) -> Result<[u8; 32], LowOrder> {
    let secret = SecretKey::from_bytes(secret);
    curve.agree(&secret, &PublicKey(*peer)).map(|shared| *shared.as_bytes())
}

fn agreed_all(curve: X25519, pairs: &[([u8; 32], [u8; 32])]) -> Vec<Result<[u8; 32], LowOrder>> {
    let pairs: Vec<_> =
        pairs.iter().map(|(k, u)| (SecretKey::from_bytes(k), PublicKey(*u))).collect();
    let pairs: Vec<_> = pairs.iter().map(|(k, u)| (k, u)).collect();
    let shared = curve.agree_all(&pairs);
    shared.into_iter().map(|shared| shared.map(|shared| *shared.as_bytes())).collect()
}

#[test]
fn agreements_are_those_of_other_code() {
    let mut rng = Rng::with_seed(1);
    for round in 0..rounds(2_000) {
        let pairs: Vec<_> =
            (0..8).map(|_| (bytes(&mut rng, round), bytes(&mut rng, round / 4))).collect();
        let expected: Vec<_> = pairs.iter().map(|(k, u)| other(k, u)).collect();
        for curve in X25519::all() {
            assert_eq!(agreed_all(curve, &pairs), expected, "round {round}, {curve:?}");
            let ((k, u), expected) = (pairs[round % 8], expected[round % 8]);
            assert_eq!(agreed(curve, &k, &u), expected, "round {round}, {curve:?}");
            let exchanged = curve.exchange(&SecretKey::from_bytes(&k), &PublicKey(u));
            let exchanged = exchanged.map(|(public, shared)| (public.0, *shared.as_bytes()));
            let expected = expected.map(|shared| (other_public(&k), shared));
            assert_eq!(exchanged, expected, "round {round}, {curve:?}");
        }
    }
}

#[test]
fn public_keys_are_those_of_other_code() {
    let mut rng = Rng::with_seed(3);
    for round in 0..rounds(4_000) {
        let mut secrets: Vec<_> = (0..8).map(|_| bytes(&mut rng, round)).collect();
        if round < 256 {
            // every digit the same: each entry of each window, with both signs and zero
            secrets[round % 8] = [u8::try_from(round).unwrap(); 32];
        }
        let expected: Vec<_> = secrets.iter().map(|k| PublicKey(other_public(k))).collect();
        let keys: Vec<_> = secrets.iter().map(SecretKey::from_bytes).collect();
        for curve in X25519::all() {
            assert_eq!(curve.public_keys(&keys), expected, "round {round}, {curve:?}");
            assert_eq!(curve.public_key(&keys[round % 8]), expected[round % 8], "{curve:?}");
        }
    }
}

#[test]
fn batches_of_every_size() {
    let mut rng = Rng::with_seed(4);
    for curve in X25519::all() {
        for n in 0..=17 {
            let pairs: Vec<_> = (0..n).map(|_| (bytes(&mut rng, 3), bytes(&mut rng, 3))).collect();
            let expected: Vec<_> = pairs.iter().map(|(k, u)| agreed(curve, k, u)).collect();
            assert_eq!(agreed_all(curve, &pairs), expected, "{n}, {curve:?}");
            let keys: Vec<_> = pairs.iter().map(|(k, _)| SecretKey::from_bytes(k)).collect();
            let expected: Vec<_> = keys.iter().map(|key| curve.public_key(key)).collect();
            assert_eq!(curve.public_keys(&keys), expected, "{n}, {curve:?}");
        }
    }
}

/// Says what this run covers, as the same test of `tollgate-mont` does.
#[test]
fn every_kernel_of_this_machine_is_tested() {
    println!("X25519 tested: {:?}", X25519::all());
    let flags = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let veto = std::env::var("TOLLGATE_CPU_DISABLE").unwrap_or_default();
    let has = |word: &str, needed: &[&str]| {
        cfg!(target_arch = "x86_64")
            && needed.iter().all(|flag| flags.split_whitespace().any(|f| f == *flag))
            && !veto.split(',').any(|vetoed| vetoed.trim() == word)
    };
    let ifma = has("ifma", &["avx512f", "avx512dq", "avx512vl", "avx512ifma"]);
    let mulx = has("adx", &["bmi2", "adx"]) && has("avx2", &["avx2"]);
    let graviola = match cfg!(target_arch = "x86_64") {
        true => mulx && has("none", &["aes", "pclmulqdq", "bmi1"]),
        false => HaveGraviola::check().is_some(),
    };
    let all = X25519::all();
    assert_eq!(all.iter().any(|curve| matches!(curve, X25519::Ifma(_))), ifma);
    assert_eq!(all.iter().any(|curve| matches!(curve, X25519::Graviola(_))), graviola);
    assert_eq!(all.len(), usize::from(ifma) + usize::from(graviola) + 1);
    assert_eq!((X25519::best(), all.last()), (all[0], Some(&X25519::Portable)));
    assert_eq!(all[0].has_lanes(), ifma);
    let p256 = P256::all();
    println!("P-256 tested: {p256:?}");
    assert_eq!(p256.iter().any(|curve| matches!(curve, P256::Ifma(..))), ifma && mulx);
    assert_eq!(p256.iter().any(|curve| matches!(curve, P256::Mulx(_))), mulx);
    assert_eq!(p256.iter().any(|curve| matches!(curve, P256::Graviola(_))), graviola);
    assert_eq!(P256::best(), p256.first().copied().ok_or(Unavailable));
    assert_eq!(p256.first().is_some_and(|curve| curve.has_lanes()), ifma && mulx);
}
