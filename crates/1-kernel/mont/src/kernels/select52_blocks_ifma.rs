// Constant-time table select, z := table[index], of numbers in lane blocks.
// Inputs table[E][K], index in the lanes of each number; output z[K]. Zero where index >= E.
//
// Counts    per entry one compare and K masked loads.
// Time      constant: every entry is read; no branch or address depends on the index or the table.
// Model     select_portable.
//! `select52_blocks_ifma`: masked loads, two entries at a time.
#![forbid(unsafe_code)]

use core::arch::x86_64::*;

use super::tiles52_ifma::V;

#[inline(never)]
#[target_feature(enable = "avx512f")]
pub(crate) fn select52_blocks_ifma<const K: usize>(z: &mut [V], table: &[V], index: V) {
    let z: &mut [V; K] = z.first_chunk_mut().expect("a whole block");
    let entries = table.as_chunks::<K>().0;
    let (lower, upper) = entries.split_at(entries.len() / 2);
    // two chains of masked loads, of the entries from 0 and of those from the middle on
    let (mut a, mut b) = ([_mm512_setzero_si512(); K], [_mm512_setzero_si512(); K]);
    let one = _mm512_set1_epi64(1);
    let mut i = _mm512_setzero_si512();
    let mut j = _mm512_set1_epi64(i64::try_from(lower.len()).expect("a table fits in memory"));
    for (x, y) in lower.iter().zip(upper) {
        let (take_x, take_y) =
            (_mm512_cmpeq_epi64_mask(index, i), _mm512_cmpeq_epi64_mask(index, j));
        (i, j) = (_mm512_add_epi64(i, one), _mm512_add_epi64(j, one));
        for d in 0..K {
            a[d] = _mm512_mask_mov_epi64(a[d], take_x, x[d]);
            b[d] = _mm512_mask_mov_epi64(b[d], take_y, y[d]);
        }
    }
    if let Some(last) = upper.get(lower.len()) {
        let take = _mm512_cmpeq_epi64_mask(index, j);
        for d in 0..K {
            b[d] = _mm512_mask_mov_epi64(b[d], take, last[d]);
        }
    }
    for d in 0..K {
        z[d] = _mm512_or_si512(a[d], b[d]);
    }
}
