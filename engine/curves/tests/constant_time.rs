//! Runs X25519 and P-256 under memcheck with every secret marked: no branch and no address may
//! depend on one. Valgrind does not support AVX-512, so the kernels with MULX and those of
//! `graviola` run here; `cargo xtask audit` reads the machine code of the others. The tests run in
//! release builds: test builds check each sum for overflow, which is a branch on its operands.

mod operations;

use tollgate_cpu::memcheck;
use tollgate_curves::X25519;
use tollgate_curves::p256::P256;
use tollgate_rerun as rerun;

use crate::operations::Keys;

/// Returns random bytes marked as secret for memcheck.
fn secret(rng: &mut fastrand::Rng) -> Box<[u8; 32]> {
    let mut bytes = Box::new([0; 32]);
    rng.fill(&mut bytes[..]);
    memcheck::mark_secret(&bytes[..]);
    bytes
}

#[test]
#[cfg_attr(
    debug_assertions,
    ignore = "overflow checks branch on secrets; ./x test runs it in release"
)]
fn operations_are_constant_time() {
    if !memcheck::running_on_valgrind() {
        return rerun::under_memcheck("operations_are_constant_time");
    }
    let mut rng = fastrand::Rng::with_seed(31);
    for operation in operations::all() {
        let numbers: Vec<_> = (0..operation.keys).map(|_| secret(&mut rng)).collect();
        let keys = Keys::new(numbers.iter().map(|number| &**number));
        let (noise, before) = (secret(&mut rng), memcheck::count_errors());
        (operation.run)(&keys, &noise);
        let branches = memcheck::count_errors() - before;
        let expected = operation.branches * operation.keys as u64;
        assert_eq!(branches, expected, "{}: see valgrind's report above", operation.name);
    }
}

/// The key stays secret after its range was checked, and so do public keys that the test does not
/// release.
#[test]
fn a_branch_on_a_secret_is_not_constant_time() {
    if !memcheck::running_on_valgrind() {
        return rerun::under_memcheck("a_branch_on_a_secret_is_not_constant_time");
    }
    let mut rng = fastrand::Rng::with_seed(34);
    let keys = Keys::new([&*secret(&mut rng)].into_iter());
    let of_keys = [keys.p256[0].to_bytes()[31], keys.x25519[0].as_bytes()[0]].into_iter();
    let of_p256 =
        P256::all().into_iter().map(|curve| curve.public_key(&keys.p256[0]).to_bytes()[64]);
    let of_x25519 = X25519::all().into_iter().map(|curve| curve.public_key(&keys.x25519[0]).0[0]);
    for byte in of_keys.chain(of_p256).chain(of_x25519) {
        let before = memcheck::count_errors();
        if core::hint::black_box(byte) > 100 {
            core::hint::black_box(&keys);
        }
        assert!(memcheck::count_errors() > before, "a branch on a secret was not detected");
    }
}
