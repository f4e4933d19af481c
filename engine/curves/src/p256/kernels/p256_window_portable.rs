// k P for any point P other than the neutral one.
// Inputs k, P. Output a point in Jacobian coordinates.
//
// k is the sum of 51 odd digits of five bits, and 2^255.
//
// Requires  k is not a multiple of n.
// Counts    256 doublings of 4 products and 4 squares, 66 additions of 12 and 4.
// Time      constant: every entry of the table is read.
//
// No addition has equal or opposite points. By `digits.rs` this could only happen if the sum A, a
// multiple of 32, and the digit d, with either sign, were n (A > 0, since it has the top digit). If
// this is not the last window, A + d is less than 2^252. In the last one A + d = k < n. If A - d =
// n, then digit 0 of n is -d. It is negative, so d > 0 and k = n + 2d > n.
//! `p256_window_portable`: windows of five bits, from the top.
#![forbid(unsafe_code)]

use crate::p256::digits::{Odd, same};
use crate::p256::jacobian::Jacobian;
use crate::p256::point::Affine;

/// Bits of a window.
pub(crate) const BITS: usize = 5;
/// Windows below the top digit.
pub(crate) const WINDOWS: usize = 51;

pub(crate) fn p256_window_portable(k: &Odd, point: &Affine) -> Jacobian {
    let first = Jacobian::from(*point);
    let twice = first.doubled();
    let mut odd = [first; 16];
    for e in 1..16 {
        odd[e] = odd[e - 1].add(&twice);
    }
    let mut sum = first;
    for w in (0..WINDOWS).rev() {
        for _ in 0..BITS {
            sum = sum.doubled();
        }
        let (index, negative) = k.digit::<BITS>(w);
        let mut addend = odd[0];
        for (entry, number) in odd.iter().zip(0u64..) {
            addend.replace(same(index, number), entry);
        }
        addend.y.negate(negative);
        sum = sum.add(&addend);
    }
    sum.y.negate(k.negative);
    sum
}
