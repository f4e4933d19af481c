// Products and squares of 2W digits by one level of Karatsuba's method, radix B = 2^52, eight
// numbers in each vector. One call computes S of them (streams). H = B^W, a = a0 + a1 H.
//
//   square   t[0..4W] := x^2      = a0^2 + (a0^2 + a1^2 - (a0 - a1)^2) H + a1^2 H^2
//   product  t[0..4W] := x * y    = a0 b0 + (a0 b0 + a1 b1 - (a0 - a1)(b0 - b1)) H + a1 b1 H^2
//
// Requires  digits of x and y may be dirty; t has 7W words, of which the last 3W are scratch.
// Ensures   the value of t is exact; columns are signed, between -2^62 and 2^62.
// Counts    square 3W(W+1), product 6W^2 vpmadd52 a stream.
// Time      constant: no branch or address depends on x or y.
//
// Differences. d := (a0 - a1) mod H in clean digits; s marks the lanes where a0 < a1:
// a0 - a1 = d - s H. Likewise b0 - b1 = e - u H. So
// (a0 - a1)(b0 - b1) = d e - (s e + u d) H + s u H^2: signs are masked sums of W digits, and no
// further digit is needed.
//
// Columns. A column of a product of W <= 20 digits is below 2W * 2^52 < 2^58. A middle column is
// the sum of two such columns, minus a third, plus one or two clean digits.
//! `karatsuba52_ifma`: three products of half the digits instead of four.

use core::arch::x86_64::*;

use super::tiles52_ifma::{
    V, add, block, block_mut, carry, hi, lo, mul_tile, pin, sq_tile, square_columns, two_rows,
};
use super::unmasked::unmasked;
use super::unroll::{evens, un};

/// An operand of a product or square, and its scratch t: see the top of this file.
pub(super) struct Halves<'a> {
    pub(super) x: &'a [V],
    pub(super) t: &'a mut [V],
}

#[inline]
#[target_feature(enable = "avx512f")]
fn sub(x: V, y: V) -> V {
    _mm512_sub_epi64(x, y)
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn clean(x: V) -> V {
    _mm512_and_si512(x, _mm512_set1_epi64((1 << 52) - 1))
}

/// A separate function, since closures in a function with target features are not inlined.
#[inline(always)]
fn blocks<const W: usize, const S: usize>(x: [&[V]; S], at: usize) -> [&[V; W]; S] {
    x.map(|x| block(x, at))
}

#[inline(always)]
fn blocks_mut<const W: usize, const S: usize>(x: [&mut [V]; S]) -> [&mut [V; W]; S] {
    x.map(block_mut)
}

/// The operands, and the words of scratch from `at` on.
#[inline(always)]
fn operands<'a, const S: usize>(
    streams: &'a mut [Halves<'_>; S],
    at: usize,
) -> ([&'a [V]; S], [&'a mut [V]; S]) {
    let x = streams.each_ref().map(|s| s.x);
    (x, streams.each_mut().map(|s| &mut s.t[at..]))
}

/// d := (x0 - x1) mod H in clean digits, in each stream. Returns the lanes where x0 < x1. The
/// borrows of all streams propagate in parallel.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn differences<const W: usize, const S: usize>(
    x: [&[V]; S],
    d: [&mut [V]; S],
) -> [__mmask8; S] {
    let (x0, x1, d) = (blocks::<W, S>(x, 0), blocks::<W, S>(x, W), blocks_mut::<W, S>(d));
    let mut c = [_mm512_setzero_si512(); S];
    for j in 0..W {
        for s in 0..S {
            let v = add(sub(clean(x0[s][j]), clean(x1[s][j])), c[s]);
            d[s][j] = clean(v);
            c[s] = carry(v);
        }
    }
    c.map(|c| _mm512_cmplt_epi64_mask(c, _mm512_setzero_si512()))
}

/// t[0..4W] := x^2 in each stream.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn square<const W: usize, const S: usize>(mut streams: [Halves<'_>; S]) {
    let (x, d) = operands(&mut streams, 4 * W);
    let negative = differences::<W, S>(x, d);
    for i in 0..2 {
        for Halves { x, t } in &mut streams {
            sq_tile::<W, false>(&mut t[2 * i * W..], block(x, i * W));
        }
    }
    for (s, Halves { t, .. }) in streams.iter_mut().enumerate() {
        let (t, d) = t.split_at_mut(4 * W);
        square_combine::<W>(t, block(d, 0), negative[s]);
    }
}

/// Completes t = a0^2 | a1^2 to a^2: computes the third square and combines each column when it is
/// complete.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
fn square_combine<const W: usize>(t: &mut [V], d: &[V; W], negative: __mmask8) {
    const { assert!(W <= 20, "the window would not fit in the registers") };
    let t = &mut t[..4 * W];
    let mut w = [_mm512_setzero_si512(); 44];
    let mut outer = [_mm512_setzero_si512(); W]; // columns of a0^2 and a1^2 moved out of t
    macro_rules! begin {
        ($row:expr) => {};
    }
    macro_rules! column {
        ($c:expr, $z:expr) => {
            let c = $c;
            if c < W {
                outer[c] = add(t[W + c], t[2 * W + c]);
                t[W + c] = add(outer[c], sub(t[c], $z));
            } else {
                let v = add(outer[c - W], sub(t[2 * W + c], $z));
                // add 2 s d H, s = 0 or 1
                t[W + c] = _mm512_mask_add_epi64(v, negative, v, add(d[c - W], d[c - W]));
            }
        };
    }
    square_columns!(W, w, d, begin, column);
    t[3 * W] = _mm512_mask_sub_epi64(t[3 * W], negative, t[3 * W], _mm512_set1_epi64(1));
}

/// t[0..4W] := x * y in each stream.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn product<const W: usize, const S: usize>(mut streams: [Halves<'_>; S], y: [&[V]; S]) {
    let (x, d) = operands(&mut streams, 4 * W);
    let negative_x = differences::<W, S>(x, d);
    let (_, e) = operands(&mut streams, 5 * W);
    let negative_y = differences::<W, S>(y, e);
    for i in 0..2 {
        for (Halves { x, t }, y) in streams.iter_mut().zip(y) {
            mul_tile::<W, 0, false>(&mut t[2 * i * W..], &x[i * W..], block(y, i * W));
        }
    }
    for (s, Halves { t, .. }) in streams.iter_mut().enumerate() {
        let (t, scratch) = t.split_at_mut(4 * W);
        let (d, outer) = scratch.split_at_mut(2 * W);
        let (d, e) = (block(d, 0), block(d, W));
        product_combine::<W>(t, outer, (d, negative_x[s]), (e, negative_y[s]));
    }
}

/// Completes t = a0 b0 | a1 b1 to a * b: computes the third product and combines each column when
/// it is complete.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
fn product_combine<const W: usize>(
    t: &mut [V],
    outer: &mut [V],
    (d, negative_d): (&[V; W], __mmask8),
    (e, negative_e): (&[V; W], __mmask8),
) {
    const { assert!(W <= 20, "the window would not fit in the registers") };
    let (t, outer) = (&mut t[..4 * W], &mut outer[..W]);
    let mut w = [_mm512_setzero_si512(); W];
    for i in 0..W {
        let (x, e) = (d[i], pin(e));
        let z = lo(w[0], x, e[0]);
        un!(1 <= J < W { w[J - 1] = hi(lo(w[J], x, e[J]), x, e[J - 1]); });
        w[W - 1] = hi(_mm512_setzero_si512(), x, e[W - 1]);
        outer[i] = add(t[W + i], t[2 * W + i]);
        t[W + i] = add(outer[i], sub(t[i], z));
    }
    un!(J < W {
        let v = add(outer[J], sub(t[3 * W + J], w[J]));
        let v = _mm512_mask_add_epi64(v, negative_d, v, unmasked(&e[J]));
        t[2 * W + J] = _mm512_mask_add_epi64(v, negative_e, v, unmasked(&d[J]));
    });
    let both = negative_d & negative_e;
    t[3 * W] = _mm512_mask_sub_epi64(t[3 * W], both, t[3 * W], _mm512_set1_epi64(1));
}
