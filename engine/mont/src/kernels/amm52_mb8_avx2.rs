// Almost Montgomery multiply (AMM), z :== x * y / 2^{52K} (mod m), in each of 8 lanes.
// Inputs x[K], y[K], m[K], b1[K] = 2^-52 mod m, k0; output z[K]; scratch t[9K]. Radix 2^52,
// digit-major, in halves of 26 bits; blocks of W digits, Q = W - 1.
//
// Requires  m odd; 64m <= R = 2^{52K}; x*y <= R*m (true if x, y < 8m);
//           k0 = -1/m mod 2^52; b1 < m.
//           Digits may be dirty: their low 52 bits count.
// Ensures   z < 3m (in fact < 2m + x*y/R), z :== x*y/R (mod m).
//           All digits of z except the last are dirty.
// Counts    12K^2 + 6 vpmuludq
// Time      constant: no branch or address depends on x, y, m, b1 or k0.
// Model     amm52_mb8_portable.
//! `amm52_mb8_avx2`: products of half digits and of their sums, then fold rows.
#![forbid(unsafe_code)]

use core::arch::x86_64::*;

use super::tiles26_avx2::{Digits, Factors, groups, mul_tile, reduce, split, split_block};

#[target_feature(enable = "avx2")]
pub(crate) fn amm52_mb8_avx2<const W: usize, const Q: usize>(
    m: &Factors<'_>,
    z: &mut [Digits],
    x: &[Digits],
    y: &[Digits],
    t: &mut [Digits],
) {
    let k = x.len();
    let mut groups = groups(t, k);
    for (g, group) in groups.iter_mut().enumerate() {
        split(&mut group.a, x, g);
        group.t.iter_mut().for_each(|t| t[k + W - 1..].fill(_mm256_setzero_si256()));
    }
    for j in (0..k).step_by(W) {
        for (g, group) in groups.iter_mut().enumerate() {
            let y = split_block::<W>(&y[j..], g);
            for (kind, y) in y.iter().enumerate() {
                let t = &mut group.t[kind][j..];
                if j == 0 {
                    mul_tile::<W, false>(t, group.a[kind], y);
                } else {
                    mul_tile::<W, true>(t, group.a[kind], y);
                }
            }
        }
    }
    reduce::<W, Q>(z, groups, m);
}
