// Constant-time table select, z := table[index].
// Inputs table[E][K], K a multiple of 4; index < 2^31; output z[K]. Zero where index >= E.
//
// Time      constant: every entry is read; no branch or address depends on the index or the table.
// Model     select_portable.
//! `select64_sse2`: two limbs at a time, with instructions of every x86-64 processor.

use core::arch::x86_64::*;

/// The number of limbs in a pass over the table; they take four registers.
const BLOCK: usize = 8;

#[inline(never)]
#[target_feature(enable = "sse2")]
pub(crate) fn select64_sse2(z: &mut [u64], table: &[u64], index: u64) {
    let k = z.len();
    for at in (0..k).step_by(BLOCK) {
        match k - at {
            4 => select::<4>(z, table, at, index),
            _ => select::<BLOCK>(z, table, at, index),
        }
    }
}

/// Selects limbs at..at+N.
#[inline]
#[target_feature(enable = "sse2")]
fn select<const N: usize>(z: &mut [u64], table: &[u64], at: usize, index: u64) {
    #[allow(clippy::cast_possible_truncation, reason = "a window has few bits")]
    let index = _mm_set1_epi32(index as i32);
    let mut number = _mm_setzero_si128();
    let mut sum = [_mm_setzero_si128(); BLOCK / 2];
    for entry in table.chunks_exact(z.len()) {
        let mask = _mm_cmpeq_epi32(number, index);
        let (limbs, _) = entry[at..at + N].as_chunks::<2>();
        for (sum, limbs) in sum.iter_mut().zip(limbs) {
            let limbs = _mm_set_epi64x(limbs[1].cast_signed(), limbs[0].cast_signed());
            *sum = _mm_or_si128(*sum, _mm_and_si128(mask, limbs));
        }
        number = _mm_add_epi32(number, _mm_set1_epi32(1));
    }
    for (z, sum) in z[at..at + N].as_chunks_mut::<2>().0.iter_mut().zip(sum) {
        z[0] = _mm_cvtsi128_si64(sum).cast_unsigned();
        z[1] = _mm_cvtsi128_si64(_mm_unpackhi_epi64(sum, sum)).cast_unsigned();
    }
}
