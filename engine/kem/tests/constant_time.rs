//! Runs ML-KEM-768 under memcheck with secrets marked, as in `tollgate-curves`: random inputs of
//! encapsulations, and keys of decapsulations. The public matrix is drawn by rejection, which
//! memcheck reports if the seed of a key is marked, so the generation of keys is not watched. The
//! crate `graviola` keeps the matrix in the key; `ml-kem` draws it again, so there the secret parts
//! of an expanded key are marked.
#![allow(clippy::unwrap_used, reason = "tests")]

use tollgate_cpu::memcheck;
use tollgate_kem::{CIPHERTEXT_BYTES, EXPANDED_BYTES, MlKem768, SECRET_BYTES};
use tollgate_rerun as rerun;

/// The bytes of an expanded key that are secret: those before and behind the public half.
const SECRET_PARTS: [core::ops::Range<usize>; 2] = [0..1152, 2368..2400];

#[test]
#[cfg_attr(
    debug_assertions,
    ignore = "overflow checks branch on secrets; ./x test runs it in release"
)]
fn operations_are_constant_time() {
    if !memcheck::running_on_valgrind() {
        return rerun::under_memcheck("operations_are_constant_time");
    }
    let mut rng = fastrand::Rng::with_seed(41);
    for kem in MlKem768::all() {
        let mut seed = [0; 64];
        rng.fill(&mut seed);
        let key = kem.decapsulation_key(&seed);
        let before = memcheck::count_errors();

        let mut random = Box::new([0; 32]);
        rng.fill(&mut *random);
        memcheck::mark_secret(&random[..]);
        let (mut sent, mut secret) = ([0; CIPHERTEXT_BYTES], [0; SECRET_BYTES]);
        key.encapsulation_key().encapsulate(&random, &mut sent, &mut secret);
        memcheck::declassify(&sent);
        assert_eq!(memcheck::count_errors(), before, "{kem:?}: see valgrind's report above");

        let key = match kem {
            MlKem768::Portable => {
                let mut expanded = Box::new([0; EXPANDED_BYTES]);
                key.expand(&mut expanded);
                for part in SECRET_PARTS {
                    memcheck::mark_secret(&expanded[part]);
                }
                kem.expanded_key(&*expanded).unwrap()
            }
            _ => {
                let seed = Box::new(seed);
                memcheck::mark_secret(&seed[..]);
                kem.decapsulation_key(&seed)
            }
        };
        let before = memcheck::count_errors();
        key.decapsulate(&sent, &mut secret);
        key.decapsulate(&[0; CIPHERTEXT_BYTES], &mut secret);
        assert_eq!(memcheck::count_errors(), before, "{kem:?}: see valgrind's report above");
        assert!(is_detected(secret[0]), "the secret is not marked");
    }
}

/// Branches on a byte, and returns whether memcheck reports it.
fn is_detected(byte: u8) -> bool {
    let before = memcheck::count_errors();
    if core::hint::black_box(byte) > 100 {
        core::hint::black_box(&byte);
    }
    memcheck::count_errors() > before
}
