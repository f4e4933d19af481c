//! The field of 2^255 - 19 in five limbs of radix 2^51, one number at a time.
//!
//! The readable form of the field, and the judge of the vectors. A limb of a carried element is
//! below 2^51 + 2^19. Operands of products have limbs below 2^54.
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "parts of words")]

use crate::inverse;
use crate::mask::hidden;

/// Bits of a limb.
const BITS: u32 = 51;
const MASK: u64 = (1 << BITS) - 1;

const INVERSE: inverse::Modulus =
    inverse::Modulus::new(&[u64::MAX - 18, u64::MAX, u64::MAX, u64::MAX >> 1]);

/// An element of the field; the sum of limbs times 2^{51 i}.
#[derive(Clone, Copy)]
pub(crate) struct Element([u64; 5]);

impl Element {
    pub(crate) const ZERO: Self = Self([0; 5]);
    pub(crate) const ONE: Self = Self::small(1);

    pub(crate) const fn small(x: u64) -> Self {
        assert!(x <= MASK);
        Self([x, 0, 0, 0, 0])
    }

    /// Reads 32 bytes, little end first, without the top bit (RFC 7748, section 5).
    pub(crate) fn from_bytes(bytes: &[u8; 32]) -> Self {
        let mut x = words(bytes);
        x[3] &= u64::MAX >> 1;
        Self::from_words(&x)
    }

    /// Any limbs. The result has limbs below 2^51 + 2^18.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn from_limbs(x: [u64; 5]) -> Self {
        Self(carried(x))
    }

    #[cfg(target_arch = "x86_64")]
    pub(crate) fn limbs(self) -> [u64; 5] {
        self.0
    }

    /// x < 2^256.
    pub(crate) fn from_words(x: &[u64; 4]) -> Self {
        Self([
            x[0] & MASK,
            (x[0] >> 51 | x[1] << 13) & MASK,
            (x[1] >> 38 | x[2] << 26) & MASK,
            (x[2] >> 25 | x[3] << 39) & MASK,
            x[3] >> 12,
        ])
    }

    /// Returns the least residue.
    pub(crate) fn to_words(self) -> [u64; 4] {
        let mut x = carried(carried(self.0));
        // 1 if x >= p: then x + 19 reaches bit 255
        let mut over = 19;
        for limb in x {
            over = (limb + over) >> BITS;
        }
        x[0] += 19 * over;
        for i in 0..4 {
            x[i + 1] += x[i] >> BITS;
            x[i] &= MASK;
        }
        x[4] &= MASK;
        [
            x[0] | x[1] << 51,
            x[1] >> 13 | x[2] << 38,
            x[2] >> 26 | x[3] << 25,
            x[3] >> 39 | x[4] << 12,
        ]
    }

    pub(crate) fn to_bytes(self) -> [u8; 32] {
        bytes(&self.to_words())
    }

    pub(crate) fn add(self, y: Self) -> Self {
        Self(core::array::from_fn(|i| self.0[i] + y.0[i]))
    }

    /// y has limbs of at most 2^53 - 76.
    pub(crate) fn sub(self, y: Self) -> Self {
        // 4p: no limb becomes negative
        const BIAS: [u64; 5] = [4 * (MASK - 18), 4 * MASK, 4 * MASK, 4 * MASK, 4 * MASK];
        Self(carried(core::array::from_fn(|i| self.0[i] + BIAS[i] - y.0[i])))
    }

    pub(crate) fn negated(self) -> Self {
        Self::ZERO.sub(self)
    }

    pub(crate) fn mul(self, y: Self) -> Self {
        let (x, y) = (self.0, y.0);
        // 2^255 = 19
        let y19: [u64; 5] = y.map(|limb| 19 * limb);
        Self(columns(core::array::from_fn(|k| {
            (0..5).map(|i| product(x[i], if i <= k { y[k - i] } else { y19[5 + k - i] })).sum()
        })))
    }

    pub(crate) fn square(self) -> Self {
        self.mul(self)
    }

    /// Returns 1/x, or 0 for 0.
    pub(crate) fn inverted(self) -> Self {
        Self::from_words(&INVERSE.invert(&self.to_words()))
    }

    /// Exchanges x and y if `mask` is all ones, and does nothing if it is 0.
    pub(crate) fn exchange(mask: u64, x: &mut Self, y: &mut Self) {
        let mask = hidden(mask);
        for (x, y) in x.0.iter_mut().zip(&mut y.0) {
            let difference = (*x ^ *y) & mask;
            *x ^= difference;
            *y ^= difference;
        }
    }

    /// Becomes y if `mask` is all ones, and stays if it is 0.
    pub(crate) fn replace(&mut self, mask: u64, y: &Self) {
        let mask = hidden(mask);
        for (x, y) in self.0.iter_mut().zip(y.0) {
            *x ^= (*x ^ y) & mask;
        }
    }
}

fn product(x: u64, y: u64) -> u128 {
    u128::from(x) * u128::from(y)
}

/// Carries every limb once; the top one by 2^255 = 19. Any limbs; those of the result are below
/// 2^51 + 2^18.
fn carried(x: [u64; 5]) -> [u64; 5] {
    let carry = x.map(|limb| limb >> BITS);
    core::array::from_fn(|i| (x[i] & MASK) + if i == 0 { 19 * carry[4] } else { carry[i - 1] })
}

/// Carries the columns of a product.
fn columns(mut t: [u128; 5]) -> [u64; 5] {
    let low = |x: u128| x as u64 & MASK;
    for i in 0..4 {
        t[i + 1] += t[i] >> BITS;
    }
    // t[4] < 5 2^108 + 2^64 has no products with the factor 19: 19 times its carry is below 2^63.6
    let first = low(t[0]) + 19 * (t[4] >> BITS) as u64;
    [first & MASK, low(t[1]) + (first >> BITS), low(t[2]), low(t[3]), low(t[4])]
}

/// The words of 32 bytes, little end first.
pub(crate) fn words(bytes: &[u8; 32]) -> [u64; 4] {
    let (words, _) = bytes.as_chunks::<8>();
    core::array::from_fn(|i| u64::from_le_bytes(words[i]))
}

/// The bytes of four words, little end first.
pub(crate) fn bytes(words: &[u64; 4]) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (bytes, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    bytes
}
