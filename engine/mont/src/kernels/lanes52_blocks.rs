//! Lane operations for kernels on numbers in lane blocks, with AVX-512.
//!
//! Neighbouring blocks of a number are D lanes apart: 1, or 2 if lanes of two numbers alternate.

use core::arch::x86_64::*;

use super::tiles52_ifma::{V, add};
use super::unroll::{un, un10};

/// The constants b1, b2 and m for a product, of all moduli that share the rows.
pub(crate) type Constants<const K: usize> = [[V; K]; 3];

/// `black_box(Pin(c)).0` in every row makes LLVM read the constants again in each row. Otherwise it
/// hoists them and spills accumulators. The alignment makes LLVM align the stack frame too; without
/// it, spilled vectors cross cache lines.
#[repr(align(64))]
pub(super) struct Pin<T>(pub(super) T);

#[inline]
#[target_feature(enable = "avx512f")]
fn and(x: V, mask: i64) -> V {
    _mm512_and_si512(x, _mm512_set1_epi64(mask))
}

/// Copies lane 0 of each number to all lanes of that number.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn spread<const L: usize, const D: usize>(x: V) -> V {
    match (L, D) {
        (_, 2) => _mm512_shuffle_i64x2::<0x00>(x, x),
        (4, _) => _mm512_permutex_epi64::<0x00>(x),
        _ => _mm512_broadcastq_epi64(_mm512_castsi512_si128(x)),
    }
}

/// The mask of lane 0 of each number.
pub(super) const fn low_lanes(l: usize, d: usize) -> __mmask8 {
    match (l, d) {
        (_, 2) => 0x03,
        (4, _) => 0x11,
        _ => 0x01,
    }
}

/// Moves each block to the next lower lane of its number, and zero to the top lane.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn down<const L: usize, const D: usize>(x: V) -> V {
    match (L, D) {
        (_, 2) => _mm512_alignr_epi64::<2>(_mm512_setzero_si512(), x),
        (4, _) => _mm512_maskz_permutex_epi64::<0x39>(0x77, x),
        _ => _mm512_alignr_epi64::<1>(_mm512_setzero_si512(), x),
    }
}

/// Moves each block to the next higher lane of its number, and zero to the lowest lane.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn up<const L: usize, const D: usize>(x: V) -> V {
    match (L, D) {
        (_, 2) => _mm512_alignr_epi64::<6>(x, _mm512_setzero_si512()),
        (4, _) => _mm512_maskz_permutex_epi64::<0x90>(0xEE, x),
        _ => _mm512_alignr_epi64::<7>(x, _mm512_setzero_si512()),
    }
}

/// Returns the digits of a result whose columns begin at column C of the last block.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn digits<
    const K: usize,
    const L: usize,
    const D: usize,
    const C: usize,
    const N: usize,
>(
    l: &[V; N],
    h: &[V; N],
) -> [V; K] {
    let low_lane = low_lanes(L, D);
    let zero = _mm512_setzero_si512();
    let mut t = [zero; K];
    if C == K {
        un10!(J < K {
            let s = add(l[K + J], h[K + J]);
            t[J] = add(down::<L, D>(l[J]), add(s, s));
        });
        t[0] = add(t[0], _mm512_maskz_srli_epi64::<51>(low_lane, l[C - 1]));
    } else {
        // The result has columns C to K + C - 1: no row of the last block reaches further. The
        // lower columns belong to the top of the next lower block, whose unit is half as large.
        un10!(J < K { t[J] = add(l[C + J], h[C + J]); });
        un10!(J < C {
            let d = down::<L, D>(l[J]);
            t[K - C + J] = add(t[K - C + J], _mm512_srli_epi64::<1>(d));
            t[K - C + J - 1] = add(t[K - C + J - 1], _mm512_slli_epi64::<51>(and(d, 1)));
        });
        t[0] = add(t[0], _mm512_maskz_srli_epi64::<52>(low_lane, l[C - 1]));
    }
    carried::<K, L, D>(&t)
}

/// Returns the columns t as digits. The carry out of each block goes to the next block first, and
/// then carries propagate inside the blocks; the spare bit takes the last one. Digits are dirty,
/// except the last of each block. Exact for all columns below 2^63.
#[inline]
#[target_feature(enable = "avx512f")]
fn carried<const K: usize, const L: usize, const D: usize>(t: &[V; K]) -> [V; K] {
    let mut z = *t;
    z[0] = add(t[0], up::<L, D>(_mm512_srli_epi64::<51>(t[K - 1])));
    z[K - 1] = and(t[K - 1], (1 << 51) - 1);
    un10!(1 <= J < K { z[J] = add(z[J], _mm512_srli_epi64::<52>(z[J - 1])); });
    z
}
