// X - r Z^2 of a sum of two points, in each of eight lanes: 0 mod p if x of the sum is r. Inputs
// the points P, Q in Jacobian coordinates; signs of Q, all ones for -Q; r in limbs. Outputs X - r
// Z^2 and Z in limbs, at most p.
//
// If the points of a lane are equal or opposite, its Z is 0 mod p.
//
// Counts    an addition, a square and a product; with the changes of form, 1,450 vpmadd52.
// Time      constant: there is no branch. Nothing here is secret.
//! `p256_verify_mb8_ifma`: compares x of a sum without an inversion.

use super::p256_field52_ifma::{
    Lanes, carried, clean, from_numbers, plus_p, product, reduced, sqr, sub, to_numbers,
};
use super::p256_points52_ifma::{Jacobian, add_points};
use crate::vectors::vector;

#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn p256_verify_mb8_ifma(
    mut sum: Jacobian,
    q: &Jacobian,
    negative: [u64; 8],
    r: &Lanes,
) -> [Lanes; 2] {
    add_points(&mut sum, q, vector(negative));
    let x = reduced(product(&from_numbers(r), &sqr(&sum.z))); // 1.2
    let difference = carried(&plus_p::<2>(&sub(&sum.x, &x)));
    [to_numbers(&clean(&difference)), to_numbers(&clean(&sum.z))]
}
