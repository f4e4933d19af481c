//! A statistical timing test by dudect's method: exponentiations and whole private-key operations,
//! one and eight at a time, with fixed and random exponents, messages and keys; and decryptions of
//! valid and invalid ciphertexts. See `tollgate_bench::leak` for the method, METHODOLOGY for the
//! results.
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

use tollgate_bench::{LeakPlan, Leakage, leak};
use tollgate_mont::{
    Digit, Exponentiate, Kernel, LANES, LaneKernel, LimbKernel, Modulus, Pair, Place, Row, Shape,
    Word,
};

use crate::judge::{judge, planted};

/// The length of a prime in bits: the largest for which a million samples of an operation take a
/// minute.
const BITS: usize = 512;
/// Number of inputs in memory.
const INPUTS: usize = 64;

/// A million samples, or as many as fit in a minute.
const PLAN: LeakPlan = LeakPlan { samples: 1_000_000, time: Duration::from_secs(60) };

fn odd(rng: &mut fastrand::Rng) -> Vec<u64> {
    let mut m: Vec<u64> = (0..BITS / 64).map(|_| rng.u64(..)).collect();
    m[0] |= 1;
    m[BITS / 64 - 1] |= 1 << 63;
    m
}

/// Fills words with fixed or random lanes; the highest bit of each number is clear, so that it is
/// below the modulus.
fn fill<W: Word>(words: &mut [W], fixed: &[W], random: bool, rng: &mut fastrand::Rng) {
    // both are drawn and copied in the same way for either class
    for (word, fixed) in words.iter_mut().zip(fixed) {
        let mut drawn = W::default();
        (0..W::LANES).for_each(|lane| drawn.set_lane(lane, rng.u64(..)));
        let keep = W::splat(u64::from(random).wrapping_neg());
        *word = W::pick(keep, drawn, *fixed);
    }
}

/// Inputs of an exponentiation: the base, then the exponent.
struct Power<W> {
    x: Vec<W>,
    e: Vec<W>,
}

/// The input that is fixed in one class and random in the other. The other input is random in both
/// classes.
#[derive(Clone, Copy, Debug)]
enum Secret {
    Exponent,
    Message,
}

fn exponentiation<K: Exponentiate>(
    kernel: K,
    pair: &Pair<K::Word>,
    secret: Secret,
) -> Option<Leakage> {
    let mut rng = fastrand::Rng::with_seed(21);
    let (k, shape) = (pair.p().k(), pair.p().shape());
    let words = BITS / 64;
    let zero = K::Word::default();
    let mut fixed = Power { x: vec![zero; 2 * k], e: vec![zero; words] };
    let unset = vec![zero; 2 * k];
    fill(&mut fixed.x, &unset, true, &mut rng);
    fill(&mut fixed.e, &unset, true, &mut rng);
    let input = || Power { x: vec![zero; 2 * k], e: vec![zero; words] };
    let mut inputs: Vec<_> = (0..INPUTS).map(|_| input()).collect();
    let mut t = vec![zero; kernel.exp_words(shape, BITS)];
    let (mut z_p, mut z_q) = (vec![zero; k], vec![zero; k]);
    let mut make = |input: &mut Power<K::Word>, random: bool, rng: &mut fastrand::Rng| {
        let (exponent, message) = match secret {
            Secret::Exponent => (random, true),
            Secret::Message => (true, random),
        };
        fill(&mut input.x, &fixed.x, message, rng);
        fill(&mut input.e, &fixed.e, exponent, rng);
    };
    let mut run = |input: &mut Power<K::Word>| {
        let e = [&input.e[..], &input.e[..]];
        kernel.exp_pair(pair, BITS, &input.x, e, [&mut z_p, &mut z_q], &mut t);
    };
    leak(PLAN, &mut fastrand::Rng::with_seed(22), &mut inputs, &mut make, &mut run)
}

/// Returns the kernels in use: portable ones, which memcheck checks, only if there is no other.
fn chosen<K: Kernel>(all: Vec<K>) -> Vec<K> {
    let fast = |kernel: &K| !kernel.name().ends_with("portable");
    let chosen: Vec<K> = all.iter().copied().filter(fast).collect();
    if chosen.is_empty() { all } else { chosen }
}

#[test]
#[ignore = "a minute or two on a quiet machine, in a release build: ./x test --long"]
fn exponentiations_one_at_a_time() {
    let mut rng = fastrand::Rng::with_seed(23);
    let shape = Shape::limbs(BITS);
    let load = |m: &[u64]| Modulus::<u64>::new(m, shape).unwrap();
    let pair = Pair::new(load(&odd(&mut rng)), load(&odd(&mut rng)));
    for kernel in chosen(LimbKernel::all()) {
        for secret in [Secret::Exponent, Secret::Message] {
            let what = format!("exponentiation on {}, {secret:?}", kernel.name());
            judge(&what, || exponentiation(kernel, &pair, secret));
        }
    }
}

#[test]
#[ignore = "a minute or two on a quiet machine, in a release build: ./x test --long"]
fn exponentiations_in_a_batch() {
    let mut rng = fastrand::Rng::with_seed(27);
    let mut pair = Pair::<Row>::lanes(Shape::digits(BITS));
    for m in pair.each_mut() {
        for lane in 0..LANES {
            let one = Modulus::<Digit>::new(&odd(&mut rng), Shape::digits(BITS)).unwrap();
            m.load(Place::Lane(lane), &one);
        }
    }
    for kernel in chosen(LaneKernel::all()) {
        for secret in [Secret::Exponent, Secret::Message] {
            let what = format!("{LANES} exponentiations on {}, {secret:?}", kernel.name());
            judge(&what, || exponentiation(kernel, &pair, secret));
        }
    }
}

/// Checks that the test can fail: an exponentiation that treats its exponent as public.
#[test]
fn a_planted_leak_is_detected() {
    let kernel = LimbKernel::best();
    let mut rng = fastrand::Rng::with_seed(26);
    let m = Modulus::<u64>::new(&odd(&mut rng), Shape::limbs(BITS)).unwrap();
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
