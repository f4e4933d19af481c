// Almost Montgomery multiply (AMM), z :== x * y / 2^{52K} (mod m), in each of 8 lanes.
// Inputs x[K], y[K], m[K], b1[K] = 2^-52 mod m, k0; output z[K]; scratch t[4K+16]. Radix 2^52,
// digit-major, blocks of W digits. One call computes S such products (streams).
//
// Requires  m odd; 64m <= R = 2^{52K}; x*y <= R*m (true if x, y < 8m);
//           k0 = -1/m mod 2^52; b1 < m.
//           Digits may be dirty: their low 52 bits count.
// Ensures   z < 3m (in fact < 2m + x*y/R), z :== x*y/R (mod m).
//           All digits of z except the last are dirty.
// Counts    4K^2 + 1 vpmadd52 a stream; by Karatsuba 3.5K^2 + 1 for K = 30, 3.125K^2 + 2K + 1 for
//           K = 40.
// Time      constant: no branch or address depends on x, y, m, b1 or k0.
// Model     amm52_mb8_portable.
//! `amm52_mb8_ifma`: product, then fold rows; blocks of W digits in registers.

use core::arch::x86_64::*;

use super::columns52_ifma::columns_mut;
use super::fold52_halves_ifma;
use super::karatsuba52_ifma::{self, Halves};
use super::short52_ifma::amm_short;
use super::tiles52_ifma::{Reduction, V, block, block_mut, mul_tile, reduce};

/// The operands and the output of one stream.
pub(crate) struct Product<'a> {
    pub(crate) x: &'a [V],
    pub(crate) y: &'a [V],
    pub(crate) end: Reduction<'a>,
}

/// A separate function, since closures in a function with target features are not inlined.
#[inline(always)]
fn ends<'a, 'b, const S: usize>(streams: &'a mut [Product<'b>; S]) -> [&'a mut Reduction<'b>; S] {
    streams.each_mut().map(|s| &mut s.end)
}

#[inline(always)]
fn halves<'a, const S: usize>(streams: &'a mut [Product<'_>; S]) -> [Halves<'a>; S] {
    streams.each_mut().map(|s| Halves { x: s.x, t: &mut *s.end.t })
}

#[inline(always)]
fn factors<'a, const S: usize>(streams: &[Product<'a>; S]) -> [&'a [V]; S] {
    streams.each_ref().map(|s| s.y)
}

#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn amm52_mb8_ifma<const W: usize, const S: usize>(
    streams: &mut [Product<'_>; S],
    by_rows: bool,
) {
    let k = streams[0].x.len();
    if k == W {
        for Product { x, y, end } in streams {
            let t = columns_mut(end.t);
            amm_short::<W>(block_mut(end.z), block(x, 0), block(y, 0), &end.m.short(), t, by_rows);
        }
        return;
    }
    if k == 2 * W && W >= 15 {
        let y = factors(streams);
        karatsuba52_ifma::product::<W, S>(halves(streams), y);
        if W == 20 {
            return fold52_halves_ifma::reduce::<10, 20, S>(ends(streams));
        }
        return reduce::<W, S>(ends(streams));
    }
    for Product { x, y, end } in &mut *streams {
        mul_tile::<W, 0, false>(end.t, x, block(y, 0));
        end.t[2 * W..2 * k].fill(_mm512_setzero_si512());
    }
    for j in (0..k).step_by(W) {
        for i in (0..k).step_by(W).filter(|i| i + j > 0) {
            for Product { x, y, end } in &mut *streams {
                mul_tile::<W, 0, true>(&mut end.t[i + j..], &x[i..], block(y, j));
            }
        }
    }
    reduce::<W, S>(ends(streams));
}
