// Almost Montgomery multiply (AMM), z :== x * y / 2^{52K} (mod m), in each of 8 lanes.
// Inputs x[K], y[K], m[K], k0; output z[K]; scratch t[K+1]. Radix 2^52, digit-major.
//
// Requires  m odd; 64m <= R = 2^{52K}; x*y <= R*m (true if x, y < 8m); k0 = -1/m mod 2^52.
//           Digits may be dirty: their low 52 bits count.
// Ensures   z < 2m, digits of z clean, z :== x*y/R (mod m).
// Counts    4K^2 half products, and K for q.
// Time      constant: no branch or address depends on x, y, m or k0.
//! `amm52_mb8_portable`: textbook rows, digit by digit. All eight-lane kernels are tested against
//! it.

use crate::word::{DIGIT, Row, Word};

pub(crate) fn amm52_mb8_portable(
    z: &mut [Row],
    x: &[Row],
    y: &[Row],
    m: &[Row],
    k0: Row,
    t: &mut [Row],
) {
    let k = z.len();
    let t = &mut t[..=k];
    t.fill(Row::default());
    for &y in y {
        for j in 0..k {
            t[j] = add(t[j], low(x[j], y));
            t[j + 1] = add(t[j + 1], high(x[j], y));
        }
        let q = low(t[0], k0);
        for j in 0..k {
            t[j] = add(t[j], low(q, m[j]));
            t[j + 1] = add(t[j + 1], high(q, m[j]));
        }
        // t[0] :== 0 (mod 2^52). Its higher bits move to the next column, which becomes the first.
        // Per row a column gains at most four halves and a carry: 4 * K * 2^52 + 2^12 < 2^63.
        t[1] = add(t[1], t[0].zip(t[0], |t, _| t >> 52));
        t.copy_within(1.., 0);
        t[k] = Row::default();
    }
    let mut carry = Row::default();
    for (z, t) in z.iter_mut().zip(&*t) {
        let column = add(*t, carry);
        *z = column.zip(column, |c, _| c & DIGIT);
        carry = column.zip(column, |c, _| c >> 52);
    }
}

fn add(x: Row, y: Row) -> Row {
    x.zip(y, u64::wrapping_add)
}

fn wide(x: u64, y: u64) -> u128 {
    u128::from(x & DIGIT).wrapping_mul(u128::from(y & DIGIT))
}

#[allow(clippy::cast_possible_truncation, reason = "the low half is meant")]
fn low(x: Row, y: Row) -> Row {
    x.zip(y, |x, y| wide(x, y) as u64 & DIGIT)
}

#[allow(clippy::cast_possible_truncation, reason = "104 bits, shifted by 52")]
fn high(x: Row, y: Row) -> Row {
    x.zip(y, |x, y| (wide(x, y) >> 52) as u64)
}
