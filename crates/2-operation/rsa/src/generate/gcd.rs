//! The greatest common divisor of p - 1 and q - 1: in a time that depends on lengths alone, and
//! nothing of it is left in memory. (`BoxedUint::gcd` drops copies of both numbers as they are.)

use tollgate_mont::Word;
use zeroize::Zeroizing;

use super::miller_rabin::halvings;

/// gcd(p - 1, q - 1) for odd p and q above 1, of one length.
pub(super) fn of_both_less_one(p: &[u64], q: &[u64]) -> Zeroizing<Vec<u64>> {
    let ((a, odd), (b, _)) = (halvings(p), halvings(q));
    let mut even = Zeroizing::new(q.to_vec());
    even[0] ^= 1;
    let mut gcd = of_odd(odd, even);
    let mut borrow = 0;
    a.sub_borrow(b, &mut borrow);
    shift_up(&mut gcd, u64::pick(borrow.mask(), a, b));
    gcd
}

/// gcd(v, u) for odd v. Where u is odd too, the less is subtracted from the greater; then u is
/// halved: so both together lose a bit each time, until u is zero.
fn of_odd(mut v: Zeroizing<Vec<u64>>, mut u: Zeroizing<Vec<u64>>) -> Zeroizing<Vec<u64>> {
    for _ in 0..2 * 64 * v.len() {
        let is_odd = (u[0] & 1).mask();
        let mut less = 0;
        for (u, v) in u.iter().zip(&*v) {
            u.sub_borrow(*v, &mut less);
        }
        let swap = is_odd & less.mask();
        let mut borrow = 0;
        for (u, v) in u.iter_mut().zip(&mut *v) {
            let difference = (*u ^ *v) & swap;
            *v ^= difference;
            *u = (*u ^ difference).sub_borrow(*v & is_odd, &mut borrow);
        }
        let mut above = 0;
        for u in u.iter_mut().rev() {
            (*u, above) = (*u >> 1 | above << 63, *u & 1);
        }
    }
    v
}

/// x := 2^n x, which fits: in steps of 2^j, each done or not by a bit of n.
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
    use tollgate_cpu::{memcheck, rerun};

    use super::*;

    fn euclid(mut a: BigUint, mut b: BigUint) -> BigUint {
        while b != BigUint::ZERO {
            (a, b) = (b.clone(), a % b);
        }
        a
    }

    /// With many twos and other factors in common, and with none.
    #[test]
    fn it_is_that_of_euclid() {
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
    fn it_is_found_in_constant_time() {
        rerun::constant_time("generate::gcd::tests::it_is_found_in_constant_time", || {
            let [p, q] = [[0x1234_5679, 77, 1 << 60], [0x8765_4321, 99, 1 << 61]];
            memcheck::mark_secret_words(&p);
            memcheck::mark_secret_words(&q);
            core::hint::black_box(of_both_less_one(&p, &q));
        });
    }
}
