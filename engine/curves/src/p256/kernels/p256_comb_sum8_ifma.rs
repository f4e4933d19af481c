// k G for the base point G, with one scalar in all eight lanes.
// Inputs k, the table. Outputs X, Y, Z of the point in Jacobian coordinates, in limbs, at most p.
//
// k is the sum of 64 odd digits of four bits. In step s, lane l adds the multiple that its digit
// means: window 23 + 8 l + s, without 64 if that is less. So the digits of a lane are 32 bits. At
// the end three additions of exchanged lanes add up the lanes.
//
// Requires  k is not a multiple of n.
// Counts    7 mixed additions and 3 of exchanged lanes; 8,140 vpmadd52. To compare the
//           multiple with a sum of points 8 and 2; with the comparison and the changes of form,
//           8,690 vpmadd52.
// Time      constant: the only branch is the loop's; every entry of a window is loaded.
//
// No addition has equal or opposite points. By `digits.rs` this could only happen if the digits of
// n, some with the other sign, were those of the two added sets of windows together.
// * Windows of lanes 0 to 3 are 23 to 54: without window 0, sums are even, but n is odd.
// * Windows of lanes 4 to 7 are 55 to 63 and 0 to 22: sums are less than 16^23 from a multiple of
//   16^55, but n is not.
// * The last addition has all windows. With A, the sum of lanes 0 to 3, and B, the sum of the
//   others, A + B = k < n. If B - A = n, then the digits of n in windows 23 to 54 are those of -A.
//   But n has a negative digit in window 54, so A > 0 and k = n + 2A > n. And B > 0, since the top
//   digit is, so that |A| < B and A - B cannot be n.
//! `p256_comb_sum8_ifma`: one sum of table entries in eight parts.

use core::arch::x86_64::*;

use super::p256_field52_ifma::{Element, Lanes, either, from_numbers, same, split};
use super::p256_points52_ifma::{Jacobian, add_affine, opposite_halves, sum_of_lanes};
use crate::p256::digits::Odd;
use crate::residue::Limbs;
use crate::vectors::{V, all, vector};

pub(crate) const STEPS: usize = 8;
/// The window of lane 0 in step 0.
pub(crate) const FIRST: usize = 23;

/// x, y.
type Entry = [V; 10];

/// Entry e of step s has the multiples 2e + 1 of the windows of all lanes.
pub(crate) struct Table(pub(crate) Vec<[Entry; 8]>);

#[inline(never)]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(crate) fn p256_comb_sum8_ifma(k: &Odd, table: &Table) -> [Limbs; 3] {
    let lanes = lanes_of(&k.t);
    let (x, y, negative) = chosen(&table.0[0], lanes);
    sum_of_lanes(added::<1>(Jacobian::affine(x, &y, negative), lanes, table))
}

/// Returns three numbers in limbs, at most p. The sum of eight points in affine coordinates is k G
/// or, if k stands for -k, -k G, if the first two are 0 mod p and the third one is not. If the
/// third one is, two points that were added are equal or opposite, and the numbers show nothing.
///
/// The digits of k are added to the negatives of the points. Then the sums of both halves of the
/// lanes are opposite.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(crate) fn difference(k: &Odd, table: &Table, [x, y]: &[Lanes; 2]) -> [Limbs; 3] {
    let points = Jacobian::affine(from_numbers(x), &from_numbers(y), all(!k.negative));
    opposite_halves(added::<0>(points, lanes_of(&k.t), table))
}

/// Adds the digits of the steps from `FIRST_STEP` on.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn added<const FIRST_STEP: usize>(mut sum: Jacobian, lanes: V, table: &Table) -> Jacobian {
    for step in FIRST_STEP..STEPS {
        let digit = _mm512_srlv_epi64(lanes, all(4 * step as u64));
        let (x, y, negative) = chosen(&table.0[step], digit);
        add_affine(&mut sum, &x, &y, negative);
    }
    sum
}

/// The 32 bits of each lane.
#[inline]
#[target_feature(enable = "avx512f")]
fn lanes_of(t: &Limbs) -> V {
    // t, rotated by 92 bits
    let word = |i: usize| t[(i + 1) % 4] >> 28 | t[(i + 2) % 4] << 36;
    let half = |l: usize| word(l / 2) >> (32 * (l % 2)) & 0xffff_ffff;
    vector(core::array::from_fn(half))
}

/// Returns x and y of the entries for the low four bits of each lane, and all ones in the lanes in
/// which the digit is negative.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn chosen(entries: &[Entry; 8], bits: V) -> (Element, Element, V) {
    let (index, negative) = split::<4>(bits);
    let mut z = [all(0); 10];
    for (entry, e) in entries.iter().zip(0..) {
        let chosen = same(index, all(e));
        for j in 0..10 {
            z[j] = either(z[j], chosen, entry[j]);
        }
    }
    let [x0, x1, x2, x3, x4, y0, y1, y2, y3, y4] = z;
    ([x0, x1, x2, x3, x4], [y0, y1, y2, y3, y4], negative)
}
