//! CIOS, coarsely integrated operand scanning [KAK96]: rows of product and rows of reduction
//! alternate, in K + 1 limbs that move down by one.
//!
//! Counts: 2K^2 + K products.

use super::settle;
use crate::limbs::{add_row, add_row_shifting, low};
use crate::numbers::Numbers;

#[inline(never)]
pub(crate) fn amm(z: &mut [u64], [x, y]: [&[u64]; 2], m: &Numbers, t: &mut [u64]) {
    let k = m.k();
    let s = &mut t[..=k]; // t from its second limb on; a row leaves 0 in the first
    s.fill(0);
    let mut top = 0; // t < R + m before and after a row: 0 or 1
    for &y in y {
        let carry = add_row(&mut s[1..], x, y);
        let (above, over) = carry.overflowing_add(top);
        let carry = add_row_shifting(s, &m.m, low(s[1], m.k0));
        let (above, again) = above.overflowing_add(carry);
        s[k] = above;
        top = u64::from(over).wrapping_add(u64::from(again));
    }
    z.copy_from_slice(&s[1..]);
    settle(z, &m.m, top);
}
