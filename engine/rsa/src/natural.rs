//! Natural numbers of little-endian limbs without kernels, for loading and generating keys.
//!
//! Nothing branches or indexes on a limb, so times depend on lengths only. Results are wiped on
//! drop and allocated at full size, since a growing vector would leave copies in memory.

use tollgate_mont::Word as _;
use zeroize::Zeroizing;

/// A number that may be secret.
pub(crate) type Natural = Zeroizing<Vec<u64>>;

/// Reads big-endian bytes; the result has the limbs of `len` bytes, and at least one.
pub(crate) fn natural(bytes: &[u8], len: usize) -> Natural {
    let mut x = Zeroizing::new(vec![0; len.div_ceil(8).max(1)]);
    from_bytes(&mut x, bytes);
    x
}

/// Returns x - 1 for odd x.
pub(crate) fn less_one(x: &[u64]) -> Natural {
    let mut z = Zeroizing::new(x.to_vec());
    z[0] ^= 1;
    z
}

/// Returns x y, with as many limbs as both together.
pub(crate) fn product(x: &[u64], y: &[u64]) -> Natural {
    let mut product = Zeroizing::new(vec![0; x.len() + y.len()]);
    for (i, x) in x.iter().enumerate() {
        let mut carry = 0u128;
        for (z, y) in product[i..].iter_mut().zip(y) {
            // at most (2^64 - 1)^2 + 2 (2^64 - 1) = 2^128 - 1
            carry = carry.wrapping_add(u128::from(*x).wrapping_mul(u128::from(*y)));
            carry = carry.wrapping_add(u128::from(*z));
            (*z, carry) = (low(carry), carry >> 64);
        }
        product[i + y.len()] = low(carry);
    }
    product
}

/// Returns all ones if x < y, else zero.
pub(crate) fn is_below(x: &[u64], y: &[u64]) -> u64 {
    let mut borrow = 0;
    for i in 0..x.len().max(y.len()) {
        at(x, i).sub_borrow(at(y, i), &mut borrow);
    }
    borrow.mask()
}

/// Returns all ones if x = y, else zero.
pub(crate) fn is_equal(x: &[u64], y: &[u64]) -> u64 {
    let differ = (0..x.len().max(y.len())).fold(0, |all, i| all | (at(x, i) ^ at(y, i)));
    differ.is_zero()
}

/// Divides x = `high` 2^{64 |`low`|} + `low` by m, for `high` < m. The quotient has the length of
/// `low`; the remainder has one limb more than m.
///
/// It works bit by bit. Faster divisions estimate quotients, and their time reveals how good the
/// estimates were.
pub(crate) fn divided(high: &[u64], low: &[u64], m: &[u64]) -> (Natural, Natural) {
    let mut quotient = Zeroizing::new(vec![0; low.len()]);
    let mut z = Zeroizing::new(vec![0; m.len() + 1]); // 2z + 1 < 2m fits
    z[..high.len()].copy_from_slice(high);
    for (q, limb) in quotient.iter_mut().zip(low).rev() {
        for bit in (0..64).rev() {
            let mut carry = limb >> bit & 1;
            let mut borrow = 0;
            for (i, z) in z.iter_mut().enumerate() {
                (*z, carry) = (*z << 1 | carry, *z >> 63);
                z.sub_borrow(at(m, i), &mut borrow);
            }
            let take = !borrow.mask();
            *q = *q << 1 | (take & 1);
            subtract(&mut z, m, take);
        }
    }
    (quotient, z)
}

/// z := z - y if `mask` is all ones; y is no longer than z. Returns all ones if the difference is
/// negative and wraps, else zero.
pub(crate) fn subtract(z: &mut [u64], y: &[u64], mask: u64) -> u64 {
    let mut borrow = 0;
    for (i, z) in z.iter_mut().enumerate() {
        *z = z.sub_borrow(at(y, i) & mask, &mut borrow);
    }
    borrow.mask()
}

/// Returns the position of the highest set bit plus one. The length of a prime is public.
pub(crate) fn bit_length(x: &[u64]) -> usize {
    let top = x.iter().rposition(|&limb| limb != 0);
    top.map_or(0, |i| 64 * (i + 1) - x[i].leading_zeros() as usize)
}

/// Converts big-endian bytes to little-endian limbs, zero-extended or cut.
pub(crate) fn from_bytes(limbs: &mut [u64], bytes: &[u8]) {
    let (top, whole) = bytes.as_rchunks();
    let mut whole = whole.iter().rev().map(|bytes| u64::from_be_bytes(*bytes));
    for (i, limb) in limbs.iter_mut().enumerate() {
        *limb = match whole.next() {
            Some(limb) => limb,
            None if i == bytes.len() / 8 => {
                top.iter().fold(0, |limb, byte| limb << 8 | u64::from(*byte))
            }
            None => 0,
        };
    }
}

/// Returns a number as the big-endian bytes of `bits` bits.
pub(crate) fn secret_bytes(limbs: &[u64], bits: usize) -> Zeroizing<Vec<u8>> {
    let mut bytes = Zeroizing::new(vec![0; bits.div_ceil(8)]);
    to_bytes(&mut bytes, limbs);
    bytes
}

/// Converts little-endian limbs to big-endian bytes, zero-extended or cut.
pub(crate) fn to_bytes(bytes: &mut [u8], limbs: &[u64]) {
    let mut limbs = limbs.iter().chain(core::iter::repeat(&0));
    for bytes in bytes.rchunks_mut(8) {
        let limb = limbs.next().expect("limbs do not end").to_be_bytes();
        bytes.copy_from_slice(&limb[8 - bytes.len()..]);
    }
}

#[allow(clippy::cast_possible_truncation, reason = "takes the low half")]
fn low(x: u128) -> u64 {
    x as u64
}

fn at(x: &[u64], i: usize) -> u64 {
    x.get(i).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;

    use super::*;

    fn number(limbs: &[u64]) -> BigUint {
        limbs.iter().rev().fold(BigUint::ZERO, |x, limb| (x << 64) + limb)
    }

    /// Returns random limbs, and limbs with long carry and borrow chains.
    fn random(rng: &mut fastrand::Rng, len: usize) -> Vec<u64> {
        let limb = |rng: &mut fastrand::Rng| match rng.u8(..4) {
            0 => 0,
            1 => u64::MAX,
            _ => rng.u64(..),
        };
        (0..len).map(|_| limb(rng)).collect()
    }

    #[test]
    fn results_equal_those_of_num_bigint() {
        let mut rng = fastrand::Rng::with_seed(31);
        for _ in 0..2000 {
            let [x, y] = [(); 2].map(|()| {
                let len = rng.usize(1..6);
                random(&mut rng, len)
            });
            let (a, b) = (number(&x), number(&y));
            assert_eq!(number(&product(&x, &y)), &a * &b);
            assert_eq!((is_below(&x, &y) != 0, is_equal(&x, &y) != 0), (a < b, a == b));
            assert_eq!((is_below(&x, &x), is_equal(&x, &x)), (0, u64::MAX));
            if b == BigUint::ZERO {
                continue;
            }
            let (quotient, rest) = divided(&[], &x, &y);
            assert_eq!((number(&quotient), number(&rest)), (&a / &b, &a % &b));
            let (quotient, again) = divided(&rest[..y.len()], &x, &y);
            let longer = (number(&rest) << (64 * x.len())) + &a;
            assert_eq!((number(&quotient), number(&again)), (&longer / &b, &longer % &b));
        }
    }

    #[test]
    fn bytes_are_read_into_the_requested_number_of_limbs() {
        assert_eq!(*natural(&[], 0), [0]);
        assert_eq!(*natural(&[1, 2], 8), [0x102]);
        assert_eq!(*natural(&[1, 0, 0, 0, 0, 0, 0, 0, 2], 9), [2, 1]);
        assert_eq!(*less_one(&[1, 7]), [0, 7]);
    }
}
