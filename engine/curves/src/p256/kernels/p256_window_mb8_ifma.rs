// k P for any point P other than the neutral one, in each of eight lanes.
// Inputs t, the limbs of all floor(k/2) + 2^255; P. Output points in Jacobian coordinates.
//
// k is the sum of 51 odd digits of five bits, and 2^255. Each lane has a table of its own, with P,
// 3P, ..., 31P.
//
// Requires  k are not multiples of n. P are on the curve, which has no point of another order than
//           n.
// Counts    256 doublings and 66 additions; 212,900 vpmadd52.
// Time      constant: the only branches are the loops'; every entry of a table is loaded.
//
// No addition has equal or opposite points. By `digits.rs` this could only happen if the sum A, a
// multiple of 32, and the digit d, with either sign, were n (A > 0, since it has the top digit). If
// this is not the last window, A + d is less than 2^252. In the last one A + d = k < n. If A - d =
// n, then digit 0 of n is -d. It is negative, so d > 0 and k = n + 2d > n.
//! `p256_window_mb8_ifma`: windows of five bits, from the top, in eight lanes.

use core::arch::x86_64::*;

use super::p256_field52_ifma::{Lanes, bits_at, either, from_numbers, same, split};
use super::p256_points52_ifma::{Jacobian, add_points, double};
use crate::vectors::{V, all, vector};

/// Bits of a window.
pub(crate) const BITS: usize = 5;
/// Windows below the top digit.
pub(crate) const WINDOWS: usize = 51;

#[inline(never)]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(crate) fn p256_window_mb8_ifma(t: &Lanes, [x, y]: &[Lanes; 2]) -> Jacobian {
    let t = t.map(vector);
    let first = Jacobian::affine(from_numbers(x), &from_numbers(y), all(0));
    let mut twice = first;
    double(&mut twice);
    let mut odd = [first; 16];
    for e in 1..16 {
        odd[e] = odd[e - 1];
        add_points(&mut odd[e], &twice, all(0));
    }
    let mut sum = first;
    for w in (0..WINDOWS).rev() {
        for _ in 0..BITS {
            double(&mut sum);
        }
        let (index, negative) = split::<5>(bits_at(&t, BITS * w));
        add_points(&mut sum, &entry(&odd, index), negative);
    }
    sum
}

/// Returns the entry of each lane.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn entry(odd: &[Jacobian; 16], index: V) -> Jacobian {
    let zero = [all(0); 5];
    let mut z = Jacobian { x: zero, y: zero, z: zero };
    let mut number = all(0);
    for entry in odd {
        let chosen = same(index, number);
        number = _mm512_add_epi64(number, all(1));
        for j in 0..5 {
            z.x[j] = either(z.x[j], chosen, entry.x[j]);
            z.y[j] = either(z.y[j], chosen, entry.y[j]);
            z.z[j] = either(z.z[j], chosen, entry.z[j]);
        }
    }
    z
}
