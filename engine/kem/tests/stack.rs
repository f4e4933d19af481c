//! An operation on secrets leaves nothing on the stack, as in `tollgate-curves`.

#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../../curves/tests/painted/mod.rs"]
mod painted;

use core::hint::black_box;

use tollgate_kem::{CIPHERTEXT_BYTES, EXPANDED_BYTES, MlKem768, SECRET_BYTES};

use crate::painted::check;

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
        let heap = std::sync::Mutex::new(heap);
        check(&format!("an export, {kem:?}"), || key.expand(&mut heap.lock().unwrap()));
        check(&format!("an expanded key, {kem:?}"), || {
            let _ = black_box(kem.expanded_key(&expanded));
        });
    }
}
