// The x-coordinate of k B on the curve of X25519, for the base point B (RFC 7748, section 6.1).
// Input k, a clamped scalar. Output the x-coordinate.
//
// Counts    64 additions of seven products, one inversion.
// Time      constant: every entry of a window is read.
//! `comb51_portable`: the sum of one table entry for each window of four bits.
#![forbid(unsafe_code)]

use zeroize::Zeroizing;

use crate::digits::{added, offset};
use crate::edwards::{Addend, Point, windows_of_four};
use crate::field51::{Element, words};

const WINDOWS: usize = 64;

pub(crate) fn comb51_portable(k: &[u8; 32]) -> Element {
    const OFFSET: [u64; 4] = offset(4, WINDOWS);
    let k = Zeroizing::new(added(&words(k), &OFFSET));
    let mut sum = Point::NEUTRAL;
    for (w, entries) in windows_of_four().windows().enumerate() {
        let window = k[w / 16] >> (4 * (w % 16)) & 15;
        // the top window is at most 8
        let digit = window.cast_signed() - if w + 1 < WINDOWS { 8 } else { 0 };
        sum = sum.add(&selected(entries, digit));
    }
    sum.u()
}

/// Returns the multiple that a digit means.
fn selected(entries: &[Addend], digit: i64) -> Addend {
    let sign = (digit >> 63).cast_unsigned();
    let size = (digit.cast_unsigned() ^ sign).wrapping_sub(sign);
    let mut found = Addend::NEUTRAL;
    for (entry, number) in entries.iter().zip(1u64..) {
        let difference = size ^ number;
        // all ones if the difference is 0
        let mask = (difference | difference.wrapping_neg()) >> 63;
        found.replace(mask.wrapping_sub(1), entry);
    }
    found.negate(sign);
    found
}
