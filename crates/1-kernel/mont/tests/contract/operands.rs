//! Numbers to judge with: their forms, patterns and edges.

use num_bigint::BigUint;
use tollgate_mont::{Scalar, Word};

pub(crate) fn number<S: Scalar>(x: &[S]) -> BigUint {
    x.iter().rev().fold(BigUint::ZERO, |a, x| (a << S::BITS) + x.bits())
}

pub(crate) fn limbs(x: &BigUint, n: usize) -> Vec<u64> {
    let mut v = x.to_u64_digits();
    assert!(v.len() <= n, "{} limbs, not {n}", v.len());
    v.resize(n, 0);
    v
}

/// The number in a lane.
pub(crate) fn lane<W: Word>(x: &[W], lane: usize) -> BigUint {
    let x: Vec<_> = x.iter().map(|w| W::Scalar::from_bits(w.lane(lane))).collect();
    number(&x)
}

/// Digits whose patterns carry in every column, or in none, or in runs.
pub(crate) fn pattern(rng: &mut fastrand::Rng, bits: usize, kind: usize) -> BigUint {
    let ones = (BigUint::from(1u8) << bits) - 1u8;
    let mut random = || (0..bits.div_ceil(32)).map(|_| rng.u32(..)).collect::<Vec<_>>();
    match kind {
        0 => BigUint::ZERO,
        1 => ones, // every digit is 2^52 - 1
        2 => BigUint::from(1u8),
        3 => BigUint::from(1u8) << (bits - 1), // only the top digit
        4 => BigUint::new(random().into_iter().map(|w| (w & 1).wrapping_neg()).collect()) & ones,
        _ => BigUint::new(random()) & ones,
    }
}

/// An odd modulus of exactly `bits` bits.
pub(crate) fn modulus(rng: &mut fastrand::Rng, bits: usize, kind: usize) -> BigUint {
    pattern(rng, bits, kind) | BigUint::from(1u8) | (BigUint::from(1u8) << (bits - 1))
}

/// An operand: below `bound`, at its edges, or around m.
pub(crate) fn operand(
    rng: &mut fastrand::Rng,
    m: &BigUint,
    bound: &BigUint,
    kind: usize,
) -> BigUint {
    let x = match kind % 10 {
        6 => m - 1u8,
        7 => m.clone(),
        8 => m * 2u8 - 1u8,
        9 => bound - 1u8,
        kind => pattern(rng, usize::try_from(bound.bits()).unwrap(), kind),
    };
    x % bound
}
