// The x-coordinate of k B on the curve of X25519, for the base point B (RFC 7748, section 6.1).
// Input k, a clamped scalar. Output the x-coordinate.
//
// Counts    64 additions of seven products, one inversion.
// Time      constant: every entry of a window is read.
//! `comb51_portable`: the sum of one table entry for each window of four bits.
#![forbid(unsafe_code)]

use crate::digits::{digit, half_of_odd, top};
use crate::edwards::{Addend, Point, windows_of_four};
use crate::field51::{Element, words};

const WINDOWS: usize = 64;

pub(crate) fn comb51_portable(k: &[u8; 32]) -> Element {
    let t = half_of_odd(&words(k));
    let mut sum = Point::NEUTRAL;
    for (w, entries) in windows_of_four().windows().enumerate() {
        let (entry, negative) = digit::<4>(t[w / 16] >> (4 * (w % 16)) | top::<4>(w, WINDOWS));
        sum = sum.add(&selected(entries, entry, negative));
    }
    sum.u()
}

/// Returns the entry with this number, or its negative if `negative` is all ones.
fn selected(entries: &[Addend], number: u64, negative: u64) -> Addend {
    let mut found = Addend::NEUTRAL;
    for (entry, here) in entries.iter().zip(0u64..) {
        let difference = number ^ here;
        // all ones if the difference is 0
        let mask = (difference | difference.wrapping_neg()) >> 63;
        found.replace(mask.wrapping_sub(1), entry);
    }
    found.negate(negative);
    found
}
