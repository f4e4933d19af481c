// Constant-time table select, z := table[index], of points in affine coordinates.
//
// Requires  index < 2^31.
// Time      constant: every entry is read; no branch or address depends on the index or the table.
//! `p256_select_avx2`: a coordinate at a time.

use core::arch::x86_64::*;

use crate::p256::point::Affine;
use crate::residue::Element;

#[inline(never)]
#[target_feature(enable = "avx2")]
pub(crate) fn p256_select_avx2(table: &[Affine], index: u64) -> Affine {
    #[allow(clippy::cast_possible_truncation, reason = "a window has few bits")]
    let index = _mm256_set1_epi32(index as i32);
    let mut number = _mm256_setzero_si256();
    let mut z = [_mm256_setzero_si256(); 2];
    for entry in table {
        let mask = _mm256_cmpeq_epi32(number, index);
        for (z, limbs) in z.iter_mut().zip([&entry.x.0, &entry.y.0]) {
            let [x0, x1, x2, x3] = limbs.map(u64::cast_signed);
            *z = _mm256_or_si256(*z, _mm256_and_si256(mask, _mm256_set_epi64x(x3, x2, x1, x0)));
        }
        number = _mm256_add_epi32(number, _mm256_set1_epi32(1));
    }
    let element = |z| {
        Element::raw([
            _mm256_extract_epi64::<0>(z).cast_unsigned(),
            _mm256_extract_epi64::<1>(z).cast_unsigned(),
            _mm256_extract_epi64::<2>(z).cast_unsigned(),
            _mm256_extract_epi64::<3>(z).cast_unsigned(),
        ])
    };
    Affine { x: element(z[0]), y: element(z[1]) }
}
