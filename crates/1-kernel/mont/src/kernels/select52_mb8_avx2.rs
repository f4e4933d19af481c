// Constant-time table select, z := table[index], in each of 8 lanes.
// Inputs table[E][K], index; output z[K]. Zero where index >= E.
//
// Counts    per entry and digit two loads of the table and two of z; per entry two compares.
// Time      constant: every entry is read; no branch or address depends on the index or the table.
// Model     select_portable.
//! `select52_mb8_avx2`: every entry under its mask.
#![forbid(unsafe_code)]

use core::arch::x86_64::*;

use super::tiles26_avx2::Digits;

#[inline(never)]
#[target_feature(enable = "avx2")]
pub(crate) fn select52_mb8_avx2(z: &mut [Digits], table: &[Digits], index: &Digits) {
    z.fill([_mm256_setzero_si256(); 2]);
    let mut number = _mm256_setzero_si256();
    for entry in table.chunks_exact(z.len()) {
        let masks =
            [_mm256_cmpeq_epi64(index[0], number), _mm256_cmpeq_epi64(index[1], number)];
        number = _mm256_add_epi64(number, _mm256_set1_epi64x(1));
        for (z, x) in z.iter_mut().zip(entry) {
            for g in 0..2 {
                z[g] = _mm256_or_si256(z[g], _mm256_and_si256(masks[g], x[g]));
            }
        }
    }
}
