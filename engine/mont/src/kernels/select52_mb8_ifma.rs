// Constant-time table select, z := table[index], in each of 8 lanes.
// Inputs table[E][K], index; output z[K]. Zero where index >= E.
//
// In parts: `Read` covers seven entries of a table. If the parts cover all entries and index < E,
// they set z = table[index], whatever z was before, since exactly one entry matches.
//
// Counts    per entry and digit one masked load; per entry one compare for each `SPAN` entries.
// Time      constant: every entry is read; no branch or address depends on the index or the table.
// Model     select_portable.
//! `select52_mb8_ifma`: masked loads, seven entries at a time.
#![forbid(unsafe_code)]

use core::arch::x86_64::*;

use super::unroll::{un, un7};

/// A digit of eight numbers.
pub(super) type V = __m512i;

/// Number of entries per part: their masks stay in the mask registers k1..k7 for all digits.
pub(crate) const SPAN: usize = 7;

/// A part of a select: z := entry e if index = first + e, else z.
pub(crate) struct Read<'a> {
    /// `SPAN` entries of K digits.
    pub(crate) entries: &'a [V],
    /// K digits.
    pub(crate) z: &'a mut [V],
    pub(crate) index: &'a V,
    pub(crate) first: i64,
}

/// Returns a mask for each of the `SPAN` entries from `first` on: the lanes that select it.
/// Computed once for all digits, since a compare takes a port that multiplications need.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn masks(index: &V, first: i64) -> [__mmask8; SPAN] {
    let (mut masks, mut number) = ([0; SPAN], _mm512_set1_epi64(first));
    un7!(E < SPAN {
        masks[E] = _mm512_cmpeq_epi64_mask(*index, number);
        number = _mm512_add_epi64(number, _mm512_set1_epi64(1));
    });
    masks
}

impl Read<'_> {
    /// Returns block c of each entry and of z. Blocks have a constant length, so rows need no
    /// bounds checks.
    #[inline(always)]
    pub(super) fn blocks<const W: usize>(&mut self, c: usize) -> (Blocks<'_, W>, &mut [V; W]) {
        let z = self.z.as_chunks_mut::<W>().0;
        let (entries, stride) = (self.entries.as_chunks::<W>().0, z.len());
        let at = |e: usize| &entries[e * stride + c];
        ([at(0), at(1), at(2), at(3), at(4), at(5), at(6)], &mut z[c])
    }
}

/// W digits of each entry of a part.
pub(super) type Blocks<'a, const W: usize> = [&'a [V; W]; SPAN];

/// Returns digit i of the entry whose mask is set, else z. Written without an iterator. With
/// several codegen units (Cargo's default) LLVM unrolled an iterator too late, and then read all
/// digits before the rows instead of one in each row.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn digit<const W: usize>(
    mut z: V,
    masks: &[__mmask8; SPAN],
    entries: &Blocks<'_, W>,
    i: usize,
) -> V {
    un7!(E < SPAN { z = _mm512_mask_mov_epi64(z, masks[E], entries[E][i]); });
    z
}

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
