//! FIOS, finely integrated operand scanning [KAK96]: product and reduction of a limb in one loop.
//!
//! Two carries run through the loop; [KAK96] adds the first one to the next limb instead. The
//! quotient digit is known before the loop begins, so the limb of the product that determines it is
//! multiplied twice.
//!
//! Counts: 2K^2 + 2K products.

use super::settle;
use crate::limbs::{low, mac};
use crate::numbers::Numbers;

#[inline(never)]
pub(crate) fn amm<const U: usize>(z: &mut [u64], [x, y]: [&[u64]; 2], m: &Numbers, t: &mut [u64]) {
    let k = m.k();
    let s = &mut t[..=k]; // t from its second limb on; a row leaves 0 in the first
    s.fill(0);
    let mut top = 0; // t < R + m before and after a row: 0 or 1
    for &y in y {
        let q = low(s[1].wrapping_add(low(x[0], y)), m.k0);
        let [a, b] = add_rows_shifting::<U>(s, [x, &m.m], [y, q]);
        let (above, over) = a.overflowing_add(top);
        let (above, again) = above.overflowing_add(b);
        s[k] = above;
        top = u64::from(over).wrapping_add(u64::from(again));
    }
    z.copy_from_slice(&s[1..]);
    settle(z, &m.m, top);
}

/// t := (t + x * y + m * q) / 2^64, `s` as in `add_row_shifting`; returns both carries.
#[inline(always)]
fn add_rows_shifting<const U: usize>(
    s: &mut [u64],
    [x, m]: [&[u64]; 2],
    [y, q]: [u64; 2],
) -> [u64; 2] {
    let mut carry = [0; 2];
    let both = |t: u64, x: u64, m: u64, carry: [u64; 2]| {
        let (t, a) = mac(t, x, y, carry[0]);
        let (t, b) = mac(t, m, q, carry[1]);
        (t, [a, b])
    };
    let (xs, x_rest) = x.as_chunks::<U>();
    let (ms, m_rest) = m.as_chunks::<U>();
    for (i, (x, m)) in xs.iter().zip(ms).enumerate() {
        let s = &mut s[i * U..][..=U];
        for j in 0..U {
            (s[j], carry) = both(s[j + 1], x[j], m[j], carry);
        }
    }
    let s = &mut s[x.len() - x_rest.len()..];
    for (j, (&x, &m)) in x_rest.iter().zip(m_rest).enumerate() {
        (s[j], carry) = both(s[j + 1], x, m, carry);
    }
    carry
}
