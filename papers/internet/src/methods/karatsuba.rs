//! Karatsuba, one level: three products of half the size instead of four; reduction as in SOS.
//!
//! With x = x1 * H + x0: x*y = x1*y1 * H^2 + (x1*y1 + x0*y0 - (x1 - x0)(y1 - y0)) * H + x0*y0.
//!
//! Counts: 3(K/2)^2 + K^2 + K products; of a square 3(K/2)(K/2+1)/2 + K^2 + K.

use tollgate_mont::Word as _;

use super::{schoolbook, sos};
use crate::limbs::{add, add_carry, subtract};
use crate::numbers::Numbers;

#[inline(never)]
pub(crate) fn amm<const SQUARE: bool>(
    z: &mut [u64],
    [x, y]: [&[u64]; 2],
    m: &Numbers,
    t: &mut [u64],
) {
    let k = m.k();
    let (t, s) = t.split_at_mut(2 * k);
    let (middle, s) = s.split_at_mut(k);
    let (x0, x1) = x.split_at(k / 2);
    let (y0, y1) = y.split_at(k / 2);
    let (dx, rest) = t.split_at_mut(k / 2);
    let dy = &mut rest[..k / 2];
    let mut negative = difference(dx, x1, x0);
    if SQUARE {
        negative = 0; // a square is not negative, and dy is not read
    } else {
        negative ^= difference(dy, y1, y0);
    }
    half::<SQUARE>(middle, [dx, dy]);
    let (low, high) = t.split_at_mut(k);
    half::<SQUARE>(low, [x0, y0]);
    half::<SQUARE>(high, [x1, y1]);
    combine(t, middle, &mut s[..k], negative);
    sos::reduce(z, t, m);
}

/// A separate function, so that the three calls share its code.
#[inline(never)]
pub(crate) fn half<const SQUARE: bool>(t: &mut [u64], of: [&[u64]; 2]) {
    schoolbook::product::<SQUARE>(t, of);
}

/// z := |x - y|; returns 1 if x < y, else 0.
#[inline(always)]
fn difference(z: &mut [u64], x: &[u64], y: &[u64]) -> u64 {
    z.copy_from_slice(x);
    let negative = subtract(z, y, u64::MAX);
    let (mask, mut carry) = (negative.mask(), negative);
    for z in z {
        let flipped = *z ^ mask;
        *z = flipped;
        carry = add_carry(z, 0, carry);
    }
    negative
}

/// t := t + (low + high - middle, or + middle if `negative` is 1) * H, with low and high the
/// halves of t; s: K limbs of scratch.
#[inline(always)]
fn combine(t: &mut [u64], middle: &mut [u64], s: &mut [u64], negative: u64) {
    let k = s.len();
    let (low, high) = t.split_at(k);
    s.copy_from_slice(low);
    let above = add(s, high, 0);
    // - middle is (not middle) + 1 - R
    let minus = negative ^ 1;
    let mask = minus.mask();
    middle.iter_mut().for_each(|limb| *limb ^= mask);
    let above = above.wrapping_add(add(s, middle, minus)).wrapping_sub(minus);
    let mut carry = add(&mut t[k / 2..][..k], s, 0).wrapping_add(above); // 0 to 2
    for t in &mut t[k / 2 + k..] {
        let (sum, over) = t.overflowing_add(carry);
        (*t, carry) = (sum, u64::from(over));
    }
}
