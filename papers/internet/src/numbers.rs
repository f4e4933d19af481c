//! Constants of a modulus that only these methods need.

use tollgate_mont::Modulus;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::limbs::{low, mac};

/// A modulus m of K limbs with the constants of every method. Wiped when dropped.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Numbers {
    pub(crate) m: Vec<u64>,
    /// -1/m mod 2^64.
    pub(crate) k0: u64,
    /// -1/m mod R, for the whole quotient in one product.
    pub(crate) inverse: Vec<u64>,
}

impl core::fmt::Debug for Numbers {
    /// Shows no value: it may be a secret prime.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Numbers").field("K", &self.m.len()).finish_non_exhaustive()
    }
}

impl Numbers {
    /// Returns the constants of a modulus of the engine. Constant time for its number of limbs.
    #[must_use]
    pub fn new(m: &Modulus<u64>) -> Self {
        let m = m.m().to_vec();
        let k0 = negative_inverse(m[0]);
        Self { inverse: whole_inverse(&m, k0), m, k0 }
    }

    /// Returns K, the number of limbs.
    pub fn k(&self) -> usize {
        self.m.len()
    }
}

/// Returns -1/m mod 2^64, for odd m. Newton's iteration doubles the correct bits: 5, 10, 20, 40,
/// 80.
fn negative_inverse(m: u64) -> u64 {
    let mut x = m.wrapping_mul(3) ^ 2;
    for _ in 0..4 {
        x = x.wrapping_mul(2u64.wrapping_sub(m.wrapping_mul(x)));
    }
    x.wrapping_neg()
}

/// Returns -1/m mod R: the quotient digits of the reduction of 1, since 1 + q * m :== 0 (mod R).
fn whole_inverse(m: &[u64], k0: u64) -> Vec<u64> {
    let mut t = vec![0; m.len()];
    t[0] = 1;
    let mut digit = || {
        let q = low(t[0], k0);
        let (_, mut carry) = mac(t[0], q, m[0], 0);
        for j in 1..m.len() {
            (t[j - 1], carry) = mac(t[j], q, m[j], carry);
        }
        t[m.len() - 1] = carry; // t <= m before and after
        q
    };
    let q = (0..m.len()).map(|_| digit()).collect();
    t.zeroize();
    q
}

#[cfg(test)]
mod tests {

    use num_bigint::BigUint;
    use tollgate_mont::Shape;

    use super::*;

    fn number(x: &[u64]) -> BigUint {
        x.iter().rev().fold(BigUint::ZERO, |a, x| (a << 64) + x)
    }

    #[test]
    fn constants_are_correct() {
        let mut rng = fastrand::Rng::with_seed(1);
        for bits in [2usize, 64, 65, 256, 300, 512, 1024] {
            for ones in [false, true] {
                let top = 1 << ((bits - 1) % 64);
                let mut m: Vec<u64> = (0..bits.div_ceil(64))
                    .map(|_| if ones { u64::MAX } else { rng.u64(..) })
                    .collect();
                let last = m.last_mut().unwrap();
                *last = *last & (top - 1) | top;
                m[0] |= 1;
                let modulus = Modulus::<u64>::new(&m, Shape::limbs(bits)).unwrap();
                let numbers = Numbers::new(&modulus);
                let (m, one) = (number(modulus.m()), BigUint::from(1u8));
                let r = &one << (64 * modulus.k());
                assert_eq!((number(&numbers.inverse) * &m + 1u8) % &r, BigUint::ZERO);
                assert_eq!(numbers.k0, numbers.inverse[0]);
            }
        }
    }

    #[test]
    fn debug_says_nothing() {
        let modulus = Modulus::<u64>::new(&[u64::MAX; 4], Shape::limbs(256)).unwrap();
        assert_eq!(format!("{:?}", Numbers::new(&modulus)), "Numbers { K: 4, .. }");
    }
}
