//! Runs X25519 and P-256 under memcheck with every secret marked: no branch and no address may
//! depend on one. Valgrind does not support AVX-512, so the portable kernels run here; `cargo xtask
//! audit` reads the machine code of the others. The tests run in release builds: test builds check
//! each sum for overflow, which is a branch on its operands.

use tollgate_cpu::memcheck;
use tollgate_curves::{X25519, p256};
use tollgate_rerun as rerun;

/// Returns random bytes marked as secret for memcheck.
fn secret(rng: &mut fastrand::Rng) -> Box<[u8; 32]> {
    let mut bytes = Box::new([0; 32]);
    rng.fill(&mut bytes[..]);
    memcheck::mark_secret(&bytes[..]);
    bytes
}

fn p256_key(rng: &mut fastrand::Rng) -> p256::SecretKey {
    p256::SecretKey::from_bytes(&secret(rng)).expect("random bytes are below n")
}

#[test]
#[cfg_attr(
    debug_assertions,
    ignore = "overflow checks branch on secrets; ./x test runs it in release"
)]
fn x25519_is_constant_time() {
    rerun::constant_time("x25519_is_constant_time", || {
        let mut rng = fastrand::Rng::with_seed(31);
        let mut key = || tollgate_curves::SecretKey::from_bytes(&secret(&mut rng));
        let (ours, theirs) = (key(), key());
        for curve in X25519::all() {
            let peers = curve.public_keys(&[theirs.clone(), ours.clone()]);
            let [peer, _] = peers[..] else { panic!("two keys") };
            memcheck::declassify(&peer.0);
            curve.agree(&ours, &peer).expect("not of low order");
            let agreed = curve.agree_all(&[(&ours, &peer); 3]);
            assert!(agreed.iter().all(Result::is_ok));
        }
    });
}

#[test]
#[cfg_attr(
    debug_assertions,
    ignore = "overflow checks branch on secrets; ./x test runs it in release"
)]
fn p256_keys_and_agreements_are_constant_time() {
    rerun::constant_time("p256_keys_and_agreements_are_constant_time", || {
        let mut rng = fastrand::Rng::with_seed(32);
        let (ours, theirs) = (p256_key(&mut rng), p256_key(&mut rng));
        for curve in p256::P256::all() {
            let peers = curve.public_keys(&[theirs.clone(), ours.clone()]);
            let peer = Box::new(peers[0].to_bytes());
            memcheck::declassify(&peer[..]);
            let peer = p256::PublicKey::from_bytes(&peer[..]).expect("a point");
            let _ = curve.agree(&ours, &peer);
            let _ = curve.agree_all(&[(&ours, &peer); 3]);
        }
    });
}

#[test]
#[cfg_attr(
    debug_assertions,
    ignore = "overflow checks branch on secrets; ./x test runs it in release"
)]
fn p256_signatures_are_constant_time() {
    rerun::constant_time("p256_signatures_are_constant_time", || {
        let mut rng = fastrand::Rng::with_seed(33);
        let (key, noise) = (p256_key(&mut rng), secret(&mut rng));
        for curve in p256::P256::all() {
            for nonce in [p256::Nonce::Hedged(&noise), p256::Nonce::Deterministic] {
                curve.sign(&key, &[7; 32], nonce).expect("no fault");
                let request = p256::Request { key: &key, digest: &[8; 32], nonce };
                let signed = curve.sign_all(&[request; 3]);
                assert!(signed.iter().all(Result::is_ok));
            }
        }
    });
}

/// The key stays secret after its range was checked, and so do public keys that the test does not
/// release.
#[test]
fn a_branch_on_a_secret_is_not_constant_time() {
    if !memcheck::running_on_valgrind() {
        return rerun::under_memcheck("a_branch_on_a_secret_is_not_constant_time");
    }
    let mut rng = fastrand::Rng::with_seed(34);
    let key = p256_key(&mut rng);
    let x25519 = tollgate_curves::SecretKey::from_bytes(&secret(&mut rng));
    let bytes = [
        key.to_bytes()[31],
        p256::P256::Portable.public_key(&key).to_bytes()[64],
        x25519.as_bytes()[0],
        X25519::Portable.public_key(&x25519).0[0],
    ];
    for byte in bytes {
        let before = memcheck::count_errors();
        if core::hint::black_box(byte) > 100 {
            core::hint::black_box(&key);
        }
        assert!(memcheck::count_errors() > before, "a branch on a secret was not detected");
    }
}
