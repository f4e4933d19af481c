// k G for the base point G.
// Input k. Output a point in homogeneous coordinates.
//
// Counts    64 complete additions of an affine point.
// Time      constant: every entry of a window is read.
//! `p256_comb_portable`: the sum of one table entry for each window of four bits.
#![forbid(unsafe_code)]

use crate::p256::digits::{Odd, same};
use crate::p256::multiples::windows_of_four;
use crate::p256::point::{Affine, Point};

pub(crate) fn p256_comb_portable(k: &Odd) -> Point {
    let mut windows = windows_of_four().iter().zip(0..).map(|(entries, w)| {
        let (index, negative) = k.digit::<4>(w);
        selected(entries, index, negative)
    });
    let mut sum = Point::from(windows.next().expect("64 windows"));
    for addend in windows {
        sum = sum.add_affine(&addend);
    }
    sum.y.negate(k.negative);
    sum
}

fn selected(entries: &[Affine; 8], index: u64, negative: u64) -> Affine {
    let mut found = entries[0];
    for (entry, number) in entries.iter().zip(0u64..) {
        found.replace(same(index, number), entry);
    }
    found.y.negate(negative);
    found
}
