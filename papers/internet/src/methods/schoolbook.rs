//! Schoolbook multiplication: every limb times every limb, row by row. A square takes about half of
//! the products.

use crate::limbs::{add_carry, add_row, high_half, low_half, wide};

/// t := x * y, for 2K limbs t, with x = y if `SQUARE`.
#[inline(always)]
pub(crate) fn product<const SQUARE: bool>(t: &mut [u64], [x, y]: [&[u64]; 2]) {
    if SQUARE { square(t, x) } else { multiply(t, x, y) }
}

/// t := x * y, for 2K limbs t. K^2 products.
#[inline(always)]
fn multiply(t: &mut [u64], x: &[u64], y: &[u64]) {
    let k = x.len();
    t[..k].fill(0);
    for (i, &y) in y.iter().enumerate() {
        t[i + k] = add_row(&mut t[i..i + k], x, y);
    }
}

/// t := x^2, for 2K limbs t: twice the products above the diagonal, and the diagonal. K(K+1)/2
/// products.
#[inline(always)]
fn square(t: &mut [u64], x: &[u64]) {
    let k = x.len();
    t.fill(0);
    for i in 0..k - 1 {
        t[i + k] = add_row(&mut t[2 * i + 1..i + k], &x[i + 1..], x[i]);
    }
    let (mut out, mut carry) = (0, 0);
    for (t, &x) in t.as_chunks_mut::<2>().0.iter_mut().zip(x) {
        let diagonal = wide(x, x);
        let (low, high) = (t[0] << 1 | out, t[1] << 1 | t[0] >> 63);
        out = t[1] >> 63;
        *t = [low, high];
        carry = add_carry(&mut t[0], low_half(diagonal), carry);
        carry = add_carry(&mut t[1], high_half(diagonal), carry);
    }
}
