//! Greatest common divisors and inverses. Times depend on lengths only, and intermediate results
//! are wiped.

use tollgate_mont::Word as _;
use zeroize::Zeroizing;

use crate::natural::{Natural, is_below, less_one, subtract};

/// Returns gcd(p - 1, q - 1) for odd p and q above 1, of one length.
pub(super) fn of_both_less_one(p: &[u64], q: &[u64]) -> Natural {
    let ((a, odd), (b, _)) = (halvings(p), halvings(q));
    let (mut gcd, _) = of_odd(&odd, &less_one(q));
    let mut borrow = 0;
    a.sub_borrow(b, &mut borrow);
    shift_up(&mut gcd, u64::pick(borrow.mask(), a, b));
    gcd
}

/// Returns gcd(m, n) for odd m, and the x < m with x n = gcd (mod m). Both numbers have the same
/// length.
///
/// This is a binary algorithm on v and u, which are m and n at the start. If u is odd, it subtracts
/// the lesser of the two from the greater. Then it halves u. Each step removes a bit of v or u,
/// until u is zero. Invariant: v = x n and u = y n (mod m).
pub(super) fn of_odd(m: &[u64], n: &[u64]) -> (Natural, Natural) {
    let [mut v, mut u] = [m, n].map(|x| Zeroizing::new(x.to_vec()));
    let [mut x, mut y] = [(); 2].map(|()| Zeroizing::new(vec![0; m.len()]));
    y[0] = 1;
    for _ in 0..2 * 64 * m.len() {
        let is_odd = (u[0] & 1).mask();
        let swap = is_odd & is_below(&u, &v);
        exchange(&mut u, &mut v, swap);
        exchange(&mut y, &mut x, swap);
        subtract(&mut u, &v, is_odd);
        halve(&mut u, 0);
        let is_negative = subtract(&mut y, &x, is_odd);
        add(&mut y, m, is_negative);
        let is_odd = (y[0] & 1).mask();
        let above = add(&mut y, m, is_odd);
        halve(&mut y, above);
    }
    (v, x)
}

/// Returns a and m with w - 1 = 2^a m and m odd, for odd w above 1. Each step shifts out the lowest
/// 2^j bits if all of them are zero. The time depends on the length only.
fn halvings(w: &[u64]) -> (u64, Natural) {
    let (mut m, mut a) = (less_one(w), 0u64);
    for j in (0..=(64 * m.len() - 1).ilog2()).rev() {
        let (limbs, bits) = ((1 << j) / 64, (1 << j) % 64);
        let low = m[..limbs].iter().fold(m[limbs] & ((1 << bits) - 1), |low, limb| low | limb);
        let zero = low.is_zero();
        a = a.wrapping_add(zero & 1 << j);
        for i in 0..m.len() {
            let at = |i: usize| m.get(i).copied().unwrap_or(0);
            let shifted = match bits {
                0 => at(i + limbs),
                _ => at(i) >> bits | at(i + 1) << (64 - bits),
            };
            m[i] = u64::pick(zero, shifted, m[i]);
        }
    }
    (a, m)
}

fn exchange(x: &mut [u64], y: &mut [u64], mask: u64) {
    for (x, y) in x.iter_mut().zip(y) {
        let difference = (*x ^ *y) & mask;
        (*x, *y) = (*x ^ difference, *y ^ difference);
    }
}

/// x := x + y if `mask` is all ones; returns the carry.
fn add(x: &mut [u64], y: &[u64], mask: u64) -> u64 {
    let mut carry = 0;
    for (x, y) in x.iter_mut().zip(y) {
        *x = x.add_carry(y & mask, &mut carry);
    }
    carry
}

/// x := floor((x + 2^{64 |x|} above) / 2).
fn halve(x: &mut [u64], mut above: u64) {
    for x in x.iter_mut().rev() {
        (*x, above) = (*x >> 1 | above << 63, *x & 1);
    }
}

/// Multiplies x by 2^n; the result must fit. Works in steps of 2^j, each masked by a bit of n.
fn shift_up(x: &mut [u64], n: u64) {
    for j in 0..=(64 * x.len() - 1).ilog2() {
        let (limbs, bits) = ((1 << j) / 64, (1 << j) % 64);
        let is_done = (n >> j & 1).mask();
        for i in (0..x.len()).rev() {
            let at = |below: usize| i.checked_sub(below).map_or(0, |i| x[i]);
            let shifted = match bits {
                0 => at(limbs),
                _ => at(0) << bits | at(1) >> (64 - bits),
            };
            x[i] = u64::pick(is_done, shifted, x[i]);
        }
    }
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;
    use tollgate_cpu::memcheck;
    use tollgate_rerun as rerun;

    use super::*;

    fn euclid(mut a: BigUint, mut b: BigUint) -> BigUint {
        while b != BigUint::ZERO {
            (a, b) = (b.clone(), a % b);
        }
        a
    }

    /// Tests numbers with common factors, some with the factor 2, and numbers without common
    /// factors.
    #[test]
    fn it_equals_euclids() {
        let mut rng = fastrand::Rng::with_seed(21);
        let number = |limbs: &[u64]| {
            let bytes: Vec<u8> = limbs.iter().flat_map(|limb| limb.to_le_bytes()).collect();
            BigUint::from_bytes_le(&bytes)
        };
        for i in 0..300 {
            let len = rng.usize(1..6);
            let common = BigUint::from(rng.u32(1..)) << rng.usize(0..32 * len - 31);
            let mut less_one = || {
                let room = 64 * len - usize::try_from(common.bits()).expect("short") - 1;
                let mut x = BigUint::from(rng.u128(..)) >> 128_usize.saturating_sub(room);
                x = if x == BigUint::ZERO { x + 1u8 } else { x } * &common;
                x = x.clone() + &x; // even
                let mut limbs = x.to_u64_digits();
                limbs.resize(len, 0);
                limbs[0] |= 1;
                limbs
            };
            let (p, q) = (less_one(), less_one());
            let right = euclid(number(&p) - 1u8, number(&q) - 1u8);
            assert_eq!(number(&of_both_less_one(&p, &q)), right, "{i}: {p:?} {q:?}");
        }
        let (p, q) = ([1, 1 << 63], [1, 1 << 62]);
        assert_eq!(*of_both_less_one(&p, &q), [0, 1 << 62], "powers of two");
    }

    #[test]
    fn an_inverse_exists_unless_there_is_a_common_divisor() {
        for m in (3..200u64).step_by(2) {
            for n in 0..m {
                let (gcd, x) = of_odd(&[m, 0], &[n, 0]);
                assert_eq!(BigUint::from(gcd[0]), euclid(m.into(), n.into()));
                assert!(x[0] < m && x[0] * n % m == gcd[0] % m, "{n} mod {m}: {x:?}");
            }
        }
    }

    #[test]
    fn gcd_is_constant_time() {
        rerun::constant_time("generate::gcd::tests::gcd_is_constant_time", || {
            let [p, q] = [[0x1234_5679, 77, 1 << 60], [0x8765_4321, 99, 1 << 61]];
            memcheck::mark_secret(&p);
            memcheck::mark_secret(&q);
            core::hint::black_box(of_both_less_one(&p, &q));
        });
    }
}
