// Constant-time table select, z := table[index], in each of 8 lanes.
// Inputs table[E][K], index; output z[K]. Zero where index >= E.
//
// Counts    per entry and digit one masked load; per entry one compare for each `SPAN` entries.
// Time      constant: every entry is read; no branch or address depends on the index or the table.
// Model     select_portable.
//! `select52_mb8_ifma`: masked loads, seven entries at a time.
#![forbid(unsafe_code)]

use core::arch::x86_64::*;

use super::tiles52_ifma::V;

/// Entries whose masks stay in the mask registers k1..k7 while the digits go by.
const SPAN: usize = 7;

#[inline(never)]
#[target_feature(enable = "avx512f")]
pub(crate) fn select52_mb8_ifma(z: &mut [V], table: &[V], index: V) {
    let k = z.len();
    z.fill(_mm512_setzero_si512());
    let mut number = _mm512_setzero_si512();
    for entries in table.chunks(SPAN * k) {
        let mut masks = [0; SPAN];
        for mask in &mut masks {
            *mask = _mm512_cmpeq_epi64_mask(index, number);
            number = _mm512_add_epi64(number, _mm512_set1_epi64(1));
        }
        if entries.len() == SPAN * k {
            for j in 0..k {
                let mut v = z[j];
                for e in 0..SPAN {
                    v = _mm512_mask_mov_epi64(v, masks[e], entries[e * k + j]);
                }
                z[j] = v;
            }
        } else {
            for (entry, &mask) in entries.chunks_exact(k).zip(&masks) {
                for (z, &x) in z.iter_mut().zip(entry) {
                    *z = _mm512_mask_mov_epi64(*z, mask, x);
                }
            }
        }
    }
}
