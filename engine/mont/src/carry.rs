//! Sums, differences and final subtractions of m, in each lane. They need no kernel.
//!
//! All functions here take the same time for all values, and return clean digits. They are inlined:
//! inside [`Kernel::with_target_features`](crate::Kernel::with_target_features) they are compiled
//! for the vectors of that kernel.

use crate::word::Word;

/// z := x + y. Returns the carry out, 0 or 1 in each lane.
///
/// Operands shorter than z are zero-extended; `y` must not be longer than z.
#[inline(always)]
pub fn add<W: Word>(z: &mut [W], x: &[W], y: &[W]) -> W {
    let mut carry = W::default();
    for (j, z) in z.iter_mut().enumerate() {
        *z = at(x, j).add_carry(at(y, j), &mut carry);
    }
    carry
}

/// z := x - y mod m, for x, y < m. Adds m in the lanes where x < y.
#[inline(always)]
pub fn sub_mod<W: Word>(z: &mut [W], x: &[W], y: &[W], m: &[W]) {
    let mut borrow = W::default();
    for (j, z) in z.iter_mut().enumerate() {
        *z = at(x, j).sub_borrow(at(y, j), &mut borrow);
    }
    let (mask, mut carry) = (borrow.mask(), W::default());
    for (z, &m) in z.iter_mut().zip(m) {
        *z = z.add_carry(m.zip(mask, |m, mask| m & mask), &mut carry);
    }
}

/// z := x + y mod m, for x, y < m.
#[inline(always)]
pub fn add_mod<W: Word>(z: &mut [W], x: &[W], y: &[W], m: &[W]) {
    let above = add(z, x, y);
    subtract_once(z, m, above);
}

/// z := z mod m, for z < 3m. A product of x and y is below 3m if `x*y <= R*m`.
///
/// Computes z - m and z - 2m at the same time, since neither borrow waits for the other.
#[inline(always)]
pub fn reduce<W: Word>(z: &mut [W], m: &[W]) {
    let mut borrows = [W::default(); 2];
    for (&z, &m) in z.iter().zip(m) {
        subtract_both(z, [m, m], &mut borrows);
    }
    // z - m borrows if z < m; z - 2m borrows if z < 2m
    let keep = [borrows[0].mask(), borrows[0].zip(borrows[1], |a, b| a | b).mask()];
    let mut borrows = [W::default(); 2];
    for (z, &m) in z.iter_mut().zip(m) {
        let part = keep.map(|keep| m.zip(keep, |m, keep| m & !keep));
        *z = subtract_both(*z, part, &mut borrows);
    }
}

/// Returns one word of z - x - y. The subtractions of x and of y each have their own borrow.
#[inline(always)]
fn subtract_both<W: Word>(z: W, [x, y]: [W; 2], borrows: &mut [W; 2]) -> W {
    z.sub_borrow(x, &mut borrows[0]).sub_borrow(y, &mut borrows[1])
}

/// z := z - m in the lanes where z >= m. `above` is 1 in the lanes where z has a bit above its
/// words.
#[inline(always)]
pub(crate) fn subtract_once<W: Word>(z: &mut [W], m: &[W], above: W) {
    let mut borrow = W::default();
    for (&z, &m) in z.iter().zip(m) {
        z.sub_borrow(m, &mut borrow);
    }
    let keep = borrow.zip(above, |borrow, above| borrow & !above).mask();
    let mut borrow = W::default();
    for (z, &m) in z.iter_mut().zip(m) {
        *z = z.sub_borrow(m.zip(keep, |m, keep| m & !keep), &mut borrow);
    }
}

/// Returns all ones in each lane where x = y, else zero. Digits are clean and lengths equal.
#[inline(always)]
pub fn equal<W: Word>(x: &[W], y: &[W]) -> W {
    let difference = x
        .iter()
        .zip(y)
        .fold(W::default(), |all, (&x, &y)| all.zip(x.zip(y, |x, y| x ^ y), |all, d| all | d));
    difference.is_zero()
}

/// z := x in the lanes where `mask` is all ones. Where `mask` is zero, z stays.
#[inline(always)]
pub fn pick<W: Word>(z: &mut [W], mask: W, x: &[W]) {
    for (z, &x) in z.iter_mut().zip(x) {
        *z = W::pick(mask, x, *z);
    }
}

#[inline(always)]
fn at<W: Word>(x: &[W], j: usize) -> W {
    x.get(j).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;

    use super::*;
    use crate::contract::Kernel;
    use crate::dispatch::LaneKernel;
    use crate::word::{DIGIT, Row};

    #[test]
    fn reduce_takes_away_up_to_two_m_in_each_lane() {
        let m = [Row::splat(5), Row::splat(1)];
        let mut z = [Row([5, 4, 10, 14, 9, 0, 6, 15]), Row([1, 1, 2, 2, 0, 0, 1, 2])];
        reduce(&mut z, &m);
        assert!(z[0] == Row([0, 4, 0, 4, 9, 0, 1, 5]));
        assert!(z[1] == Row([0, 1, 0, 0, 0, 0, 0, 0]));
    }

    /// Runs with the target features of each kernel, on m, 2m, their neighbours and random numbers.
    #[test]
    fn reduce_is_the_remainder_in_every_lane() {
        let number = |x: &[Row], lane: usize| {
            x.iter().rev().fold(BigUint::ZERO, |a, row| (a << 52) + (row.lane(lane) & DIGIT))
        };
        let mut rng = fastrand::Rng::with_seed(15);
        for kernel in LaneKernel::all() {
            for round in 0..200 {
                let mut m: Vec<Row> = (0..5).map(|_| Row([(); 8].map(|()| rng.u64(..)))).collect();
                if round % 2 == 1 {
                    m[1..4].fill(Row::splat(if round % 4 == 1 { u64::MAX } else { 0 }));
                }
                m.push(Row::splat(1));
                let (mut z, mut right) = (vec![Row::default(); 6], Vec::new());
                for lane in 0..8 {
                    let of_m = number(&m, lane);
                    let random = BigUint::from(rng.u64(..)) << 200u32;
                    let x = match rng.u8(..5) {
                        0 => of_m.clone(),
                        1 => &of_m * 2u8,
                        2 => &of_m * 3u8 - 1u8,
                        3 => &of_m * rng.u8(1..3) - 1u8,
                        _ => random % (&of_m * 3u8),
                    };
                    for (j, row) in z.iter_mut().enumerate() {
                        let digit: BigUint = (&x >> (52 * j)) & BigUint::from(DIGIT);
                        row.0[lane] = u64::try_from(digit).expect("52 bits") | rng.u64(..) << 52;
                    }
                    right.push(x % of_m);
                }
                kernel.with_target_features(
                    #[inline(always)]
                    || reduce(&mut z, &m),
                );
                for (lane, right) in right.iter().enumerate() {
                    assert_eq!(number(&z, lane), *right, "{kernel:?}, lane {lane}");
                }
                assert!(z.iter().all(|row| row.0.iter().all(|digit| *digit <= DIGIT)));
            }
        }
    }

    #[test]
    fn differences_wrap_at_m() {
        let mut z = [0u64; 2];
        sub_mod(&mut z, &[1, 0], &[2, 0], &[u64::MAX, 7]);
        assert_eq!(z, [u64::MAX - 1, 7]);
        sub_mod(&mut z, &[1, 1], &[2], &[u64::MAX, 7]);
        assert_eq!(z, [u64::MAX, 0]);
    }

    #[test]
    fn sums_wrap_at_m_also_beyond_the_last_word() {
        let m = [u64::MAX, u64::MAX]; // 2(m - 1) has a bit above the two words
        let x = [u64::MAX - 1, u64::MAX];
        let mut z = [0; 2];
        add_mod(&mut z, &x, &x, &m);
        assert_eq!(z, [u64::MAX - 2, u64::MAX]);
        add_mod(&mut z, &[2, 0], &[3, 0], &[5, 0]);
        assert_eq!(z, [0, 0]);
    }

    #[test]
    fn equality_is_per_lane() {
        let x = [Row([1, 2, 3, 4, 5, 6, 7, 8]), Row::splat(9)];
        let mut y = x;
        y[0].0[3] = 0;
        y[1].0[7] = 1 << 51;
        assert!(equal(&x, &y) == Row([!0, !0, !0, 0, !0, !0, !0, 0]));
    }
}
