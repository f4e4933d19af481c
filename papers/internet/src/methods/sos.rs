//! SOS, separated operand scanning [KAK96]: the whole product, then a row of reduction per limb.
//!
//! Counts: 2K^2 + K products; of a square K(K+1)/2 + K^2 + K.

use super::{schoolbook, settle};
use crate::limbs::{add_carry, add_row, low};
use crate::numbers::Numbers;

#[inline(never)]
pub(crate) fn amm<const SQUARE: bool>(
    z: &mut [u64],
    [x, y]: [&[u64]; 2],
    m: &Numbers,
    t: &mut [u64],
) {
    let t = &mut t[..2 * m.k()];
    schoolbook::product::<SQUARE>(t, [x, y]);
    reduce(z, t, m);
}

/// z :== t / R (mod m), for t < R^2. K^2 + K products.
#[inline(always)]
pub(crate) fn reduce(z: &mut [u64], t: &mut [u64], m: &Numbers) {
    let k = m.k();
    // the carry from the limb above a row to the limb above the next row; [KAK96] adds it at once
    let mut carry = 0;
    for i in 0..k {
        let q = low(t[i], m.k0);
        let above = add_row(&mut t[i..i + k], &m.m, q);
        carry = add_carry(&mut t[i + k], above, carry);
    }
    z.copy_from_slice(&t[k..]); // (R^2 - 1 + (R - 1) * m) / R < R + m
    settle(z, &m.m, carry);
}
