//! Fold rows: the whole product, then t := t / 2^64 + (t mod 2^64) * b with b = 2^-64 mod m, limb
//! by limb; the last row is one of Montgomery's.
//!
//! The lowest limb is the quotient digit itself. The method needs no product by k0 and no column
//! that only cancels.
//!
//! Counts: 2K^2 + 1 products; of a square K(K+1)/2 + K^2 + 1.

use tollgate_mont::Word as _;

use super::schoolbook;
use crate::limbs::{add_carry, add_row, low, subtract};
use crate::numbers::Numbers;

#[inline(never)]
pub(crate) fn amm<const U: usize, const SQUARE: bool>(
    z: &mut [u64],
    [x, y]: [&[u64]; 2],
    m: &Numbers,
    t: &mut [u64],
) {
    let t = &mut t[..2 * m.k()];
    schoolbook::product::<U, SQUARE>(t, [x, y]);
    reduce::<U>(z, t, m);
}

/// z :== t / R (mod m), for t < R^2.
///
/// Let B = 2^64. The K - 1 fold rows add (B - 1) * m * (1 + 1/B + ..), so they leave less than t /
/// B^{K-1} + m * B. The last row leaves less than t / R + 2m. So z < 3m if t <= R*m, and z < R + 2m
/// for any t.
#[inline(always)]
fn reduce<const U: usize>(z: &mut [u64], t: &mut [u64], m: &Numbers) {
    let k = m.k();
    let mut carry = 0; // into the limb above the row
    for i in 0..k - 1 {
        let lowest = t[i];
        let above = add_row::<U>(&mut t[i + 1..][..k], &m.fold, lowest);
        carry = add_carry(&mut t[i + k + 1], above, carry);
    }
    let q = low(t[k - 1], m.k0);
    let above = add_row::<U>(&mut t[k - 1..][..k], &m.m, q);
    let over = add_carry(&mut t[2 * k - 1], above, 0);
    z.copy_from_slice(&t[k..]);
    // z + above * R < R + 2m
    let mut above = carry.wrapping_add(over);
    for _ in 0..2 {
        let some = (above | above >> 1) & 1;
        above = above.wrapping_sub(subtract(z, &m.m, some.mask()));
    }
}
