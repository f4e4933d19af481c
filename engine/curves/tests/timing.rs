//! A statistical timing test by dudect's method: keys, agreements and signatures with a fixed
//! secret key and with random ones, one and eight at a time. See `tollgate_bench::leak` for the
//! method.
//!
//! A planted leak must be detected in every run. The real operations take minutes and need a quiet
//! machine: `./x test --long` runs them, alone.

#![allow(clippy::print_stdout, reason = "tests")]

#[path = "../../rsa/tests/timing/judge.rs"]
mod judge;

mod operations;

use core::array::from_fn;
use core::time::Duration;

use fastrand::Rng;
use tollgate_bench::{LeakPlan, Leakage, leak};
use tollgate_curves::{SecretKey, X25519, p256};

use crate::judge::{judge, planted};
use crate::operations::Keys;

/// Half a million samples, or as many as fit in 20 s.
const PLAN: LeakPlan = LeakPlan { samples: 500_000, time: Duration::from_secs(20) };
/// Number of inputs in memory.
const INPUTS: usize = 64;

/// Times `run` with secret keys: all the same fixed one, or random ones. The fixed key has a few
/// bits, so that almost all of its digits are zero.
fn timed(plan: LeakPlan, keys: usize, run: impl Fn(&Keys)) -> Option<Leakage> {
    let mut fixed = [0; 32];
    (fixed[0], fixed[31]) = (0x40, 0x48);
    let mut inputs = vec![Keys::new(vec![fixed; keys].iter()); INPUTS];
    let mut fill = |input: &mut Keys, random: bool, rng: &mut Rng| {
        for (x25519, p256) in input.x25519.iter_mut().zip(&mut input.p256) {
            // both are drawn and copied in the same way for either class; below the order of P-256
            let keep = u8::from(random).wrapping_neg();
            let mut number: [u8; 32] = from_fn(|i| rng.u8(..) & keep | fixed[i] & !keep);
            number[0] &= 0x7f;
            *x25519 = SecretKey::from_bytes(&number);
            *p256 = p256::SecretKey::from_bytes(&number).expect("not zero, and below n");
        }
    };
    leak(plan, &mut Rng::with_seed(41), &mut inputs, &mut fill, &mut |input| run(input))
}

#[test]
#[ignore = "minutes on a quiet machine, in a release build: ./x test --long"]
fn operations_take_a_constant_time() {
    for operation in operations::all() {
        judge(&operation.name, || {
            timed(PLAN, operation.keys, |keys| (operation.run)(keys, &[9; 32]))
        });
    }
}

/// Checks that the test can fail: an agreement that is left out if the key's second byte is zero,
/// as only the fixed key has it.
#[test]
fn a_planted_leak_is_detected() {
    let curve = X25519::best();
    let peer = curve.public_key(&SecretKey::from_bytes(&[7; 32]));
    let plan = LeakPlan { samples: 20_000, time: Duration::from_secs(60) };
    let leakage = timed(plan, 1, |keys| {
        let [secret] = &keys.x25519[..] else { unreachable!("one key") };
        let is_plain = secret.as_bytes()[1] != 0;
        core::hint::black_box((
            curve.public_key(secret),
            is_plain.then(|| curve.agree(secret, &peer)),
        ));
    });
    planted("a shortcut for zeros", leakage);
}
