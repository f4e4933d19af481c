// Almost Montgomery multiply (AMM), z :== x * y / 2^{64K} (mod m).
// Inputs x[K], y[K], m[K], k0; output z[K]; scratch t[K+1]. Radix 2^64.
//
// Requires  m odd; x, y < R = 2^{64K}; k0 = -1/m mod 2^64.
// Ensures   z < R, z :== x*y/R (mod m); z < 2m if x*y <= R*m.
// Counts    2K^2 + K products.
// Time      constant: no branch or address depends on x, y, m or k0.
//! `amm64_portable`: other limb kernels are tested against this one.

use crate::word::Word;

pub(crate) fn amm64_portable(
    z: &mut [u64],
    x: &[u64],
    y: &[u64],
    m: &[u64],
    k0: u64,
    t: &mut [u64],
) {
    let k = z.len();
    t[..=k].fill(0);
    for &y in y {
        // t < R + m before and after each row, so t[k] is 0 or 1:
        // (R + m + (2^64 - 1) * R + (2^64 - 1) * m) / 2^64 = R + m
        let mut carry = 0;
        for j in 0..k {
            (t[j], carry) = product(x[j], y, t[j], carry);
        }
        let (top, over) = t[k].overflowing_add(carry);
        let q = t[0].wrapping_mul(k0);
        let (_, mut carry) = product(q, m[0], t[0], 0); // t[0] + q * m[0] :== 0
        for j in 1..k {
            (t[j - 1], carry) = product(q, m[j], t[j], carry);
        }
        let (top, again) = top.overflowing_add(carry);
        t[k - 1] = top;
        t[k] = u64::from(over).wrapping_add(u64::from(again));
    }
    subtract_if(z, &t[..k], m, t[k]);
}

/// z := t - m if `above` is 1, else t. If t + above * R < R + m, then z < R.
fn subtract_if(z: &mut [u64], t: &[u64], m: &[u64], above: u64) {
    let mask = above.mask();
    let mut borrow = 0;
    for ((z, t), m) in z.iter_mut().zip(t).zip(m) {
        *z = t.sub_borrow(m & mask, &mut borrow);
    }
}

/// Returns (low, high) of x * y + a + b, which is at most 2^128 - 1.
fn product(x: u64, y: u64, a: u64, b: u64) -> (u64, u64) {
    let t = u128::from(x).wrapping_mul(u128::from(y));
    let t = t.wrapping_add(u128::from(a)).wrapping_add(u128::from(b));
    #[allow(clippy::cast_possible_truncation, reason = "the halves are meant")]
    {
        (t as u64, (t >> 64) as u64)
    }
}
