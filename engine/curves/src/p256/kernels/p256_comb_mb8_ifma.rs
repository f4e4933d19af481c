// k G for the base point G, in each of eight lanes.
// Inputs t, the limbs of all floor(k/2) + 2^255; the table. Output points in Jacobian coordinates.
//
// k is the sum of 36 odd digits of seven bits and one of four bits, the top one. The entries of a
// window are the same for all lanes: a digit of 64 entries fills eight vectors, and four
// permutations and three choices read it.
//
// Requires  k are not multiples of n.
// Counts    36 mixed additions; 28,440 vpmadd52.
// Time      constant: the only branch is the loop's; every entry of a window is loaded.
//
// The order of windows is 35 to 2, 0, 1. Then no addition has equal or opposite points. By
// `digits.rs` this could only happen if the sum A and the digit d together, d with either sign,
// were n (A > 0, since it has the top digit, which is positive).
// * Before window 0, sums are even, but n is odd. With it, the sum is less than 128 from a
//   multiple of 2^14, but n is not.
// * The last digit is that of window 1. A + 128 d = k < n. If A - 128 d = n, then the digit of n
//   in this window is -d. It is negative, so d > 0 and k = n + 256 d > n.
//! `p256_comb_mb8_ifma`: sums of table entries in eight lanes.

use core::arch::x86_64::*;

use super::p256_field52_ifma::{Element, Lanes, bits_at, chosen, split};
use super::p256_points52_ifma::{Jacobian, add_affine};
use crate::vectors::{V, all, vector};

pub(crate) const BITS: usize = 7;
pub(crate) const WINDOWS: usize = 36;

/// Eight vectors for each digit of x and y: entries 0 to 7, and so on.
pub(crate) type Window = [[V; 8]; 10];

/// The multiples of the base point that the kernel adds.
pub(crate) struct Table {
    /// The window of weight 2^252. Only its first vectors are in use.
    pub(crate) top: Window,
    pub(crate) windows: Vec<Window>,
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(crate) fn p256_comb_mb8_ifma(t: &Lanes, table: &Table) -> Jacobian {
    let t = t.map(vector);
    let (index, _) = split::<4>(bits_at(&t, BITS * WINDOWS));
    let (x, y) = read(&table.top, index);
    let mut sum = Jacobian::affine(x, &y, all(0));
    for step in 0..WINDOWS {
        let w = if step < WINDOWS - 2 { WINDOWS - 1 - step } else { step + 2 - WINDOWS };
        let (index, negative) = split::<7>(bits_at(&t, BITS * w));
        let (x, y) = read(&table.windows[w], index);
        add_affine(&mut sum, &x, &y, negative);
    }
    sum
}

/// Returns the entry of each lane.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn read(window: &Window, index: V) -> (Element, Element) {
    let odd = _mm512_movm_epi64(_mm512_test_epi64_mask(index, all(16)));
    let upper = _mm512_movm_epi64(_mm512_test_epi64_mask(index, all(32)));
    let mut z = [all(0); 10];
    for (z, entries) in z.iter_mut().zip(window) {
        let first = _mm512_permutex2var_epi64(entries[0], index, entries[1]);
        let second = _mm512_permutex2var_epi64(entries[2], index, entries[3]);
        let third = _mm512_permutex2var_epi64(entries[4], index, entries[5]);
        let fourth = _mm512_permutex2var_epi64(entries[6], index, entries[7]);
        *z = chosen(upper, chosen(odd, fourth, third), chosen(odd, second, first));
    }
    let [x0, x1, x2, x3, x4, y0, y1, y2, y3, y4] = z;
    ([x0, x1, x2, x3, x4], [y0, y1, y2, y3, y4])
}
