// Constant-time table select, z := table[index], in each of 8 lanes.
// Inputs table[E][K], index; output z[K]. Zero where index >= E.
//
// In parts: `Read` covers `SPAN` entries of a table. After `start`, the parts set z =
// table[index] if they cover each entry once and index < E.
//
// Counts    per pair of entries and digit one vpternlogq; per pair one compare for each part.
// Time      constant: every entry is read; no branch or address depends on the index or the table.
//           No load or store has a mask (see `unmasked`).
// Model     select_portable.
//
// Pairs. z begins as a choice: all ones in lanes with an odd index, else zero. In the lanes whose
// index is in the pair, z := z ? odd entry : even entry. This is one operation for two entries. On
// Intel's processors it uses the same two ports as a multiplication.
//! `select52_mb8_avx512`: one operation for two entries.

use core::arch::x86_64::*;

use super::unmasked::unmasked;
use super::unroll::{un, un4};

/// A digit of eight numbers.
pub(super) type V = __m512i;

/// The number of pairs of entries in a part. Their masks stay in mask registers for all digits.
const PAIRS: usize = 4;

/// The number of entries in a part.
pub(crate) const SPAN: usize = 2 * PAIRS;

/// A part of a select: z := entry e if index = first + e, else z.
pub(crate) struct Read<'a> {
    /// `SPAN` entries of K digits.
    pub(crate) entries: &'a [V],
    /// K digits.
    pub(crate) z: &'a mut [V],
    pub(crate) index: &'a V,
    /// Even.
    pub(crate) first: i64,
}

/// All ones in the lanes with an odd index, else zero.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn odd(index: &V) -> V {
    _mm512_srai_epi64::<63>(_mm512_slli_epi64::<63>(*index))
}

/// Sets z to what it is before the first part.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn start(z: &mut [V], index: &V) {
    z.fill(odd(index));
}

/// The lanes that select an entry of each pair.
pub(super) type Masks = [__mmask8; PAIRS];

/// Returns the masks of the pairs from entry `first` on. Computed once for all digits, since a
/// compare takes a port that multiplications need.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn masks(index: &V, first: i64) -> Masks {
    let pair = _mm512_srli_epi64::<1>(*index);
    let (mut masks, mut number) = ([0; PAIRS], _mm512_set1_epi64(first / 2));
    un4!(P < PAIRS {
        masks[P] = _mm512_cmpeq_epi64_mask(pair, number);
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
        ([at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)], &mut z[c])
    }
}

/// W digits of each entry of a part.
pub(super) type Blocks<'a, const W: usize> = [&'a [V; W]; SPAN];

/// Returns digit i of the entry that `masks` selects, else z. Written without an iterator. With
/// several codegen units (Cargo's default) LLVM unrolled an iterator too late, and then read all
/// digits before the rows instead of one in each row.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn digit<const W: usize>(
    mut z: V,
    masks: &Masks,
    entries: &Blocks<'_, W>,
    i: usize,
) -> V {
    un4!(P < PAIRS {
        z = chosen(z, masks[P], &entries[2 * P][i], &entries[2 * P + 1][i]);
    });
    z
}

/// z := z ? odd : even, bit by bit, in the lanes of the mask.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn chosen(z: V, mask: __mmask8, even: &V, odd: &V) -> V {
    _mm512_mask_ternarylogic_epi64::<0xCA>(z, mask, unmasked(odd), unmasked(even))
}

#[inline(never)]
#[target_feature(enable = "avx512f")]
pub(crate) fn select52_mb8_avx512(z: &mut [V], table: &[V], index: V) {
    let (k, zero) = (z.len(), _mm512_setzero_si512());
    start(z, &index);
    let (pair, mut number, mut found) = (_mm512_srli_epi64::<1>(index), zero, 0);
    for entries in table.chunks(2 * k) {
        let mask = _mm512_cmpeq_epi64_mask(pair, number);
        number = _mm512_add_epi64(number, _mm512_set1_epi64(1));
        found |= mask;
        let (even, odd) = entries.split_at(k);
        for (j, z) in z.iter_mut().enumerate() {
            // after an odd number of entries, index = E selects zero
            *z = unmasked(&chosen(*z, mask, &even[j], odd.get(j).unwrap_or(&zero)));
        }
    }
    for z in z {
        *z = unmasked(&_mm512_maskz_mov_epi64(found, unmasked(z)));
    }
}
