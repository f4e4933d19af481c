// Constant-time table select, z := table[index], of numbers in lane blocks.
// Inputs table[E][K], index in the lanes of each number; output z[K]. Zero where index >= E.
//
// Counts    per entry one test and K masked loads.
// Time      constant: every entry is read; no branch or address depends on the index or the table.
// Model     select_portable.
//! `select52_blocks_ifma`: masked loads, one chain for each digit of a block.
#![forbid(unsafe_code)]

use core::arch::x86_64::*;
use core::hint::black_box;

use super::tiles52_ifma::V;

#[inline(never)]
#[target_feature(enable = "avx512f")]
pub(crate) fn select52_blocks_ifma<const K: usize>(z: &mut [V], table: &[V], index: &V) {
    let z: &mut [V; K] = z.first_chunk_mut().expect("a whole block");
    *z = selected([_mm512_setzero_si512(); K], table.as_chunks().0, *index).0;
}

/// Returns entry `index` if this part of the table contains it, else z. Also returns the index
/// relative to the next part.
#[inline]
#[target_feature(enable = "avx512f")]
fn selected<const K: usize>(z: [V; K], part: &[[V; K]], index: V) -> ([V; K], V) {
    let (mut z, mut left) = (z, index);
    for entry in part {
        let take = _mm512_testn_epi64_mask(left, left);
        left = _mm512_sub_epi64(left, _mm512_set1_epi64(1));
        for d in 0..K {
            z[d] = _mm512_mask_mov_epi64(z[d], take, entry[d]);
        }
    }
    (z, left)
}

/// Number of table entries that are read before a square.
const PART: usize = 8;

/// z := z^{2^squares} * table[index] / R^{2^squares} by the given product. z stays in registers.
/// The table has at most PART entries for each square.
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
    product: impl Fn(&[V; K], &[V; K]) -> [V; K],
) {
    let z: &mut [V; K] = z.first_chunk_mut().expect("a whole block");
    let mut parts = table.as_chunks::<K>().0.chunks(PART);
    assert!(parts.len() <= squares, "the table is read before its entry is needed");
    let (mut power, mut y, mut left) = (*z, [_mm512_setzero_si512(); K], *index);
    for i in 0..=squares {
        if let Some(part) = parts.next() {
            let y = black_box(&mut y);
            (*y, left) = selected(*y, part, left);
        }
        let factor = if i < squares { power } else { *black_box(&y) };
        power = product(&power, &factor);
    }
    *z = power;
}
