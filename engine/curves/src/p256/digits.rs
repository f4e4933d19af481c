//! Scalars as odd digits: see [`crate::digits`].
//!
//! Since n is odd, either k or n - k is odd. The other one only has the opposite sign.
//!
//! **Sums of windows.** A sum of odd digits with distinct weights is not zero: the highest digit
//! is at least its weight, and the sum of all lower ones is smaller. Its absolute value is below
//! 2^256 < 2n. So points A and B, which are sums of disjoint sets of windows of G, are never
//! neutral, and A = B or A = -B is possible only if the sum of the digits of one set and the same
//! or opposite digits of the other one is n or -n. Since n has a single form in odd digits, each
//! kernel can show that this does not happen. It then needs no complete formulas.

use crate::digits::digit;
use crate::mask::hidden;
use crate::residue::{Limbs, N, Prime, Scalar, subtracted};

/// An odd scalar.
#[derive(Clone)]
pub(crate) struct Odd {
    /// floor(k / 2) + 2^255.
    pub(crate) t: Limbs,
    /// All ones if the scalar is -k.
    pub(crate) negative: u64,
}

impl Odd {
    /// `scalar` is not zero. For zero, the result means n.
    pub(crate) fn new(scalar: &Scalar) -> Self {
        let k = scalar.number();
        let (minus_k, _) = subtracted(&N::M, &k);
        let negative = hidden((k[0] & 1).wrapping_sub(1));
        let odd: Limbs = core::array::from_fn(|i| k[i] ^ (k[i] ^ minus_k[i]) & negative);
        let t = core::array::from_fn(|i| {
            odd[i] >> 1 | odd.get(i + 1).map_or(1 << 63, |above| above << 63)
        });
        Self { t, negative }
    }

    /// Returns digit w of windows of BITS bits: the entry of the table, and all ones if the digit
    /// is negative.
    pub(crate) fn digit<const BITS: usize>(&self, w: usize) -> (u64, u64) {
        let (word, shift) = (BITS * w / 64, BITS * w % 64);
        let above = self.t.get(word + 1).copied().unwrap_or(0);
        let v = self.t[word] >> shift | above << 1 << (63 - shift);
        digit::<BITS>(v)
    }
}

/// Returns a number as the sum of digits with the weights 2^i. Digits are zero or odd, their
/// absolute values are below 2^{BITS-1}, and of BITS digits in a row at most one is not zero.
/// Variable time.
pub(crate) fn signed_digits_vartime<const BITS: usize>(x: &Limbs) -> [i8; 257] {
    let bits = |i: usize| {
        let word = |i: usize| x.get(i).copied().unwrap_or(0);
        let (low, shift) = (word(i / 64) >> (i % 64), i % 64);
        low | word(i / 64 + 1) << 1 << (63 - shift)
    };
    let (mut digits, mut carry, mut i) = ([0; 257], 0, 0);
    while i < digits.len() {
        if bits(i) & 1 == carry {
            i += 1;
            continue;
        }
        let value = (bits(i) & ((1 << BITS) - 1)) + carry;
        carry = value >> (BITS - 1);
        #[allow(clippy::cast_possible_truncation, reason = "at most 7 bits and a sign")]
        {
            digits[i] = (value.cast_signed() - (carry << BITS).cast_signed()) as i8;
        }
        i += BITS;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The facts about n on which the proofs of the kernels rest. Zero has the digits of n.
    #[test]
    fn digits_of_the_order() {
        let n = Odd::new(&Scalar::ZERO);
        let negative = u64::MAX;
        // p256_comb_sum8_ifma
        assert_eq!(n.digit::<4>(54), (7, negative));
        assert_eq!(n.digit::<4>(63), (7, 0));
        let low = [N::M[0], N::M[1], N::M[2], N::M[3] & ((1 << 28) - 1)]; // n mod 16^55
        assert!(low[3] == 0 && low[2] >> 28 > 0, "between 16^23 and 16^55 - 16^23");
        // p256_comb_mb8_ifma
        assert_eq!(n.digit::<7>(1).1, negative);
        assert!((128..16384 - 128).contains(&(N::M[0] % 16384)));
        // p256_window_mb8_ifma
        assert_eq!(n.digit::<5>(0).1, negative);
    }

    /// Adds up the digits.
    fn value<const BITS: usize>(k: &Odd) -> Scalar {
        let small = |x: u64| Scalar::new(&[x, 0, 0, 0]);
        let windows = 255 / BITS;
        let top = k.t[3] >> (BITS * windows - 192);
        let top_bits = 256 - BITS * windows;
        let mut sum = small(2 * top + 1).sub(&small(1 << top_bits));
        for w in (0..windows).rev() {
            sum = sum.mul(&small(1 << BITS));
            let (entry, negative) = k.digit::<BITS>(w);
            let mut digit = small(2 * entry + 1);
            digit.negate(negative);
            sum = sum.add(&digit);
        }
        sum.negate(k.negative);
        sum
    }

    /// Adds up the signed digits.
    fn sum_of_signed<const BITS: usize>(k: &Scalar) -> Scalar {
        let digits = signed_digits_vartime::<BITS>(&k.number());
        let mut last = BITS;
        digits.into_iter().rev().fold(Scalar::ZERO, |sum, digit| {
            last += 1;
            if digit != 0 {
                assert!(digit & 1 == 1 && digit.unsigned_abs() < 1 << (BITS - 1) && last > BITS);
                last = 1;
            }
            let mut number = Scalar::new(&[digit.unsigned_abs().into(), 0, 0, 0]);
            number.negate(u64::from(digit < 0).wrapping_neg());
            sum.add(&sum).add(&number)
        })
    }

    #[test]
    fn the_sum_of_the_digits_is_the_scalar() {
        let mut rng = fastrand::Rng::with_seed(4);
        let random =
            core::iter::repeat_with(|| Scalar::new(&core::array::from_fn(|_| rng.u64(..))));
        let extremes = [Scalar::ONE, Scalar::ONE.negated(), Scalar::ONE.add(&Scalar::ONE)];
        for k in extremes.into_iter().chain(random.take(1000)) {
            let odd = Odd::new(&k);
            assert!(value::<4>(&odd).is_vartime(&k));
            assert!(value::<5>(&odd).is_vartime(&k));
            assert!(value::<7>(&odd).is_vartime(&k));
            assert!(sum_of_signed::<5>(&k).is_vartime(&k));
            assert!(sum_of_signed::<8>(&k).is_vartime(&k));
        }
    }
}
