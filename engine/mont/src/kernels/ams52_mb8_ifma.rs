// Almost Montgomery square (AMS), z :== x^2 / 2^{52K} (mod m), in each of 8 lanes.
// Inputs x[K], m[K], b1[K] = 2^-52 mod m, half[K] = b1 / 2 mod m if K = W, k0; output z[K];
// scratch t[4K+16]. Radix 2^52, digit-major, blocks of W digits. One call computes S such squares
// (streams).
//
// Requires  m odd; 64m <= R = 2^{52K}; x^2 <= R*m (true if x < 8m); k0 = -1/m mod 2^52; b1 < m.
//           Digits may be dirty: their low 52 bits count.
// Ensures   z < 3m if x < 7m (in fact z < 2m + x^2/R; if K = W, z < (2 + 2/B)m + x^2/R),
//           z :== x^2/R (mod m). All digits of z except the last are dirty.
// Counts    K(K+1) + 2K^2 + 1 vpmadd52: products of different digits once, doubled column by
//           column. All counts are for one stream. By Karatsuba
//           3K(K+2)/4 + 2K^2 + 1 for K = 30, 3K(K+2)/4 + 1.625K^2 + 2K + 1 for K = 40.
//           Interleaved table reads: 4K operations for 8 entries.
// Time      constant: no branch or address depends on x, m, b1 or k0.
// Model     amm52_mb8_portable, with y = x.
//! `ams52_mb8_ifma`: cross products of blocks once, squares of blocks, then fold rows.

use core::arch::x86_64::*;

use super::columns52_ifma::columns_mut;
use super::fold52_halves_ifma;
use super::karatsuba52_ifma::{self, Halves};
use super::short52_ifma::ams_short;
use super::tiles52_ifma::{Reduction, V, block, block_mut, mul_tile, reduce, sq_tile};

/// The operand and the output of one stream.
pub(crate) struct Square<'a> {
    pub(crate) x: &'a [V],
    pub(crate) end: Reduction<'a>,
}

/// A separate function, since closures in a function with target features are not inlined.
#[inline(always)]
fn ends<'a, 'b, const S: usize>(streams: &'a mut [Square<'b>; S]) -> [&'a mut Reduction<'b>; S] {
    streams.each_mut().map(|s| &mut s.end)
}

#[inline(always)]
fn halves<'a, const S: usize>(streams: &'a mut [Square<'_>; S]) -> [Halves<'a>; S] {
    streams.each_mut().map(|s| Halves { x: s.x, t: &mut *s.end.t })
}

#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn ams52_mb8_ifma<const W: usize, const S: usize>(
    streams: &mut [Square<'_>; S],
    by_rows: bool,
) {
    let k = streams[0].x.len();
    if k == W {
        for Square { x, end } in streams {
            let t = columns_mut(end.t);
            ams_short::<W>(block_mut(end.z), block(x, 0), &end.m.short(), t, by_rows);
        }
        return;
    }
    if k == 2 * W && W >= 15 {
        karatsuba52_ifma::square::<W, S>(halves(streams));
        if W == 20 {
            return fold52_halves_ifma::reduce::<10, 20, S>(ends(streams));
        }
        return reduce::<W, S>(ends(streams));
    }
    for Square { end, .. } in &mut *streams {
        end.t[..2 * k].fill(_mm512_setzero_si512());
    }
    for i in (0..k).step_by(W) {
        for j in (i + W..k).step_by(W) {
            for Square { x, end } in &mut *streams {
                mul_tile::<W, 0, true>(&mut end.t[i + j..], &x[j..], block(x, i));
            }
        }
    }
    for i in (0..k).step_by(W) {
        for Square { x, end } in &mut *streams {
            sq_tile::<W, true>(&mut end.t[2 * i..], block(x, i));
        }
    }
    reduce::<W, S>(ends(streams));
}
