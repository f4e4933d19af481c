// Constant-time table select, z := table[index], of points in affine coordinates.
//
// Requires  index < 2^31.
// Time      constant: every entry is read; no branch or address depends on the index or the table.
//! `p256_select_sse2`: two limbs at a time, with instructions of every x86-64 processor.
#![forbid(unsafe_code)]

use core::arch::x86_64::*;

use crate::p256::point::Affine;
use crate::p256::residue::{Element, Limbs};

#[inline(never)]
#[target_feature(enable = "sse2")]
pub(crate) fn p256_select_sse2(table: &[Affine], index: u64) -> Affine {
    #[allow(clippy::cast_possible_truncation, reason = "a window has few bits")]
    let index = _mm_set1_epi32(index as i32);
    let mut number = _mm_setzero_si128();
    let mut z = [_mm_setzero_si128(); 4];
    for entry in table {
        let mask = _mm_cmpeq_epi32(number, index);
        let (x, y) = (&entry.x.0, &entry.y.0);
        for (z, pair) in z.iter_mut().zip([[x[0], x[1]], [x[2], x[3]], [y[0], y[1]], [y[2], y[3]]])
        {
            let pair = _mm_set_epi64x(pair[1].cast_signed(), pair[0].cast_signed());
            *z = _mm_or_si128(*z, _mm_and_si128(mask, pair));
        }
        number = _mm_add_epi32(number, _mm_set1_epi32(1));
    }
    let limb = |z| _mm_cvtsi128_si64(z).cast_unsigned();
    let limbs = |[low, high]: [__m128i; 2]| -> Limbs {
        let upper = |z| _mm_unpackhi_epi64(z, z);
        [limb(low), limb(upper(low)), limb(high), limb(upper(high))]
    };
    Affine { x: Element::raw(limbs([z[0], z[1]])), y: Element::raw(limbs([z[2], z[3]])) }
}
