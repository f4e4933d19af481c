// The x-coordinate of k B on the curve of X25519, for the base point B, in each of 8 lanes, as a
// quotient x / z (RFC 7748, section 6.1).
// Inputs k, clamped scalars after `with_offset`, word i of all in k[i]; the table. Outputs x, z.
//
// k = 2^254 + the sum of 43 signed digits of six bits. The sum of points starts with 2^254 B; each
// digit adds one of 32 multiples. The entries of a digit of the table fill four vectors, and two
// permutations and a choice pick one in each lane.
//
// Counts    43 additions of 7 products, 30 permutations for each.
// Time      constant: the only branch is the loop's; every entry is loaded.
//! `comb52_mb8_ifma`: eight sums of table entries.
#![forbid(unsafe_code)]

use core::arch::x86_64::*;

use super::edwards52_ifma::{Addend, Point};
use super::field52_ifma::{Element, choice};
use crate::digits::{added, offset};
use crate::vectors::{all, vector};

/// Bits of a window.
pub(crate) const BITS: usize = 6;
pub(crate) const WINDOWS: usize = 43;

/// The multiples of the base point that the kernel adds.
pub(crate) struct Table {
    /// Entries 1 to 8, and so on, of each window.
    pub(crate) windows: Box<[[Addend; 4]]>,
    /// 2^254 B in all lanes.
    pub(crate) start: Point,
}

/// Returns the number whose windows are the digits of k - 2^254, each plus 32 but the top one,
/// which is at most 4.
pub(crate) fn with_offset(mut k: [u64; 4]) -> [u64; 4] {
    const OFFSET: [u64; 4] = offset(BITS, WINDOWS);
    k[3] &= !(1 << 62); // 2^254
    added(&k, &OFFSET)
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(crate) fn comb52_mb8_ifma(k: &[[u64; 8]; 4], table: &Table) -> (Element, Element) {
    let k = [vector(k[0]), vector(k[1]), vector(k[2]), vector(k[3]), all(0)];
    let mut sum = table.start;
    for (window, entries) in table.windows.iter().enumerate() {
        let (word, shift) = (BITS * window / 64, (BITS * window % 64) as u64);
        // a shift by 64 or more gives 0
        let low = _mm512_srlv_epi64(k[word], all(shift));
        let high = _mm512_sllv_epi64(k[word + 1], all(64 - shift));
        let digit = _mm512_and_si512(_mm512_or_si512(low, high), all(63));
        let offset = if window + 1 < WINDOWS { 32 } else { 0 };
        let digit = _mm512_sub_epi64(digit, all(offset));
        let zero = choice(_mm512_testn_epi64_mask(digit, digit));
        let negative = _mm512_srai_epi64::<63>(digit);
        // entry 0 means 1
        let entry = _mm512_sub_epi64(_mm512_abs_epi64(digit), all(1));
        let upper = choice(_mm512_test_epi64_mask(entry, all(16)));
        let low = entries[0].zip(
            &entries[1],
            #[inline(always)]
            |low, high| _mm512_permutex2var_epi64(low, entry, high),
        );
        let high = entries[2].zip(
            &entries[3],
            #[inline(always)]
            |low, high| _mm512_permutex2var_epi64(low, entry, high),
        );
        let found = low.zip(
            &high,
            #[inline(always)]
            |low, high| _mm512_ternarylogic_epi64::<0xCA>(upper, high, low),
        );
        let found = found.zip(
            &Addend::neutral(),
            #[inline(always)]
            |found, neutral| _mm512_ternarylogic_epi64::<0xCA>(zero, neutral, found),
        );
        sum = sum.plus_addend::<1>(&found, negative);
    }
    sum.u()
}
