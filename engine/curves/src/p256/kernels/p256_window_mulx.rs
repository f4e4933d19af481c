// k P for any point P other than the neutral one.
// Inputs k, P. Output a point in Jacobian coordinates.
//
// k is the sum of 51 odd digits of five bits, and 2^255.
//
// Requires  k is not a multiple of n.
// Counts    255 doublings, 51 additions and a table of 16 entries; 49,910 mulx.
// Time      constant: every entry of the table is read.
//
// No addition has equal or opposite points: see `p256_window_mb8_ifma`, which adds the same ones.
//! `p256_window_mulx`: windows of five bits, from the top.

use tollgate_cpu::{HaveAdxBmi2, HaveAvx2};

use super::p256_field64_mulx::{mul, negated_if, selected};
use super::p256_points64_mulx::{Modified, add_affine, double, odd_multiples};
use super::p256_window_mb8_ifma::{BITS, WINDOWS};
use crate::p256::digits::Odd;
use crate::p256::point::Affine;
use crate::residue::Element;

#[inline(never)]
pub(crate) fn p256_window_mulx(
    k: &Odd,
    point: &Affine,
    (proof, vectors): (HaveAdxBmi2, HaveAvx2),
) -> [Element; 3] {
    let mut table = [*point; 16];
    let curve = odd_multiples(&mut table, proof);
    let Affine { x, y } = table[0];
    let mut sum = Modified { x, y, z: Element::ONE, t: curve.a };
    for w in (0..WINDOWS).rev() {
        for _ in 0..BITS {
            double(&mut sum, proof);
        }
        let (index, negative) = k.digit::<BITS>(w);
        let mut addend = selected(&table, index, vectors);
        addend.y = negated_if(&addend.y, negative);
        add_affine::<true>(&mut sum, &addend, proof);
    }
    let y = negated_if(&sum.y, k.negative);
    [sum.x, y, mul(&sum.z, &curve.z, proof)]
}
