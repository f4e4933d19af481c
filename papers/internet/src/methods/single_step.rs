//! Reduction in a single step: t = x*y, q = t * (-1/m) mod R, then z = (t + q*m) / R. These are
//! products of whole numbers: no limb waits for a quotient digit.
//!
//! Only the high half of q*m is needed. Its low half is -t mod R, which is known. Two columns of
//! the low half are also computed, without the carry from the columns below them. This carry is the
//! difference between the known columns and the computed ones. The carry is less than K * 2^64; two
//! columns therefore determine it.
//!
//! Counts, the rows of both halves summed: K^2 + K(K+1)/2 + (K-1)(K+2)/2 + K products.

use tollgate_mont::Word as _;

use super::{schoolbook, settle};
use crate::limbs::{add, add_carry, add_row};
use crate::numbers::Numbers;

#[inline(never)]
pub(crate) fn amm<const SQUARE: bool>(
    z: &mut [u64],
    [x, y]: [&[u64]; 2],
    m: &Numbers,
    t: &mut [u64],
) {
    let (t, s) = t.split_at_mut(2 * m.k());
    schoolbook::product::<SQUARE>(t, [x, y]);
    reduce(z, t, m, s);
}

/// z :== t / R (mod m), for t < R^2; s: 2K + 2 limbs of scratch.
#[inline(always)]
fn reduce(z: &mut [u64], t: &[u64], m: &Numbers, s: &mut [u64]) {
    let k = m.k();
    let (low, high) = t.split_at(k);
    let (q, s) = s.split_at_mut(k);
    low_half(q, low, &m.inverse);
    let s = &mut s[..k + 2];
    upper_columns(s, q, &m.m);
    let (rest, top) = low.split_at(k - 2);
    let rest_is_zero = rest.iter().fold(0, |all, &x| all | x).is_zero() & 1;
    let low_is_zero = low.iter().fold(0, |all, &x| all | x).is_zero() & 1;
    // columns K-2 and K-1 of (-t mod R); the same columns of q*m without their carry are in s
    let known = (!pair(top)).wrapping_add(u128::from(rest_is_zero));
    let carry = u64::from(known < pair(s));
    z.copy_from_slice(high);
    // low + q*m is 0 or R
    let over = add(z, &s[2..], carry);
    let mut carry = low_is_zero ^ 1;
    for z in &mut *z {
        carry = add_carry(z, 0, carry);
    }
    settle(z, &m.m, over.wrapping_add(carry)); // below R + m, as in SOS
}

fn pair(x: &[u64]) -> u128 {
    u128::from(x[1]) << 64 | u128::from(x[0])
}

/// q := x * y mod R.
#[inline(always)]
fn low_half(q: &mut [u64], x: &[u64], y: &[u64]) {
    let k = q.len();
    q.fill(0);
    for (i, &x) in x.iter().enumerate() {
        add_row(&mut q[i..], &y[..k - i], x);
    }
}

/// s := the products x[i] * y[j] with i + j >= K - 2, over 2^{64(K-2)}: K + 2 limbs.
#[inline(always)]
fn upper_columns(s: &mut [u64], x: &[u64], y: &[u64]) {
    let k = x.len();
    s.fill(0);
    for i in 0..k - 1 {
        s[i + 2] = add_row(&mut s[..i + 2], &y[k - 2 - i..], x[i]);
    }
    s[k + 1] = add_row(&mut s[1..=k], y, x[k - 1]);
}
