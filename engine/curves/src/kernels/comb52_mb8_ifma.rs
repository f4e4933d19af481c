// The x-coordinate of k B on the curve of X25519, for the base point B, in each of 8 lanes, as a
// quotient x / z (RFC 7748, section 6.1).
// Inputs t, the results of `digits::half_of_odd` for clamped scalars k, word i of all in t[i]; the
// table. Outputs x, z.
//
// k B is the sum of 43 odd digits of six bits, times B (see `digits`). Each digit adds one of 32
// multiples. The entries of a digit of the table fill four vectors, and two permutations and a
// choice pick one in each lane.
//
// Counts    42 additions of 7 products; 43 x 30 permutations.
// Time      constant: the only branch is the loop's; every entry is loaded.
//! `comb52_mb8_ifma`: eight sums of table entries.

use core::arch::x86_64::*;

use super::edwards52_ifma::{Addend, Point};
use super::field52_ifma::{Element, choice};
use crate::digits::top;
use crate::vectors::{all, vector};

/// Bits of a window.
pub(crate) const BITS: usize = 6;
pub(crate) const WINDOWS: usize = 43;

/// The multiples of the base point that the kernel adds.
pub(crate) struct Table {
    /// Entries 0 to 7, and so on, of each window. Those of the first window are points: their third
    /// part is 2 x y.
    pub(crate) windows: Box<[[Addend; 4]]>,
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(crate) fn comb52_mb8_ifma(t: &[[u64; 8]; 4], table: &Table) -> (Element, Element) {
    let t = [vector(t[0]), vector(t[1]), vector(t[2]), vector(t[3]), all(0)];
    let mut sum = Point::neutral();
    for (window, entries) in table.windows.iter().enumerate() {
        let (word, shift) = (BITS * window / 64, (BITS * window % 64) as u64);
        // a shift by 64 or more gives 0
        let low = _mm512_srlv_epi64(t[word], all(shift));
        let high = _mm512_sllv_epi64(t[word + 1], all(64 - shift));
        // see `digits::digit`; a permutation uses four bits of a number
        let bits = _mm512_or_si512(_mm512_or_si512(low, high), all(top::<BITS>(window, WINDOWS)));
        let negative = choice(_mm512_testn_epi64_mask(bits, all(32)));
        let entry = _mm512_xor_si512(bits, negative);
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
        sum = match window {
            0 => found.doubled(negative),
            _ => sum.plus_addend::<1>(&found, negative),
        };
    }
    sum.u()
}
