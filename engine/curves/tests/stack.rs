//! An operation on secrets leaves nothing on the stack: below its frame are zeros and what was there
//! before, so no secret in any form, and no copy that the compiler made.
//!
//! The tests paint the stack, run the operation, and look at it.
#![allow(clippy::unwrap_used, reason = "tests")]

use core::hint::black_box;
use core::ptr;
use std::thread;

use num_bigint::BigUint;
use tollgate_cpu::wipe::wipe_stack_after;
use tollgate_curves::p256::{Nonce, P256, Request};
use tollgate_curves::{SecretKey, X25519, p256};

/// The painted part of the stack.
const PAINTED_BYTES: usize = 128 << 10;
/// The part above it: frames of [`left_by`] and of functions that it calls.
const OWN_BYTES: usize = 256;
const PAINT: u8 = 0xa5;
/// The frame of an operation above the part that is wiped: pointers, and the result.
const FRAME_BYTES: usize = 1 << 10;
/// The frames of the function that wipes, at the other end.
const WIPE_BYTES: usize = 64;

/// Returns the bytes of the stack that `operation` used, the deepest one last. Runs it twice: the
/// first time may build tables. A `dyn Fn` has a frame of its own.
fn left_by(operation: &(dyn Fn() + Sync)) -> Vec<u8> {
    let painted = || {
        operation();
        let here = 0_u8;
        // keeps the compiler from assuming that nothing writes below this address
        let top = black_box(ptr::from_ref(&here).cast_mut());
        for depth in OWN_BYTES..PAINTED_BYTES {
            // SAFETY: this stack, below all frames on it.
            unsafe { top.wrapping_sub(depth).write_volatile(PAINT) };
        }
        operation();
        let byte = |depth| {
            // SAFETY: as above.
            unsafe { top.wrapping_sub(depth).read_volatile() }
        };
        let mut left: Vec<u8> = (OWN_BYTES..PAINTED_BYTES).map(byte).collect();
        let used = left.iter().rposition(|byte| *byte != PAINT).map_or(0, |last| last + 1);
        left.truncate(used);
        left
    };
    // a stack of its own, on which nothing else runs
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(4 * PAINTED_BYTES);
        thread.spawn_scoped(scope, painted).unwrap().join().unwrap()
    })
}

/// Returns how many bytes below the frame of the operation are neither zero nor paint.
fn not_wiped(left: &[u8]) -> usize {
    let wiped = left.get(FRAME_BYTES..left.len().saturating_sub(WIPE_BYTES)).unwrap_or(&[]);
    wiped.iter().filter(|byte| ![0, PAINT].contains(byte)).count()
}

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

/// Runs the operation and checks that it leaves nothing.
fn check(name: &str, operation: impl Fn() + Sync) {
    let left = left_by(&operation);
    assert!(left.len() > FRAME_BYTES, "{name} uses {} bytes of stack", left.len());
    assert_eq!(not_wiped(&left), 0, "{name} leaves bytes of {}", left.len());
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
