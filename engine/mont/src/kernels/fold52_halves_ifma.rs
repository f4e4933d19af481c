// Reduction of products of K = 2W digits, W = 2H, with Karatsuba's method on halves of tiles. Radix
// B = 2^52, eight numbers in each vector. One call reduces S such products (streams).
//
//   t[0..2K] -> z[0..K]   z :== t / B^K (mod m)
//
// Three steps: fold W - 1 digits at once, fold W digits by rows, then do the textbook row.
//   block  q = q_0 + ... + q_{W-2} B^{W-2} :== q * c * B^{W-1} (mod m), c = B^-(W-1) mod m
//   rows   W fold rows against b1[0..W]; their digits times b1[W..2W] are the last block
//   end    `finish`
// The digits of the block do not depend on each other. So Karatsuba's method applies: each of its
// products of W by W digits takes three products of H by H digits instead of four. The same holds
// for the last block.
//
// Requires  columns of t signed, below 2^62; c < m. t has 7W + H words, of which the last 3W + H
//           are scratch.
// Ensures   z < x*y/R + 2m, as with rows only: the block has W - 1 digits, so q < B^{W-1} and it
//           adds less than B^{K-2} * m; fold rows less than (B^K - B^W) * m; the last row at most
//           (B^K - B^{K-1}) * m.
//           A column gains less than 2^61: three sums and a carry from each block, and 4W halves.
// Counts    26 H^2 + 2K + 1 vpmadd52 a stream: 18 H^2 in blocks, 8 H^2 in rows.
// Time      constant: no branch or address depends on t or the modulus.
//
// Differences. As in `karatsuba52_ifma`, except that a difference of b is the upper half minus the
// lower half. Products of the differences are then added, not subtracted, and can accumulate onto
// the columns.
//! `fold52_halves_ifma`: a reduction whose products use Karatsuba's method on halves.

use core::arch::x86_64::*;

use super::karatsuba52_ifma::{clean, differences};
use super::select52_mb8_avx512::{Read, digit, masks};
use super::tiles52_ifma::{
    Reduction, V, add, block, block_mut, carry, finish, fold_tile, fold_tile_reading, hi, lo,
    mul_tile,
};
use super::unmasked::unmasked;
use super::unroll::{un, un10};

/// Divides the words of a stream: columns, the digits of a block, their difference, products.
#[inline(always)]
fn parts<const H: usize, const W: usize>(t: &mut [V]) -> [&mut [V]; 4] {
    let (t, scratch) = t.split_at_mut(4 * W);
    let (q, scratch) = scratch.split_at_mut(W);
    let (d, p) = scratch.split_at_mut(H);
    [t, q, d, &mut p[..2 * W]]
}

/// The columns and the digits of a block. A separate function, since closures in a function with
/// target features are not inlined.
#[inline(always)]
fn columns<'a, const H: usize, const W: usize, const S: usize>(
    streams: &'a mut [&mut Reduction<'_>; S],
) -> [(&'a mut [V; W], &'a mut [V; W]); S] {
    streams.each_mut().map(|s| {
        let [t, q, ..] = parts::<H, W>(s.t);
        (block_mut(t), block_mut(q))
    })
}

/// The words from `at` on, and the place for their difference.
#[inline(always)]
fn operands<'a, const H: usize, const W: usize, const S: usize>(
    streams: &'a mut [&mut Reduction<'_>; S],
    at: usize,
) -> ([&'a [V]; S], [&'a mut [V]; S]) {
    let mut q = [&[][..]; S];
    let mut q_of = q.iter_mut();
    let d = streams.each_mut().map(|s| {
        let (x, d) = s.t.split_at_mut(5 * W);
        if let Some(q) = q_of.next() {
            *q = &x[at..];
        }
        &mut d[..H]
    });
    (q, d)
}

/// z :== t / B^K (mod m) in each stream.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn reduce<const H: usize, const W: usize, const S: usize>(
    mut streams: [&mut Reduction<'_>; S],
) {
    const { assert!(W == 2 * H, "halves are equal") };
    digits::<W, S>(columns::<H, W, S>(&mut streams));
    let (q, d) = operands::<H, W, S>(&mut streams, 4 * W);
    let negative = differences::<H, S>(q, d);
    block_onto::<H, W, S, 0>(&mut streams, negative);
    block_onto::<H, W, S, 1>(&mut streams, negative);
    for Reduction { t, m, read, .. } in &mut streams {
        let (t, b1) = (&mut t[W - 1..], block(m.b1, 0));
        match read {
            Some(read) => fold_tile_reading::<W, 0>(t, b1, read, 1),
            None => fold_tile::<W, 0>(t, b1),
        }
    }
    let (q, d) = operands::<H, W, S>(&mut streams, W - 1);
    let negative = differences::<H, S>(q, d);
    for (s, Reduction { t, m, .. }) in streams.iter_mut().enumerate() {
        let [t, _, d, p] = parts::<H, W>(t);
        let (q, t) = t.split_at_mut(2 * W);
        mul_tile::<H, 0, false>(p, &q[W - 1..], block(m.b1, W));
        mul_tile::<H, 0, false>(&mut p[W..], &q[W - 1 + H..], block(m.b1, W + H));
        combine::<H>(t, p, block(d, 0), negative[s], &m.more[2 * W + 2 * (H + 1)..]);
    }
    finish(streams);
}

/// Multiplies the digits of the block by half PART of c and adds the product to the columns.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn block_onto<const H: usize, const W: usize, const S: usize, const PART: usize>(
    streams: &mut [&mut Reduction<'_>; S],
    negative: [__mmask8; S],
) {
    for (s, Reduction { t, m, read, .. }) in streams.iter_mut().enumerate() {
        let [t, q, d, p] = parts::<H, W>(t);
        let (c, e) = (&m.more[PART * W..], &m.more[2 * W + PART * (H + 1)..]);
        match read {
            Some(read) => {
                mul_tile_reading::<H, W>(p, q, block(c, 0), read, 2 * PART);
                let (p, q) = (&mut p[W..], &q[H..]);
                mul_tile_reading::<H, W>(p, q, block(c, H), read, 2 * PART + 1);
            }
            None => {
                mul_tile::<H, 0, false>(p, q, block(c, 0));
                mul_tile::<H, 0, false>(&mut p[W..], &q[H..], block(c, H));
            }
        }
        combine::<H>(&mut t[W - 1 + PART * W..], p, block(d, 0), negative[s], e);
    }
}

/// q := t[0..W-1] in clean digits, followed by a zero. Adds their carry to t[W-1]. The carries of
/// all streams propagate in parallel.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
fn digits<const W: usize, const S: usize>(mut streams: [(&mut [V; W], &mut [V; W]); S]) {
    let mut c = [_mm512_setzero_si512(); S];
    for j in 0..W - 1 {
        for (s, (t, q)) in streams.iter_mut().enumerate() {
            let v = add(t[j], c[s]);
            q[j] = clean(v);
            c[s] = carry(v);
        }
    }
    for (s, (t, q)) in streams.iter_mut().enumerate() {
        t[W - 1] = add(t[W - 1], c[s]);
        q[W - 1] = _mm512_setzero_si512();
    }
}

/// p[0..2H] := a[0..H] * b. Meanwhile reads a quarter of the first W digits of the table entries,
/// one digit in every second row.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
fn mul_tile_reading<const H: usize, const W: usize>(
    p: &mut [V],
    a: &[V],
    b: &[V; H],
    read: &mut Read<'_>,
    quarter: usize,
) {
    const { assert!(H <= 10 && W == 2 * H, "rows stand one after the other") };
    let masks = masks(read.index, read.first);
    let (entries, z) = read.blocks::<W>(0);
    let from = quarter.min(3) * (W / 4);
    let (p, a) = (&mut p[..2 * H], &a[..H]);
    let mut w = [_mm512_setzero_si512(); H];
    for i in 0..H {
        let x = a[i];
        p[i] = lo(w[0], x, b[0]);
        un10!(1 <= J < H { w[J - 1] = hi(lo(w[J], x, b[J]), x, b[J - 1]); });
        w[H - 1] = hi(_mm512_setzero_si512(), x, b[H - 1]);
        if i % 2 == 0 {
            let at = from + i / 2;
            z[at] = digit(z[at], &masks, &entries, at);
        }
    }
    un10!(J < H { p[H + J] = w[J]; });
}

/// t[0..4H] += a * b. Computes the third product; p holds the others, a0 b0 | a1 b1. The
/// differences are a0 - a1 = d - s G and b1 - b0 = e - u G, G = B^H. u is the word after e.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
fn combine<const H: usize>(t: &mut [V], p: &[V], d: &[V; H], negative: __mmask8, e: &[V]) {
    const { assert!(H <= 10, "rows stand one after the other") };
    let (t, p, u) = (&mut t[..4 * H], &p[..4 * H], e[H]);
    let e: &[V; H] = block(e, 0);
    let upper = _mm512_test_epi64_mask(u, u);
    let mut w = [_mm512_setzero_si512(); H];
    un10!(J < H { w[J] = add(add(t[H + J], p[J]), add(p[H + J], p[2 * H + J])); });
    for i in 0..H {
        let v = add(add(t[2 * H + i], p[3 * H + i]), add(p[H + i], p[2 * H + i]));
        let v = _mm512_mask_sub_epi64(v, negative, v, unmasked(&e[i]));
        let top = _mm512_mask_sub_epi64(v, upper, v, unmasked(&d[i]));
        let x = d[i];
        t[H + i] = lo(w[0], x, e[0]);
        un10!(1 <= J < H { w[J - 1] = hi(lo(w[J], x, e[J]), x, e[J - 1]); });
        w[H - 1] = hi(top, x, e[H - 1]);
        t[i] = add(t[i], p[i]);
        t[3 * H + i] = add(t[3 * H + i], p[3 * H + i]);
    }
    un10!(J < H { t[2 * H + J] = w[J]; });
    let both = negative & upper;
    t[3 * H] = _mm512_mask_add_epi64(t[3 * H], both, t[3 * H], unmasked(&_mm512_set1_epi64(1)));
}
