// Almost Montgomery multiply (AMM), z :== x * y / R (mod m), of one number in eight lane blocks
// (L = 8) or of two numbers in four blocks each (L = 4). Inputs x[K], y[K], k0, and c,
// which contains b1[K] = 2^-52 mod m, b2[K] = 2^-104 mod m and m[K]; output z[K]. For the layout
// and R see `blocks.rs`. A product uses C digits of the last block.
//
// Requires  m odd; 64m <= R (C = 1: 32m); x, y < R; x*y <= R*m (C = 1: 2R*m), which is true if
//           x, y < 8m; k0 = -1/m mod 2^52; b1, b2 < m.
//           Digits may be dirty: only their low 52 bits count.
// Ensures   z < 7m, z :== x*y/R (mod m). Digits of z are dirty, except the last one of each block;
//           that digit may use its spare bit.
// Counts    4 * rows * K + 1 vpmadd52, rows = (L - 1) * K + C; each does L blocks of 8 / L numbers.
// Time      constant: no branch or address depends on x, y, m, b1, b2 or k0.
// Model     amm52_blocks_portable.
//
// Row r multiplies y by digit r of x and then removes digit t_r of the sum. Since
// t_r * B^r :== t_r * b2 * B^{r+2} (mod m), the row adds t_r * b2 two columns higher. The next
// digit can be removed before that product is complete. The second to last row adds t_r * b1, one
// column higher. Only the last row computes a quotient digit, q = t * k0, and adds q * m.
//
// Bounds. Three sums are added: all rows except the last two add less than 2^104 B^{rows-2} m, the
// second to last row less than 2^52 * 2^52 B^{rows-2} m, the last row less than 2^52 B^{rows-1} m.
// If C = K, R is below the top digit's end by the spare bit: each sum is at most 2R * m, and
// z < x*y/R + 6m < 7m. If 2 <= C < K, each sum is at most R * m. If C = 1, only the first sum is
// larger, at most 2R * m. Then z < x*y/R + 4m, where x*y/R < 2m.
//
// Columns. Column c of block a sums low halves in l[a][c] and high halves in h[a][c]; one chain for
// both would be limited by latency. Inside a block the next digit is in another register and needs
// no shuffle. Only at the end of a block, its columns move by one lane. Columns stay below 2^62
// (`blocks.rs`).
//! `amm52_blocks_ifma`: rows of the product and of the reduction in turn, with a lane per block.

use core::arch::x86_64::*;
use core::hint::black_box;

use super::lanes52_blocks::{Constants, Pin, digits, down, low_lanes, spread};
use super::select52_blocks_ifma::powered;
use super::tiles52_ifma::{V, add, block, hi, lo};
use super::unroll::{un, un5, un8};
use crate::vectors::quarters;
use crate::word::Row;

/// Returns digit `k` of block `a` in all lanes of its number. The digits of two numbers come from
/// registers, those of one number from memory, by a broadcast load.
#[inline]
#[target_feature(enable = "avx512f")]
fn digit<const K: usize, const L: usize, const D: usize>(
    x: &[V; K],
    rows: &[Row],
    k: usize,
    a: usize,
) -> V {
    match (L, D, a) {
        (4, 2, _) => _mm512_broadcast_i32x4(quarters(black_box(x))[k][a]),
        (4, _, 0) => _mm512_permutex_epi64::<0x00>(x[k]),
        (4, _, 1) => _mm512_permutex_epi64::<0x55>(x[k]),
        (4, _, 2) => _mm512_permutex_epi64::<0xAA>(x[k]),
        (4, _, _) => _mm512_permutex_epi64::<0xFF>(x[k]),
        _ => _mm512_set1_epi64(rows[k].0[a].cast_signed()),
    }
}

/// Number of product rows before the reduction row of the same columns, at least two: the row that
/// is one ahead would add to a column whose sums are already merged. The values are the fastest
/// measured; with more rows, LLVM spills accumulators.
const fn ahead(k: usize, lanes: usize, distance: usize) -> usize {
    match (k, lanes, distance) {
        (5, 4, 2) => 2,
        (5, 4, _) => 4,
        _ => 3,
    }
}

/// Returns x * y / R. `rows` is x in memory, for L = 8. TAG creates an instance for each
/// caller, since LLVM inlines a function that has a single caller.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn product<const K: usize, const L: usize, const D: usize, const C: usize, const TAG: usize>(
    x: &[V; K],
    rows: &[Row],
    y: &[V; K],
    c: &Constants<K>,
    k0: &V,
) -> [V; K] {
    const { assert!(K <= 5 && C <= K && L <= 8 && (D == 1 || L == 4), "no such blocks") };
    const { assert!(ahead(K, L, D) >= 2, "a column would be read before its last row") };
    let zero = _mm512_setzero_si512();
    let low_lane = low_lanes(L, D);
    let last = (L - 1) * K + C - 1;
    // longer than any K needs: rustc checks constant indices also in branches that K excludes
    let (mut l, mut h) = ([[zero; 12]; 9], [[zero; 12]; 9]);

    macro_rules! multiply { ($r:expr) => {{
        let (a, b) = ($r / K, $r % K);
        if $r <= last {
            let x = digit::<K, L, D>(x, rows, b, a);
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
    // adds q * n from column c on; the interleaved product row hides the latency of column c
    macro_rules! fold { ($a:expr, $c:expr, $q:expr, $n:expr, $r:expr) => {
        l[$a][$c] = lo(l[$a][$c], $q, $n[0]);
        multiply!($r + ahead(K, L, D));
        h[$a][$c + 1] = hi(h[$a][$c + 1], $q, $n[0]);
        un5!(1 <= J < K {
            l[$a][$c + J] = lo(l[$a][$c + J], $q, $n[J]);
            h[$a][$c + J + 1] = hi(h[$a][$c + J + 1], $q, $n[J]);
        });
    } }

    un5!(J < K {
        if J < ahead(K, L, D) { multiply!(J); }
    });
    if K < ahead(K, L, D) {
        multiply!(K);
    }
    merge!(0, 1);
    un8!(A < L { un5!(B < K {
        let r = A * K + B;
        if r < last {
            let late = r + 1 < last;
            let [b1, b2, _] = black_box(Pin(c)).0;
            if B + 1 < K {
                let q = spread::<L, D>(l[A][B]);
                let e = _mm512_maskz_srli_epi64::<52>(low_lane, l[A][B]);
                // The higher lanes of this column belong to column B of the next block, one lane
                // lower. Add them now: LLVM would spill them until the end of the block.
                if A + 1 < L { h[A + 1][B] = add(h[A + 1][B], down::<L, D>(l[A][B])); }
                l[A][B + 1] = add(l[A][B + 1], e);
                if late {
                    if B + 2 < K { merge!(A, B + 2); }
                    fold!(A, B + 2, q, b2, r);
                } else {
                    fold!(A, B + 1, q, b1, r);
                }
            } else {
                // The top digit has 51 bits, and the next block begins directly above it. The
                // product goes to columns of that block. In that block's unit the digit counts
                // twice.
                let q = spread::<L, D>(add(l[A][B], l[A][B]));
                let e = _mm512_maskz_srli_epi64::<51>(low_lane, l[A][B]);
                let mut t = [zero; K];
                un5!(J < K {
                    let s = add(l[A][K + J], h[A][K + J]);
                    t[J] = add(s, s);
                });
                t[B] = add(down::<L, D>(l[A][B]), t[B]);
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
    let q = spread::<L, D>(lo(zero, l[a][C - 1], *k0));
    un5!(J < K {
        l[a][C - 1 + J] = lo(l[a][C - 1 + J], q, m[J]);
        h[a][C + J] = hi(h[a][C + J], q, m[J]);
    });
    digits::<K, L, D, C, 12>(&l[a], &h[a])
}

/// z := x * y / R, for one or two numbers. `rows` is x in memory.
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
    *z = product::<K, L, 1, C, 0>(block(x, 0), rows, block(y, 0), c, k0);
}

/// A window of an exponentiation of two numbers: see `powered`. If D = 2, the lanes of the numbers
/// alternate inside this function. A digit of both is then 16 neighbouring bytes: a load reads it
/// into all lanes. On Intel's cores a load takes no port of the vector units, a shuffle does.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn window52_blocks_ifma<const K: usize, const D: usize, const C: usize>(
    z: &mut [V],
    squares: usize,
    table: &[V],
    index: &V,
    c: &Constants<K>,
    k0: &V,
) {
    if D == 1 {
        powered(
            z,
            squares,
            table,
            index,
            |y| *y,
            |x, y| product::<K, 4, 1, C, 1>(x, &[], y, c, k0),
        );
        return;
    }
    let c: &Constants<K> = &[alternated(&c[0]), alternated(&c[1]), alternated(&c[2])];
    let [k0] = &alternated(&[*k0]);
    let power: &mut [V; K] = z.first_chunk_mut().expect("a whole block");
    *power = alternated(power);
    let entry = |y: &[V; K]| alternated(y);
    powered(power, squares, table, index, entry, |x, y| product::<K, 4, 2, C, 1>(x, &[], y, c, k0));
    let order = _mm512_set_epi64(7, 5, 3, 1, 6, 4, 2, 0);
    un5!(J < K { power[J] = _mm512_permutexvar_epi64(order, power[J]); });
}

/// Moves the lanes of the first number to even lanes, and those of the second to odd lanes.
#[inline]
#[target_feature(enable = "avx512f")]
fn alternated<const N: usize>(x: &[V; N]) -> [V; N] {
    let order = _mm512_set_epi64(7, 3, 6, 2, 5, 1, 4, 0);
    let mut z = *x;
    un5!(J < N { z[J] = _mm512_permutexvar_epi64(order, z[J]); });
    z
}
