// The x-coordinate of k B on the curve of X25519, for the base point B, with one scalar in all
// eight lanes, as a quotient x / z (RFC 7748, section 6.1).
// Inputs k, a clamped scalar; the table. Outputs x, z in words, below p, the same in all lanes.
//
// k is the sum of 64 signed digits of four bits. In step s, lane l adds the multiple that digit
// 8 s + l means. At the end three additions of exchanged lanes add up the lanes.
//
// Counts    7 additions of 7 products, 3 of 9; 8 x 8 x 15 operations to read the table.
// Time      constant: the only branch is the loop's; every entry is loaded.
//! `comb52_sum8_ifma`: one sum of table entries in eight parts.
#![forbid(unsafe_code)]

use core::arch::x86_64::*;
use core::hint::black_box;

use zeroize::Zeroize;

use super::edwards52_ifma::{Addend, Point};
use super::field52_ifma::{Element, choice, least_words};
use crate::digits::{added, offset};
use crate::field51::words;
use crate::vectors::{V, all, exchange, vector};

const STEPS: usize = 8;

/// The multiples of the base point that the kernel adds.
pub(crate) struct Table {
    /// Entries 1 to 8 of eight windows for each step. Those of the first step are points: their
    /// third part is 2 x y.
    pub(crate) steps: Box<[[Addend; 8]]>,
    /// 2 d in all lanes.
    pub(crate) d2: Element,
}

/// With it, the top window is at most 8.
const OFFSET: [u64; 4] = offset(4, 8 * STEPS);

/// Returns the multiples that the digits mean, without their signs.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn selected(entries: &[Addend; 8], digits: V) -> Addend {
    let size = _mm512_abs_epi64(digits);
    let zero = choice(_mm512_testn_epi64_mask(digits, digits));
    let mut found = Addend::neutral();
    found = found.zip(
        &found,
        #[inline(always)]
        |neutral, _| _mm512_and_si512(neutral, zero),
    );
    for (entry, number) in entries.iter().zip(1..) {
        let here = choice(_mm512_cmpeq_epi64_mask(size, all(number)));
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
    let mut k = added(&words(k), &OFFSET);
    let mut sum = Point::neutral();
    // black_box: eight unrolled steps would not fit in the cache of instructions
    for (step, entries) in black_box(&*table.steps).iter().enumerate() {
        let windows = all(k[step / 2 % 4] >> (32 * (step % 2)));
        let windows = _mm512_srlv_epi64(windows, vector([0, 4, 8, 12, 16, 20, 24, 28]));
        let top = if step + 1 < STEPS { 8 } else { 0 };
        let offset = vector([8, 8, 8, 8, 8, 8, 8, top]);
        let digits = _mm512_sub_epi64(_mm512_and_si512(windows, all(15)), offset);
        let negative = _mm512_srai_epi64::<63>(digits);
        let found = selected(entries, digits);
        sum = match step {
            0 => found.doubled(negative),
            _ => sum.plus_addend::<2>(&found, negative),
        };
    }
    k.zeroize();
    for distance in [4, 2, 1] {
        sum = sum.plus_point(&sum.permuted(exchange(distance)), &table.d2);
    }
    let (x, z) = sum.u();
    // all lanes, because LLVM would take a single one by masked loads
    [least_words(&x), least_words(&z)]
}
