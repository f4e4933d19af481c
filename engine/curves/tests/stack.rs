//! An operation on secrets leaves nothing on the stack: below its frame are zeros and what was there
//! before, so no secret in any form, and no copy that the compiler made.
#![allow(clippy::unwrap_used, reason = "tests")]

mod painted;

use core::hint::black_box;

use num_bigint::BigUint;
use tollgate_cpu::wipe::wipe_stack_after;
use tollgate_curves::p256::{Nonce, P256, Request};
use tollgate_curves::{SecretKey, X25519, p256};

use painted::{check, left_by, not_wiped};

/// Returns whether eight bytes in a row of one of these numbers are anywhere, in either order.
fn has_one(left: &[u8], numbers: &[BigUint]) -> bool {
    numbers.iter().any(|number| {
        let mut bytes = number.to_bytes_le();
        bytes.resize(32, 0);
        let reversed: Vec<u8> = bytes.iter().rev().copied().collect();
        let mut parts = bytes.chunks(8).chain(reversed.chunks(8));
        parts.any(|part| left.windows(8).any(|window| window == part))
    })
}

/// The nonce of a signature, its inverse and the sum z + r d, and the secret key; all also negative,
/// and in the form that the engine computes with.
fn secrets(key: &p256::SecretKey, digest: &[u8; 32], signature: &p256::Signature) -> Vec<BigUint> {
    let n = b"ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551";
    let n = BigUint::parse_bytes(n, 16).unwrap();
    let signature = signature.to_bytes();
    let [r, s] = [&signature[..32], &signature[32..]].map(BigUint::from_bytes_be);
    let [d, z] = [&key.to_bytes(), digest].map(|bytes| BigUint::from_bytes_be(bytes));
    let sum = (z + r * &d) % &n;
    let k = &sum * s.modinv(&n).unwrap() % &n;
    let inverse = k.modinv(&n).unwrap();
    let all = [d, k, inverse, sum];
    all.into_iter().flat_map(|x| [&n - &x, (&x << 256) % &n, x]).collect()
}

#[test]
fn what_an_operation_leaves_is_found() {
    let planted = || {
        let bytes: [u8; 8192] = black_box(core::array::from_fn(|i| u8::try_from(i % 100).unwrap()));
        black_box(&bytes);
    };
    let left = left_by(&planted);
    assert!(not_wiped(&left) > 4096 && has_one(&left, &[BigUint::from(0x0706_0504_0302_0100_u64)]));
    check("a wiped operation", || wipe_stack_after::<{ 32 << 10 }, _>(planted));
    assert!(not_wiped(&left_by(&|| wipe_stack_after::<2048, _>(planted))) > 0, "too few bytes");
}

#[test]
fn p256_leaves_nothing_on_the_stack() {
    let key = p256::SecretKey::from_bytes(&[0x5b; 32]).unwrap();
    let bytes = key.to_bytes();
    let keys = vec![key.clone(); 8];
    check("to_bytes", || {
        black_box(key.to_bytes());
    });
    check("from_bytes", || {
        black_box(p256::SecretKey::from_bytes(&bytes).is_ok());
    });
    for curve in P256::all() {
        let peer = curve.public_key(&key);
        check(&format!("{curve:?}, key"), || {
            black_box(curve.public_key(&key));
        });
        check(&format!("{curve:?}, keys"), || {
            black_box(curve.public_keys(&keys));
        });
        check(&format!("{curve:?}, secret"), || {
            black_box(curve.agree(&key, &peer));
        });
        check(&format!("{curve:?}, secrets"), || {
            black_box(curve.agree_all(&[(&key, &peer); 8]));
        });
    }
}

#[test]
fn signatures_leave_nothing_on_the_stack() {
    let key = p256::SecretKey::from_bytes(&[0x5b; 32]).unwrap();
    let digest = [0x6c; 32];
    for curve in P256::all() {
        for nonce in [Nonce::Deterministic, Nonce::Hedged(&[0x7d; 32])] {
            let name = format!("{curve:?}, {nonce:?}");
            let signature = curve.sign(&key, &digest, nonce).unwrap();
            let alone = || {
                black_box(curve.sign(&key, &digest, nonce).unwrap());
            };
            check(&name, alone);
            let secrets = secrets(&key, &digest, &signature);
            assert!(!has_one(&left_by(&alone), &secrets), "{name}: a secret is on the stack");

            // eight digests: equal ones would have equal nonces, and would be signed alone
            let digests: [[u8; 32]; 8] = [1, 2, 3, 4, 5, 6, 7, 8].map(|byte| [byte; 32]);
            let requests = digests.each_ref().map(|digest| Request { key: &key, digest, nonce });
            let lanes = || {
                black_box(curve.sign_all(&requests));
            };
            check(&format!("{name}, eight"), lanes);
        }
    }
}

#[test]
fn x25519_leaves_nothing_on_the_stack() {
    let key = SecretKey::from_bytes(&[0x5b; 32]);
    let keys = vec![key.clone(); 8];
    for curve in X25519::all() {
        let peer = curve.public_key(&key);
        check(&format!("{curve:?}, key"), || {
            black_box(curve.public_key(&key));
        });
        check(&format!("{curve:?}, keys"), || {
            black_box(curve.public_keys(&keys));
        });
        check(&format!("{curve:?}, secret"), || {
            black_box(curve.agree(&key, &peer).is_ok());
        });
        check(&format!("{curve:?}, secrets"), || {
            black_box(curve.agree_all(&[(&key, &peer); 8]));
        });
    }
}
