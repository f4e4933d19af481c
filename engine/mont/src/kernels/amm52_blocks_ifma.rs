// Almost Montgomery multiply (AMM), z :== x * y / R (mod m), of one number in eight or seven lane
// blocks (L = 8, 7) or of two in four each (L = 4). Inputs x[K], y[K], k0, and in c b1[K] = 2^-52
// mod m, b2[K] = 2^-104 mod m, m[K]; output z[K]. Layout and R: `blocks.rs`; C digits of the last
// block count.
//
// Requires  m odd; 64m <= R (C = 1: 32m); x, y < R; x*y <= R*m (C = 1: 2R*m), as x, y < 8m
//           implies; k0 = -1/m mod 2^52; b1, b2 < m.
//           Digits may be dirty: only their low 52 bits count. An unused lane (L = 7) is zero in
//           y, b1, b2 and m, and then in z: no carry reaches it, since 7m fits in seven blocks.
// Ensures   z < 7m, z :== x*y/R (mod m). Digits of z dirty but for the last of each block, which
//           may use its spare bit.
// Counts    4 * rows * K + 1 vpmadd52, rows = (L - 1) * K + C; each does L blocks of 8 / L numbers.
// Time      constant: no branch or address depends on x, y, m, b1, b2 or k0.
// Model     amm52_blocks_portable.
//
// Row r multiplies y by digit r of x and then removes digit t_r of the sum. Since
// t_r * B^r :== t_r * b2 * B^{r+2} (mod m), it is added back two columns higher, so that the next
// digit can be removed before that product is complete. No quotient digit is computed, except
// for the last row: the second to last row uses b1, one column up, and the last one q = t * k0 and
// q * m.
//
// Bounds. All rows but the last two add less than 2^104 B^{rows-2} m, the second to last 2^52 *
// 2^52 B^{rows-2} m, the last 2^52 B^{rows-1} m. With the spare bit between its top digit and R
// (C = K) each is 2R * m: z < x*y/R + 6m < 7m. With C >= 2 each is R * m, with C = 1 only the
// first is twice that: z < x*y/R + 4m, where x*y/R < 2m.
//
// Columns. Column c of block a sums low halves in l[a][c] and high halves in h[a][c]: one chain
// for both would be bound by latency. The next digit is another register, never a shuffle; only at
// end of a block its columns move one lane. Columns stay below 2^62 (`blocks.rs`).
//! `amm52_blocks_ifma`: rows of product and of reduction in turn, a lane for each block.
#![forbid(unsafe_code)]

use core::arch::x86_64::*;
use core::hint::black_box;

use super::lanes52_blocks::{Constants, Pin, digits, down, low_lanes, spread};
use super::select52_blocks_ifma::powered;
use super::tiles52_ifma::{V, add, block, hi, lo};
use super::unroll::{un, un5, un8};
use crate::word::Row;

/// Digit `k` of block `a` in all lanes of its number: from registers if there are two numbers,
/// from memory (by a broadcast load) if there is one.
#[inline]
#[target_feature(enable = "avx512f")]
fn digit<const K: usize, const L: usize>(x: &[V; K], rows: &[Row], k: usize, a: usize) -> V {
    match (L, a) {
        (4, 0) => _mm512_permutex_epi64::<0x00>(x[k]),
        (4, 1) => _mm512_permutex_epi64::<0x55>(x[k]),
        (4, 2) => _mm512_permutex_epi64::<0xAA>(x[k]),
        (4, _) => _mm512_permutex_epi64::<0xFF>(x[k]),
        _ => _mm512_set1_epi64(rows[k].0[a].cast_signed()),
    }
}

/// Number of product rows before the reduction row that shares their columns:
/// measured. With more, accumulators are spilled.
const fn ahead(k: usize, lanes: usize) -> usize {
    if lanes == 4 && k == 5 { 4 } else { 3 }
}

/// x * y / R; `rows` is x in memory, for L = 8 and 7. TAG makes an instance for each caller: LLVM
/// inlines a function with a single caller.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn product<const K: usize, const L: usize, const C: usize, const TAG: usize>(
    x: &[V; K],
    rows: &[Row],
    y: &[V; K],
    c: &Constants<K>,
    k0: &V,
) -> [V; K] {
    const { assert!(K <= 5 && C <= K && L <= 8, "no such blocks") };
    let zero = _mm512_setzero_si512();
    let low_lane = low_lanes(L);
    let last = (L - 1) * K + C - 1;
    // wider than any K needs: the front end checks indices before it drops the code that has them
    let (mut l, mut h) = ([[zero; 12]; 9], [[zero; 12]; 9]);

    macro_rules! multiply { ($r:expr) => {{
        let (a, b) = ($r / K, $r % K);
        if $r <= last {
            let x = digit::<K, L>(x, rows, b, a);
            un5!(J < K {
                l[a][b + J] = lo(l[a][b + J], x, y[J]);
                h[a][b + J + 1] = hi(h[a][b + J + 1], x, y[J]);
            });
        }
    }} }
    macro_rules! merge {
        ($a:expr, $c:expr) => {
            l[$a][$c] = add(l[$a][$c], h[$a][$c]);
            h[$a][$c] = zero;
        };
    }
    // q * n from column c on; the interleaved product row hides the latency of its first column
    macro_rules! fold { ($a:expr, $c:expr, $q:expr, $n:expr, $r:expr) => {
        l[$a][$c] = lo(l[$a][$c], $q, $n[0]);
        multiply!($r + ahead(K, L));
        h[$a][$c + 1] = hi(h[$a][$c + 1], $q, $n[0]);
        un5!(1 <= J < K {
            l[$a][$c + J] = lo(l[$a][$c + J], $q, $n[J]);
            h[$a][$c + J + 1] = hi(h[$a][$c + J + 1], $q, $n[J]);
        });
    } }

    un5!(J < K {
        if J < ahead(K, L) { multiply!(J); }
    });
    if K < ahead(K, L) {
        multiply!(K);
    }
    merge!(0, 1);
    un8!(A < L { un5!(B < K {
        let r = A * K + B;
        if r < last {
            let late = r + 1 < last;
            let [b1, b2, _] = black_box(Pin(c)).0;
            if B + 1 < K {
                let q = spread::<L>(l[A][B]);
                let e = _mm512_maskz_srli_epi64::<52>(low_lane, l[A][B]);
                // The other lanes of this column are column B of the next block, one lane down.
                // They are added at once: kept until the end of the block, they would be spilled.
                if A + 1 < L { h[A + 1][B] = add(h[A + 1][B], down::<L>(l[A][B])); }
                l[A][B + 1] = add(l[A][B + 1], e);
                if late {
                    if B + 2 < K { merge!(A, B + 2); }
                    fold!(A, B + 2, q, b2, r);
                } else {
                    fold!(A, B + 1, q, b1, r);
                }
            } else {
                // The top digit has 51 bits: twice the digit, half a unit higher. The columns above
                // it are those of the next block, times 2.
                let q = spread::<L>(add(l[A][B], l[A][B]));
                let e = _mm512_maskz_srli_epi64::<51>(low_lane, l[A][B]);
                let mut t = [zero; K];
                un5!(J < K {
                    let s = add(l[A][K + J], h[A][K + J]);
                    t[J] = add(s, s);
                });
                t[B] = add(down::<L>(l[A][B]), t[B]);
                l[A + 1][0] = add(l[A + 1][0], add(h[A + 1][0], add(t[0], e)));
                merge!(A + 1, 1);
                l[A + 1][1] = add(l[A + 1][1], t[1]);
                un5!(2 <= J < K { h[A + 1][J] = add(h[A + 1][J], t[J]); });
                h[A + 1][K] = add(h[A + 1][K], add(h[A][2 * K], h[A][2 * K]));
                if late {
                    fold!(A + 1, 1, q, b2, r);
                } else {
                    fold!(A + 1, 0, q, b1, r);
                }
            }
        }
    }); });

    let a = L - 1;
    let [_, _, m] = black_box(Pin(c)).0;
    let q = spread::<L>(lo(zero, l[a][C - 1], *k0));
    un5!(J < K {
        l[a][C - 1 + J] = lo(l[a][C - 1 + J], q, m[J]);
        h[a][C + J] = hi(h[a][C + J], q, m[J]);
    });
    digits::<K, L, C, 12>(&l[a], &h[a])
}

/// z := x * y / R, for one number or two; `rows` is x too.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn amm52_blocks_ifma<const K: usize, const L: usize, const C: usize>(
    z: &mut [V],
    x: &[V],
    rows: &[Row],
    y: &[V],
    c: &Constants<K>,
    k0: &V,
) {
    let z: &mut [V; K] = z.first_chunk_mut().expect("a whole block");
    *z = product::<K, L, C, 0>(block(x, 0), rows, block(y, 0), c, k0);
}

/// Two numbers: a window of an exponentiation, see `powered`.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn window52_blocks_ifma<const K: usize, const C: usize>(
    z: &mut [V],
    squares: usize,
    table: &[V],
    index: &V,
    c: &Constants<K>,
    k0: &V,
) {
    powered(z, squares, table, index, |x, y| product::<K, 4, C, 1>(x, &[], y, c, k0));
}
