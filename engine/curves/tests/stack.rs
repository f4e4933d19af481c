//! An operation on secrets leaves nothing on the stack: below its frame are zeros and what was
//! there before, so no secret in any form, and no copy that the compiler made.
#![allow(clippy::unwrap_used, reason = "tests")]

mod operations;
mod painted;

use core::hint::black_box;

use num_bigint::BigUint;
use tollgate_cpu::wipe::wipe_stack_after;
use tollgate_curves::p256::{self, Nonce, P256};

use crate::operations::Keys;
use crate::painted::{check, left_by, not_wiped};

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

/// The nonce of a signature, its inverse and the sum z + r d, and the secret key; all also
/// negative, and in the form that the engine computes with.
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
fn operations_leave_nothing_on_the_stack() {
    let number = [0x5b; 32];
    check("from_bytes", || drop(black_box(p256::SecretKey::from_bytes(&number))));
    for operation in operations::all() {
        let keys = Keys::new(vec![number; operation.keys].iter());
        check("to_bytes", || _ = black_box(keys.p256[0].to_bytes()));
        check(&operation.name, || (operation.run)(&keys, &[0x7d; 32]));
    }
}

#[test]
fn no_secret_of_a_signature_is_on_the_stack() {
    let key = p256::SecretKey::from_bytes(&[0x5b; 32]).unwrap();
    let digest = [0x6c; 32];
    for curve in P256::all() {
        for nonce in [Nonce::Deterministic, Nonce::Hedged(&[0x7d; 32])] {
            let signature = curve.sign(&key, &digest, nonce).unwrap();
            let secrets = secrets(&key, &digest, &signature);
            let left = left_by(&|| _ = black_box(curve.sign(&key, &digest, nonce)));
            assert!(!has_one(&left, &secrets), "{curve:?}, {nonce:?}");
        }
    }
}
