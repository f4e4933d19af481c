// The x-coordinate of k B on the curve of X25519, for the base point B, with one scalar in all
// eight lanes, as a quotient x / z (RFC 7748, section 6.1).
// Inputs k, a clamped scalar; the table. Outputs x, z in words, below p, the same in all lanes.
//
// k B is the sum of 64 odd digits of four bits, times B (see `digits`). In step s, lane l adds the
// multiple that digit 8 s + l means. At the end three additions of exchanged lanes add up the
// lanes.
//
// Counts    7 additions of 7 products, 3 of 9; 8 x 8 x 15 operations to read the table.
// Time      constant: the only branch is the loop's; every entry is loaded.
//! `comb52_sum8_ifma`: one sum of table entries in eight parts.

use core::arch::x86_64::*;
use core::hint::black_box;

use super::edwards52_ifma::{Addend, Point};
use super::field52_ifma::{Element, choice, least_words};
use crate::digits::{half_of_odd, top};
use crate::field51::words;
use crate::vectors::{V, all, exchange, vector};

const STEPS: usize = 8;

/// The multiples of the base point that the kernel adds.
pub(crate) struct Table {
    /// The entries of eight windows for each step. Those of the first step are points: their
    /// third part is 2 x y.
    pub(crate) steps: Box<[[Addend; 8]]>,
    /// 2 d in all lanes.
    pub(crate) d2: Element,
}

/// Returns the entries with these numbers.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn selected(entries: &[Addend; 8], numbers: V) -> Addend {
    let zero = Element::zero();
    let mut found = Addend { minus: zero, plus: zero, dxy2: zero };
    for (entry, number) in entries.iter().zip(0..) {
        let here = choice(_mm512_cmpeq_epi64_mask(numbers, all(number)));
        found = found.zip(
            entry,
            #[inline(always)]
            // found | entry & here
            |found, entry| _mm512_ternarylogic_epi64::<0xF8>(found, entry, here),
        );
    }
    found
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(crate) fn comb52_sum8_ifma(k: &[u8; 32], table: &Table) -> [[[u64; 8]; 4]; 2] {
    let t = half_of_odd(&words(k));
    let mut sum = Point::neutral();
    // black_box: eight unrolled steps would not fit in the cache of instructions
    for (step, entries) in black_box(&*table.steps).iter().enumerate() {
        let windows = all(t[step / 2 % 4] >> (32 * (step % 2)));
        let windows = _mm512_srlv_epi64(windows, vector([0, 4, 8, 12, 16, 20, 24, 28]));
        let top = vector([0, 0, 0, 0, 0, 0, 0, top::<4>(step, STEPS)]);
        // see `digits::digit`
        let windows = _mm512_or_si512(windows, top);
        let negative = choice(_mm512_testn_epi64_mask(windows, all(8)));
        let numbers = _mm512_and_si512(_mm512_xor_si512(windows, negative), all(7));
        let found = selected(entries, numbers);
        sum = match step {
            0 => found.doubled(negative),
            _ => sum.plus_addend::<2>(&found, negative),
        };
    }
    for distance in [4, 2, 1] {
        sum = sum.plus_point(&sum.permuted(exchange(distance)), &table.d2);
    }
    let (x, z) = sum.u();
    // all lanes, because LLVM would take a single one by masked loads
    [least_words(&x), least_words(&z)]
}
