// Almost Montgomery multiply (AMM), z :== x * y / R (mod m), of one number in eight lane blocks of
// many digits. Inputs x[K], y[K], k0, and c, which contains b1[K], b2[K] and m[K]; output z[K].
//
// Requires, Ensures, Time, Model: those of `amm52_blocks_ifma`, and C >= 2.
// Counts    4 * rows * K + 2K + 1 vpmadd52: one more reduction row, of zeros.
//! `amm52_long_blocks_ifma`: the rows of `amm52_blocks_ifma` in a loop over the blocks.
//!
//! Unrolled, 60 or 80 rows are 20 KB of code and need more accumulators than there are registers.
//! Here only the rows of one block are unrolled. The loop passes the state of the next block from
//! one pass to the next: its columns, and the digit of the next row.

use core::arch::x86_64::*;
use core::hint::black_box;

use super::lanes52_blocks::{Constants, Pin, digits, down, low_lanes, spread};
use super::tiles52_ifma::{V, add, block, hi, lo};
use super::unroll::{un, un10};
use crate::word::{LANES, Row};

/// Number of product rows before the first reduction row, the fastest measured.
const AHEAD: usize = 2;

/// Returns digit `k` of block `a` in all lanes, by a broadcast load.
#[inline]
#[target_feature(enable = "avx512f")]
fn digit(rows: &[Row], k: usize, a: usize) -> V {
    _mm512_set1_epi64(rows[k].0[a].cast_signed())
}

/// Returns x * y / R. `rows` is x in memory.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn product<const K: usize, const L: usize, const C: usize>(
    rows: &[Row],
    y: &[V; K],
    c: &Constants<K>,
    k0: &V,
) -> [V; K] {
    const { assert!(K <= 10 && C >= 2 && C <= K, "no such blocks") };
    let low_lanes = low_lanes(L, 1);
    let zero = _mm512_setzero_si512();
    // low and high halves of the columns of this block; 24 covers every index in `un10`
    let (mut l, mut h): ([V; 24], [V; 24]);
    // from the previous block: the digit whose row is next, and the columns of that row in this
    // block
    let (mut q, mut t, mut top) = (zero, [zero; K], zero);

    // row $r of the product; this block has $end rows
    macro_rules! multiply { ($a:ident, $r:expr, $end:expr) => {{
        let y = black_box(Pin(y)).0;
        if $r < $end {
            let x = digit(rows, $r, $a);
            un10!(J < K {
                l[$r + J] = lo(l[$r + J], x, y[J]);
                h[$r + J + 1] = hi(h[$r + J + 1], x, y[J]);
            });
        }
    }} }
    // adds q * n from column $c on; row $r of the product hides the latency of column $c
    macro_rules! fold { ($c:expr, $q:expr, $n:expr, $a:ident, $r:expr, $end:expr) => {
        l[$c] = lo(l[$c], $q, $n[0]);
        multiply!($a, $r, $end);
        h[$c + 1] = hi(h[$c + 1], $q, $n[0]);
        un10!(1 <= J < K {
            l[$c + J] = lo(l[$c + J], $q, $n[J]);
            h[$c + J + 1] = hi(h[$c + J + 1], $q, $n[J]);
        });
    } }
    // The first product rows need no earlier result. Then add the state of the previous block.
    macro_rules! begin { ($a:ident, $end:expr) => {
        (l, h) = ([zero; 24], [zero; 24]);
        un10!(B < AHEAD { multiply!($a, B, $end); });
        let [_, b2, _] = black_box(Pin(c)).0;
        l[0] = add(l[0], t[0]);
        l[1] = add(add(l[1], h[1]), t[1]);
        h[1] = zero;
        un10!(2 <= J < K { h[J] = add(h[J], t[J]); });
        h[K] = add(h[K], top);
        fold!(1, q, b2, $a, AHEAD, $end);
    } }
    // removes digit $b and adds its product with $n, $up columns higher
    macro_rules! reduce {
        ($a:ident, $b:expr, $up:expr, $n:ident, $end:expr) => {
            let q = spread::<L, 1>(l[$b]);
            l[$b + 1] = add(l[$b + 1], _mm512_maskz_srli_epi64::<52>(low_lanes, l[$b]));
            if $up == 2 && $b + 2 < K {
                l[$b + 2] = add(l[$b + 2], h[$b + 2]);
                h[$b + 2] = zero;
            }
            fold!($b + $up, q, $n, $a, $b + AHEAD + 1, $end);
        };
    }

    for a in 0..L - 1 {
        begin!(a, K);
        un10!(B < K {
            if B + 1 < K {
                let [_, b2, _] = black_box(Pin(c)).0;
                reduce!(a, B, 2, b2, K);
            }
        });
        q = spread::<L, 1>(add(l[K - 1], l[K - 1]));
        un10!(J < K {
            let s = add(l[K + J], h[K + J]);
            t[J] = add(add(s, s), down::<L, 1>(l[J]));
        });
        t[0] = add(t[0], _mm512_maskz_srli_epi64::<51>(low_lanes, l[K - 1]));
        top = add(h[2 * K], h[2 * K]);
    }
    let a = L - 1;
    begin!(a, C);
    un10!(B < K {
        if B + 2 < C {
            let [_, b2, _] = black_box(Pin(c)).0;
            reduce!(a, B, 2, b2, C);
        } else if B + 2 == C {
            let [b1, _, _] = black_box(Pin(c)).0;
            reduce!(a, B, 1, b1, C);
        }
    });
    let [_, _, m] = black_box(Pin(c)).0;
    let q = spread::<L, 1>(lo(zero, l[C - 1], *k0));
    un10!(J < K {
        l[C - 1 + J] = lo(l[C - 1 + J], q, m[J]);
        h[C + J] = hi(h[C + J], q, m[J]);
    });
    digits::<K, L, 1, C, 24>(&l, &h)
}

/// z := x * y / R. `rows` is x in memory.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn amm52_long_blocks_ifma<const K: usize, const C: usize>(
    z: &mut [V],
    rows: &[Row],
    y: &[V],
    c: &Constants<K>,
    k0: &V,
) {
    let z: &mut [V; K] = z.first_chunk_mut().expect("a whole block");
    *z = product::<K, LANES, C>(&rows[..K], block(y, 0), c, k0);
}
