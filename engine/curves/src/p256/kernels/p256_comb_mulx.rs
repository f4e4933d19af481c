// k G for the base point G.
// Inputs k, the table. Output a point in Jacobian coordinates.
//
// k is the sum of 36 odd digits of seven bits and one of four bits, the top one.
//
// Requires  k is not a multiple of n.
// Counts    36 mixed additions; 7,272 mulx.
// Time      constant: every entry of a window is read.
// Model     p256_comb_portable.
//
// No addition has equal or opposite points: see `p256_comb_mb8_ifma`, which adds the same ones in
// the same order.
//! `p256_comb_mulx`: the sum of one table entry for each window of seven bits.

use tollgate_cpu::{HaveAdxBmi2, HaveAvx2};

pub(crate) use super::p256_comb_mb8_ifma::{BITS, WINDOWS};
use super::p256_field64_mulx::{negated_if, selected};
use super::p256_points64_mulx::{Modified, add_affine};
use crate::p256::digits::Odd;
use crate::p256::point::Affine;
use crate::residue::Element;

/// The number of entries of a window: entry e is the multiple 2e + 1.
pub(crate) const ENTRIES: usize = 1 << (BITS - 1);

/// `top` is the window of weight 2^252.
#[inline(never)]
pub(crate) fn p256_comb_mulx(
    k: &Odd,
    top: &[Affine; 8],
    windows: &[[Affine; ENTRIES]],
    (proof, vectors): (HaveAdxBmi2, HaveAvx2),
) -> [Element; 3] {
    assert!(windows.len() == WINDOWS, "the table is complete");
    let (index, _) = k.digit::<4>(63);
    let Affine { x, y } = selected(top, index, vectors);
    let mut sum = Modified { x, y, z: Element::ONE, t: Element::ZERO };
    for step in 0..WINDOWS {
        let w = if step < WINDOWS - 2 { WINDOWS - 1 - step } else { step + 2 - WINDOWS };
        let (index, negative) = k.digit::<BITS>(w);
        let mut addend = selected(&windows[w], index, vectors);
        addend.y = negated_if(&addend.y, negative);
        add_affine::<false>(&mut sum, &addend, proof);
    }
    [sum.x, negated_if(&sum.y, k.negative), sum.z]
}
