//! One exponentiation in a call, for programs that need no more.

use zeroize::Zeroizing;

use crate::dispatch::LimbKernel;
use crate::exp::Exponentiate as _;
use crate::modulus::{Modulus, NotOdd};
use crate::shape::Shape;

/// Returns `base`^`exponent` mod `m`, on the best kernel of this processor. All numbers are limbs,
/// little-endian; the result has as many as `m` without leading zeros.
///
/// The time depends on the number of limbs of each number and on the length of `m` in bits, but not
/// on the values of `base`, `exponent` and `m`. The constants of `m` are computed in each call; to
/// use them again, keep a [`Modulus`].
///
/// ```
/// use tollgate_mont::modexp;
///
/// // 3^4 mod 2^64 - 59
/// assert_eq!(*modexp(&[3], &[4], &[0xffff_ffff_ffff_ffc5])?, [81]);
/// # Ok::<(), tollgate_mont::NotOdd>(())
/// ```
///
/// # Errors
///
/// [`NotOdd`] if `m` is even or 1.
///
/// # Panics
///
/// If `m` has more than 8192 bits, `exponent` is empty, or `base` has more than twice the limbs of
/// the result.
pub fn modexp(base: &[u64], exponent: &[u64], m: &[u64]) -> Result<Zeroizing<Vec<u64>>, NotOdd> {
    let top = m.iter().rposition(|&limb| limb != 0).ok_or(NotOdd)?;
    let bits = 64 * (top + 1) - m[top].leading_zeros() as usize;
    let modulus = Modulus::<u64>::new(&m[..=top], Shape::limbs(bits))?;
    assert!(base.len() <= 2 * (top + 1), "the base has at most twice the limbs of m");
    let (kernel, bits) = (LimbKernel::best(), 64 * exponent.len());
    let mut result = Zeroizing::new(vec![0; modulus.k()]);
    let mut memory = Zeroizing::new(vec![0; kernel.exp_words(modulus.shape(), bits)]);
    kernel.exp(&modulus, bits, base, exponent, &mut result, &mut memory);
    result.truncate(top + 1); // words beyond are zero: a shape has whole tiles
    Ok(result)
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;

    use super::*;

    fn big(limbs: &[u64]) -> BigUint {
        limbs.iter().rev().fold(BigUint::ZERO, |sum, &limb| (sum << 64) + limb)
    }

    #[test]
    fn equals_a_plain_computation_for_every_length() {
        let mut rng = fastrand::Rng::with_seed(4);
        for k in [1, 2, 3, 8, 16, 17, 32, 48, 64] {
            for (base_len, exponent_len, shift) in [(k, 1, 0), (2 * k, k, 61), (1, 2, 1)] {
                let mut limbs = |n| (0..n).map(|_| rng.u64(..)).collect::<Vec<_>>();
                let (base, exponent, mut m) = (limbs(base_len), limbs(exponent_len), limbs(k));
                m[0] |= 3; // odd, and above 1
                m[k - 1] = (m[k - 1] >> shift) | 1;
                m.push(0);
                let expected = big(&base).modpow(&big(&exponent), &big(&m));
                let found = modexp(&base, &exponent, &m).unwrap();
                assert_eq!((big(&found), found.len()), (expected, k), "{k} limbs");
            }
        }
        assert_eq!(modexp(&[3], &[4], &[8]).unwrap_err(), NotOdd);
        assert_eq!(modexp(&[3], &[4], &[0]).unwrap_err(), NotOdd);
        assert_eq!(modexp(&[3], &[4], &[1]).unwrap_err(), NotOdd);
        assert_eq!(*modexp(&[7], &[0], &[9]).unwrap(), [1]);
    }
}
