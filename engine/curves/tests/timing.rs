//! A statistical timing test by dudect's method: keys, agreements and signatures with a fixed secret
//! key and with random ones, one and eight at a time. See `tollgate_bench::leak` for the method.
//!
//! A planted leak must be detected in every run. The real operations take minutes and need a quiet
//! machine: `./x test --long` runs them, alone.

#![allow(clippy::print_stdout, reason = "tests")]

#[path = "../../rsa/tests/timing/judge.rs"]
mod judge;

use core::array::from_fn;
use core::hint::black_box;
use core::time::Duration;

use fastrand::Rng;
use tollgate_bench::{LeakPlan, Leakage, leak};
use tollgate_curves::p256::{self, Nonce, P256, Request};
use tollgate_curves::{SecretKey, X25519};

use crate::judge::{judge, planted};

/// Half a million samples, or as many as fit in 20 s.
const PLAN: LeakPlan = LeakPlan { samples: 500_000, time: Duration::from_secs(20) };
/// Number of inputs in memory.
const INPUTS: usize = 64;
const LANES: usize = 8;

/// Random bytes, big end first, below the order of P-256.
fn number(rng: &mut Rng) -> [u8; 32] {
    let mut bytes = from_fn(|_| rng.u8(..));
    bytes[0] &= 0x7f;
    bytes
}

/// Times `run` with `N` secret keys: all the same fixed one, or random ones. The fixed key has a few
/// bits, so that almost all of its digits are zero.
fn timed<K, R, const N: usize>(
    plan: LeakPlan,
    key: impl Fn(&[u8; 32]) -> K,
    run: impl Fn(&[K; N]) -> R,
) -> Option<Leakage> {
    let mut fixed = [0; 32];
    (fixed[0], fixed[31]) = (0x40, 0x48);
    let mut inputs: Vec<[K; N]> = (0..INPUTS).map(|_| from_fn(|_| key(&fixed))).collect();
    let mut fill = |input: &mut [K; N], random: bool, rng: &mut Rng| {
        for place in input {
            // both are drawn and copied in the same way for either class
            let (drawn, keep) = (number(rng), u8::from(random).wrapping_neg());
            *place = key(&from_fn(|i| drawn[i] & keep | fixed[i] & !keep));
        }
    };
    leak(plan, &mut Rng::with_seed(41), &mut inputs, &mut fill, &mut |input| {
        drop(black_box(run(input)));
    })
}

fn p256_key(bytes: &[u8; 32]) -> p256::SecretKey {
    p256::SecretKey::from_bytes(bytes).expect("not zero, and below n")
}

#[test]
#[ignore = "minutes on a quiet machine, in a release build: ./x test --long"]
fn x25519() {
    let key = SecretKey::from_bytes;
    for curve in X25519::all().into_iter().filter(|&curve| curve != X25519::Portable) {
        let peer = curve.public_key(&key(&[7; 32]));
        judge(&format!("a key of X25519 on {curve:?}"), || {
            timed::<_, _, 1>(PLAN, key, |[secret]| curve.public_key(secret))
        });
        judge(&format!("an agreement of X25519 on {curve:?}"), || {
            timed::<_, _, 1>(PLAN, key, |[secret]| curve.agree(secret, &peer))
        });
        if curve.has_lanes() {
            judge(&format!("{LANES} keys of X25519 on {curve:?}"), || {
                timed::<_, _, LANES>(PLAN, key, |secrets| curve.public_keys(secrets))
            });
            judge(&format!("{LANES} agreements of X25519 on {curve:?}"), || {
                timed::<_, _, LANES>(PLAN, key, |secrets| {
                    let pairs = secrets.each_ref().map(|secret| (secret, &peer));
                    curve.agree_all(&pairs)
                })
            });
        }
    }
}

#[test]
#[ignore = "minutes on a quiet machine, in a release build: ./x test --long"]
fn p256() {
    let noise: [[u8; 32]; LANES] = from_fn(|l| [u8::try_from(l).expect("a lane"); 32]);
    let nonce = Nonce::Hedged(&noise[0]);
    for curve in P256::all().into_iter().filter(|&curve| curve != P256::Portable) {
        let peer = curve.public_key(&p256_key(&[7; 32]));
        judge(&format!("a key of P-256 on {curve:?}"), || {
            timed::<_, _, 1>(PLAN, p256_key, |[d]| curve.public_key(d))
        });
        judge(&format!("an agreement on P-256 on {curve:?}"), || {
            timed::<_, _, 1>(PLAN, p256_key, |[d]| curve.agree(d, &peer))
        });
        judge(&format!("a signature on P-256 on {curve:?}"), || {
            timed::<_, _, 1>(PLAN, p256_key, |[d]| curve.sign(d, &[8; 32], nonce))
        });
        if curve.has_lanes() {
            judge(&format!("{LANES} keys of P-256 on {curve:?}"), || {
                timed::<_, _, LANES>(PLAN, p256_key, |all| curve.public_keys(all))
            });
            judge(&format!("{LANES} agreements on P-256 on {curve:?}"), || {
                timed::<_, _, LANES>(PLAN, p256_key, |secrets| {
                    let pairs = secrets.each_ref().map(|secret| (secret, &peer));
                    curve.agree_all(&pairs)
                })
            });
            judge(&format!("{LANES} signatures on P-256 on {curve:?}"), || {
                timed::<_, _, LANES>(PLAN, p256_key, |secrets| {
                    let request = |l: usize| {
                        let nonce = Nonce::Hedged(&noise[l]);
                        Request { key: &secrets[l], digest: &[8; 32], nonce }
                    };
                    curve.sign_all(&from_fn::<_, LANES, _>(request))
                })
            });
        }
    }
}

/// Checks that the test can fail: an agreement that is left out if the key's second byte is zero, as
/// only the fixed key has it.
#[test]
fn a_planted_leak_is_detected() {
    let (curve, key) = (X25519::best(), SecretKey::from_bytes);
    let peer = curve.public_key(&key(&[7; 32]));
    let plan = LeakPlan { samples: 20_000, time: Duration::from_secs(60) };
    let leakage = timed::<_, _, 1>(plan, key, |[secret]| {
        let is_plain = secret.as_bytes()[1] != 0;
        (curve.public_key(secret), is_plain.then(|| curve.agree(secret, &peer)))
    });
    planted("a shortcut for zeros", leakage);
}
