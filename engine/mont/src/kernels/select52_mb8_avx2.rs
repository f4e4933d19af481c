// Constant-time table select, z := table[index], in each of 8 lanes.
// Inputs table[E][K], index; output z[K]. Zero where index >= E.
//
// Counts    per entry and digit two loads; per entry two compares for each `SPAN` digits.
// Time      constant: every entry is read; no branch or address depends on the index or the table.
// Model     select_portable.
//! `select52_mb8_avx2`: masks every entry; each pass reads a few digits of all entries.

use core::arch::x86_64::*;

use super::tiles26_avx2::Digits;

/// The number of digits that stay in registers during a pass over the entries.
const SPAN: usize = 5;

#[inline(never)]
#[target_feature(enable = "avx2")]
pub(crate) fn select52_mb8_avx2(z: &mut [Digits], table: &[Digits], index: &Digits) {
    let k = z.len();
    let (blocks, rest) = z.as_chunks_mut::<SPAN>();
    for (c, z) in blocks.iter_mut().enumerate() {
        read(z, table, k, c * SPAN, index);
    }
    for (j, z) in rest.iter_mut().enumerate() {
        read(core::array::from_mut(z), table, k, k / SPAN * SPAN + j, index);
    }
}

/// z := the digits of the selected entry from `at` on.
#[inline]
#[target_feature(enable = "avx2")]
fn read<const N: usize>(
    z: &mut [Digits; N],
    table: &[Digits],
    k: usize,
    at: usize,
    index: &Digits,
) {
    let mut number = _mm256_setzero_si256();
    let mut found = [[number; 2]; N];
    for entry in table.chunks_exact(k) {
        let entry: &[Digits; N] = entry[at..].first_chunk().expect("a block of an entry");
        for g in 0..2 {
            let mask = _mm256_cmpeq_epi64(index[g], number);
            for (found, x) in found.iter_mut().zip(entry) {
                found[g] = _mm256_or_si256(found[g], _mm256_and_si256(mask, x[g]));
            }
        }
        number = _mm256_add_epi64(number, _mm256_set1_epi64x(1));
    }
    *z = found;
}
