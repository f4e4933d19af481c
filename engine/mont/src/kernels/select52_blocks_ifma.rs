// Constant-time table select, z := table[index], of numbers in lane blocks.
// Inputs table[E][K], index in the lanes of each number; output z[K]. Zero where index >= E.
//
// Counts    per pair of entries one test and K vpternlogq.
// Time      constant: every entry is read; no branch or address depends on the index or the table.
//           No load or store has a mask (see `unmasked`).
// Model     select_portable.
//
// Entries come in pairs, as in `select52_mb8_avx512`.
//! `select52_blocks_ifma`: one operation for a digit of two entries; a chain for each digit.

use core::arch::x86_64::*;
use core::hint::black_box;

use super::select52_mb8_avx512::{chosen, odd};
use super::tiles52_ifma::V;
use super::unmasked::unmasked;

#[inline(never)]
#[target_feature(enable = "avx512f")]
pub(crate) fn select52_blocks_ifma<const K: usize>(z: &mut [V], table: &[V], index: &V) {
    let z: &mut [V; K] = z.first_chunk_mut().expect("a whole block");
    let (pairs, last) = table.as_chunks().0.as_chunks();
    let mut pair = _mm512_srli_epi64::<1>(*index);
    *z = [odd(index); K];
    let mut found = selected(z, pairs, &mut pair);
    if let [last] = last {
        // index = E selects zero
        found |= selected(z, &[[*last, [_mm512_setzero_si512(); K]]], &mut pair);
    }
    for z in z {
        *z = unmasked(&_mm512_maskz_mov_epi64(found, unmasked(z)));
    }
}

/// z := the entry `index` in the lanes where these pairs contain it. `pair` is the number of the
/// index's pair, counted from the first of these pairs. Returns those lanes, and sets `pair` to the
/// number counted from the pair after them.
#[inline]
#[target_feature(enable = "avx512f")]
fn selected<const K: usize>(z: &mut [V; K], pairs: &[[[V; K]; 2]], pair: &mut V) -> __mmask8 {
    let mut found = 0;
    for [even, odd] in pairs {
        let take = _mm512_testn_epi64_mask(*pair, *pair);
        *pair = _mm512_sub_epi64(*pair, _mm512_set1_epi64(1));
        found |= take;
        for d in 0..K {
            z[d] = chosen(z[d], take, &even[d], &odd[d]);
        }
    }
    found
}

/// Number of pairs of table entries that are read before a square.
const PART: usize = 4;

/// z := z^{2^squares} * entry(table[index]) / R^{2^squares} by the given product. z stays in
/// registers. The table has whole pairs, at most PART for each square.
///
/// The table is read in parts, one before each square, while the core still waits for the carries
/// of the previous product. If the code reads after the square, LLVM spills accumulators.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn powered<const K: usize>(
    z: &mut [V],
    squares: usize,
    table: &[V],
    index: &V,
    entry: impl Fn(&[V; K]) -> [V; K],
    product: impl Fn(&[V; K], &[V; K]) -> [V; K],
) {
    let z: &mut [V; K] = z.first_chunk_mut().expect("a whole block");
    let mut parts = table.as_chunks::<K>().0.as_chunks::<2>().0.chunks(PART);
    assert!(parts.len() <= squares, "the table is read before its entry is needed");
    let (mut power, mut y) = (*z, [odd(index); K]);
    let mut pair = _mm512_srli_epi64::<1>(*index);
    for i in 0..=squares {
        if let Some(part) = parts.next() {
            selected(black_box(&mut y), part, &mut pair);
        }
        let factor = if i < squares { power } else { entry(black_box(&y)) };
        power = product(&power, &factor);
    }
    *z = power;
}
