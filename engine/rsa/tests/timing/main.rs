//! A statistical timing test by dudect's method: private-key operations, one and eight at a time,
//! with fixed and random messages and keys; and decryptions of valid and invalid ciphertexts. See
//! `tollgate_bench::leak` for the method, METHODOLOGY for the results.
//!
//! A planted leak must be detected in every run. The real operations take minutes and need a quiet
//! machine: `./x test --long` runs them, alone.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

mod decryption;
mod judge;
mod keys;
#[path = "../made/mod.rs"]
mod made;
mod operations;

use core::time::Duration;

use tollgate_bench::{LeakPlan, leak};
use tollgate_mont::{Exponentiate as _, Kernel, LimbKernel, Modulus, Shape};

use crate::judge::planted;

/// The length of a prime in bits: the largest for which a million samples of an operation take a
/// minute.
const BITS: usize = 512;
/// Number of inputs in memory.
const INPUTS: usize = 64;

/// A million samples, or as many as fit in a minute.
const PLAN: LeakPlan = LeakPlan { samples: 1_000_000, time: Duration::from_secs(60) };

/// Returns the kernels in use: portable ones, which memcheck checks, only if there is no other.
fn chosen<K: Kernel>(all: Vec<K>) -> Vec<K> {
    let fast = |kernel: &K| !kernel.name().ends_with("portable");
    let chosen: Vec<K> = all.iter().copied().filter(fast).collect();
    if chosen.is_empty() { all } else { chosen }
}

/// Checks that the test can fail: an exponentiation that treats its exponent as public.
#[test]
fn a_planted_leak_is_detected() {
    let kernel = LimbKernel::best();
    let mut rng = fastrand::Rng::with_seed(26);
    let m: Vec<u64> = (0..BITS / 64).map(|_| rng.u64(..) | 1 | 1 << 63).collect();
    let m = Modulus::<u64>::new(&m, Shape::limbs(BITS)).unwrap();
    let k = m.k();
    let (x, mut z) = (vec![3; k], vec![0; k]);
    let mut t = vec![0; kernel.exp_words(m.shape(), 64)];
    let mut inputs = vec![0u64; INPUTS];
    // as long as the random exponents, with two bits set
    let fixed = 1 << 31 | 1;
    let mut make = |e: &mut u64, random: bool, rng: &mut fastrand::Rng| {
        *e = if random { rng.u64(..1 << 31) | fixed } else { fixed };
    };
    let mut run = |e: &mut u64| kernel.exp_vartime(&m, &x, &[*e], &mut z, &mut t);
    let plan = LeakPlan { samples: 20_000, time: Duration::from_secs(60) };
    planted("a public exponent", leak(plan, &mut rng, &mut inputs, &mut make, &mut run));
}
