//! An operation on secrets leaves nothing on the stack, as in `tollgate-curves`.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, reason = "tests")]

#[path = "../../curves/tests/painted/mod.rs"]
mod painted;

use core::hint::black_box;
use std::sync::Mutex;

use tollgate_kem::hybrid::{self, X25519MlKem768};
use tollgate_kem::{CIPHERTEXT_BYTES, EXPANDED_BYTES, MlKem768, SECRET_BYTES};

use crate::painted::{check, left_by};

#[test]
fn operations_leave_nothing_on_the_stack() {
    for kem in MlKem768::all() {
        let key = kem.decapsulation_key(&[0x5b; 64]);
        check(&format!("a key, {kem:?}"), || {
            black_box(kem.decapsulation_key(&[0x5b; 64]));
        });
        check(&format!("an encapsulation, {kem:?}"), || {
            let (mut sent, mut secret) = ([0; CIPHERTEXT_BYTES], [0; SECRET_BYTES]);
            key.encapsulation_key().encapsulate(&[0x7d; 32], &mut sent, &mut secret);
        });
        check(&format!("a decapsulation, {kem:?}"), || {
            key.decapsulate(&[0x3c; CIPHERTEXT_BYTES], &mut [0; SECRET_BYTES]);
        });
        let mut expanded = [0; EXPANDED_BYTES];
        key.expand(&mut expanded);
        let heap: Box<[u8; EXPANDED_BYTES]> = vec![0; EXPANDED_BYTES].try_into().unwrap();
        let heap = Mutex::new(heap);
        check(&format!("an export, {kem:?}"), || key.expand(&mut heap.lock().unwrap()));
        check(&format!("an expanded key, {kem:?}"), || {
            let _ = black_box(kem.expanded_key(&expanded));
        });
    }
}

/// Keys and secrets of the hybrid's second half are small enough for registers, so they are
/// searched for in the frames of callers too.
#[test]
fn secrets_of_the_hybrid_leave_nothing_on_the_stack() {
    let group = X25519MlKem768::best();
    // on the heap, where the stack is not searched
    let seed: Box<[u8; hybrid::SEED_BYTES]> = Box::new(core::array::from_fn(|i| i as u8 | 0x80));
    let random: Box<[u8; hybrid::RANDOM_BYTES]> =
        Box::new(core::array::from_fn(|i| i as u8 ^ 0x55));
    let key = group.decapsulation_key(&seed);
    let public = group.encapsulation_key(&key.public_bytes()).unwrap();
    let mut outputs = Box::new(([0; hybrid::CIPHERTEXT_BYTES], [0; hybrid::SECRET_BYTES]));
    public.encapsulate(&random, &mut outputs.0, &mut outputs.1).unwrap();
    let secrets = [&seed[64..], &random[32..], &outputs.1[32..], &outputs.1[..32]];
    let secrets = secrets.map(<[u8]>::to_vec);
    let outputs = Mutex::new(outputs);
    let is_left_by = |operation: &(dyn Fn() + Sync)| {
        // by depth, so the bytes of a value come last one first
        let mut left = left_by(&|| deeper(operation));
        left.reverse();
        secrets
            .iter()
            .any(|secret| secret.chunks(8).any(|part| left.windows(8).any(|window| window == part)))
    };
    assert!(is_left_by(&|| {
        let copy: [u8; 32] = secrets[0][..].try_into().unwrap();
        black_box(&copy);
    }));
    let encapsulate = || {
        let outputs = &mut **outputs.lock().unwrap();
        public.encapsulate(&random, &mut outputs.0, &mut outputs.1).unwrap();
    };
    let decapsulate = || {
        let outputs = &mut **outputs.lock().unwrap();
        key.decapsulate(&outputs.0, &mut outputs.1).unwrap();
    };
    assert!(!is_left_by(&|| _ = black_box(Box::new(group.decapsulation_key(&seed)))), "a key");
    assert!(!is_left_by(&encapsulate), "an encapsulation");
    assert!(!is_left_by(&decapsulate), "a decapsulation");
}

/// Calls the operation with its frame below the part of the stack that is not painted.
#[inline(never)]
fn deeper(operation: &(dyn Fn() + Sync)) {
    let frame = black_box([0_u8; 8 << 10]);
    black_box(operation)();
    black_box(&frame);
}
