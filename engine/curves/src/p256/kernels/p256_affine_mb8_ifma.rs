// x = X/Z^2 and y = Y/Z^3, in each of eight lanes. Inputs X, Y, Z, none of which is 0 mod p, and
// the inverse of the product of all Z in limbs. Outputs x, y in limbs, at most p.
//
// The products of the other lanes turn the inverse of all Z into that of each lane (Montgomery's
// trick).
//
// Counts    4 products before the inversion; 5 products and a square after it. With the changes of
//           form, 950 vpmadd52.
// Time      constant: there is no branch.
//! `p256_affine_mb8_ifma`: affine coordinates, with one inversion for eight lanes.

use super::p256_field52_ifma::{Element, Lanes, clean, everywhere, mul, sqr, to_numbers};
use super::p256_points52_ifma::Jacobian;
use crate::residue::Limbs;
use crate::vectors::{exchange, permuted};

/// Products of neighbouring lanes, which the coordinates need.
pub(crate) struct Neighbours {
    /// The product of the other lanes of a pair and of the other pair.
    others: Element,
    /// The product of the other four lanes.
    four: Element,
}

/// Returns the product of all Z, at most p.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn denominator(point: &Jacobian) -> (Limbs, Neighbours) {
    let one = permuted(&point.z, exchange(4));
    let pair = mul(&point.z, &one);
    let other_pair = permuted(&pair, exchange(2));
    let four = mul(&pair, &other_pair);
    let other_four = permuted(&four, exchange(1));
    let product = to_numbers(&clean(&mul(&four, &other_four))).map(|limb| limb[0]);
    (product, Neighbours { others: mul(&one, &other_pair), four: other_four })
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn p256_affine_mb8_ifma(
    point: &Jacobian,
    inverse: &Limbs,
    Neighbours { others, four }: &Neighbours,
) -> [Lanes; 2] {
    let inverse = mul(&mul(&everywhere(inverse), four), others);
    let square = sqr(&inverse);
    let (x, y) = (mul(&point.x, &square), mul(&point.y, &mul(&square, &inverse)));
    [to_numbers(&clean(&x)), to_numbers(&clean(&y))]
}
