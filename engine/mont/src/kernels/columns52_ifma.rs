// Reductions of products of one tile, K = W <= 20 digits, radix B = 2^52, in each of 8 lanes. The
// columns of the product come from memory (`mul_tile`, `sq_tile`).
//
//   reduce_columns   z[0..W] :== t[0..2W] / B^W (mod m); the second form also reads part of a table
//
// Requires  m odd; 64m <= R = B^W; t <= R*m; k0 = -1/m mod B; b1 = B^-1 mod m, below m.
// Ensures   z < 2m + t/R. All digits except the last are dirty.
// Counts    2W^2 + 1 vpmadd52: W - 1 fold rows and the textbook row.
// Time      constant: no branch or address depends on an operand.
// Model     amm52_mb8_portable.
//
// The window of columns stays in registers; see `tiles52_ifma` for fold rows.
//! The second step of products and squares of one tile: AVX-512 IFMA.

use core::arch::x86_64::*;

use super::rows52_ifma::last_row;
use super::select52_mb8_avx512::{Blocks, SPAN, V, digit, masks};
use super::tiles52_ifma::{Short, add, carry, fold_row, hi, lo, pin};
use super::unroll::{un, un10};

/// The columns of a product, lower and upper half.
pub(crate) type Columns<const W: usize> = [[V; W]; 2];

/// The first 2W words of scratch.
pub(crate) fn columns_mut<const W: usize>(t: &mut [V]) -> &mut Columns<W> {
    t.as_chunks_mut().0.first_chunk_mut().expect("scratch of 2W words")
}

/// A whole reduction in one window. `$also` is interleaved with each row.
macro_rules! fold_columns {
    ($W:ident, $z:ident, $t:ident, $m:ident, |$i:ident| $also:block) => {{
        let [lower, upper] = $t;
        let mut w = [_mm512_setzero_si512(); 21];
        un!(J < $W { w[J] = lower[J]; });
        w[$W] = upper[0];
        if $W <= 10 {
            // unrolled code: no moves, and b1 stays in registers
            un10!(I < $W {
                let $i = I;
                if I + 1 < $W {
                    fold_row!(w, $W, $m.b1, upper[$i + 1]);
                }
                $also
            });
        } else {
            for $i in 0..$W - 1 {
                fold_row!(w, $W, $m.b1, upper[$i + 1]);
                $also
            }
            let $i = $W - 1;
            $also
        }
        last_row!($W, $z, $m.m, *$m.k0, w[0], |J| w[J + 1], w[$W]);
    }};
}

/// z :== t / B^W (mod m), z < t / B^W + 2m.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn reduce_columns<const W: usize>(z: &mut [V; W], t: &Columns<W>, m: &Short<'_, W>) {
    const { assert!(W <= 20, "the window would not fit in the registers") };
    fold_columns!(W, z, t, m, |_i| {});
}

/// Does the same as [`reduce_columns`], and reads table entries into `out`, one digit per row: see
/// [`Read`](super::select52_mb8_avx512::Read).
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn reduce_columns_reading<const W: usize>(
    z: &mut [V; W],
    t: &Columns<W>,
    m: &Short<'_, W>,
    entries: &[[V; W]; SPAN],
    index: &V,
    first: i64,
    out: &mut [V; W],
) {
    const { assert!(W <= 20, "the window would not fit in the registers") };
    let (masks, entries): (_, Blocks<'_, W>) = (masks(index, first), entries.each_ref());
    fold_columns!(W, z, t, m, |i| { out[i] = digit(out[i], &masks, &entries, i) });
}
