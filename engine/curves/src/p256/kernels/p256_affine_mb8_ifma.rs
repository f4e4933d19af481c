// x = X/Z^2 and y = Y/Z^3, in each of eight lanes.
// Inputs X, Y, and 1/Z in limbs. Outputs x, y in limbs, at most p.
//
// Counts    4 products, a square and 2 reductions; 440 vpmadd52.
// Time      constant: there is no branch.
//! `p256_affine_mb8_ifma`: affine coordinates, and the parts of the way to them.
#![forbid(unsafe_code)]

use super::p256_field52_ifma::{Lanes, clean, from_numbers, mul, sqr, to_numbers};
use super::p256_points52_ifma::{self, Jacobian};
use crate::p256::residue::Limbs;
use crate::vectors::all;

/// Returns Z, at most p.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn denominators(point: &Jacobian) -> Lanes {
    to_numbers(&clean(&point.z))
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn p256_affine_mb8_ifma(point: &Jacobian, inverses: &Lanes) -> [Lanes; 2] {
    let inverse = from_numbers(inverses);
    let square = sqr(&inverse);
    let (x, y) = (mul(&point.x, &square), mul(&point.y, &mul(&square, &inverse)));
    [to_numbers(&clean(&x)), to_numbers(&clean(&y))]
}

/// Returns X, Y, Z of the sum of eight points in affine coordinates. If two partial sums are equal
/// or opposite, the result is not a point: Z = 0.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn sum_of_lanes([x, y]: &[Lanes; 2]) -> [Limbs; 3] {
    let points = Jacobian::affine(from_numbers(x), &from_numbers(y), all(0));
    p256_points52_ifma::sum_of_lanes(&points)
}
