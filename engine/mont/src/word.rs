//! The words of numbers: limbs, digits, and rows of eight digits.

use zeroize::DefaultIsZeroes;

/// The number of lanes of a [`Row`], each of which holds one number.
pub const LANES: usize = 8;

/// Mask of the low 52 bits, the value of a digit. `vpmadd52` ignores the bits above.
pub(crate) const DIGIT: u64 = (1 << 52) - 1;

/// One digit position of eight independent numbers, radix 2^52.
///
/// A digit is the low 52 bits of its lane. A digit may be *dirty*: the bits above have no meaning,
/// for example because they have already been carried into the next digit.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Row(pub [u64; LANES]);

impl core::fmt::Debug for Row {
    /// Does not show the value: it may be secret.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Row(..)")
    }
}

impl DefaultIsZeroes for Row {}

/// A digit of one number, radix 2^52: one lane of a [`Row`]. Keys store their numbers in digits.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Digit(pub u64);

impl core::fmt::Debug for Digit {
    /// Does not show the value: it may be secret.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Digit(..)")
    }
}

impl DefaultIsZeroes for Digit {}

/// One position of one number: a limb (`u64`, radix 2^64) or a [`Digit`] (radix 2^52).
pub trait Scalar: DefaultIsZeroes {
    /// The number of bits of a position.
    const BITS: usize;
    /// Creates a position from the low [`Self::BITS`] bits of `x`.
    fn from_bits(x: u64) -> Self;
    /// Returns the bits of the position.
    fn bits(self) -> u64;
    /// Returns the word in which the position is stored.
    fn word(&self) -> &u64;

    /// Writes the number `limbs` (radix 2^64, little-endian) into `z`, zero-extended or cut to the
    /// length of `z`.
    fn pack(z: &mut [Self], limbs: &[u64]) {
        for (j, z) in z.iter_mut().enumerate() {
            *z = Self::from_bits(bits_at(limbs, j * Self::BITS));
        }
    }

    /// Writes the number `x` into `limbs` (radix 2^64, little-endian), cut to their length.
    fn unpack(limbs: &mut [u64], x: &[Self]) {
        limbs.fill(0);
        for (j, x) in x.iter().enumerate() {
            let (i, s) = (j * Self::BITS / 64, j * Self::BITS % 64);
            if i < limbs.len() {
                limbs[i] |= x.bits() << s;
            }
            if s != 0 && i + 1 < limbs.len() {
                limbs[i + 1] |= x.bits() >> (64 - s);
            }
        }
    }
}

/// Returns 64 bits of `x` from bit `at` on, with zeros beyond the end.
pub(crate) fn bits_at(x: &[u64], at: usize) -> u64 {
    let (i, s) = (at / 64, at % 64);
    let limb = |i: usize| x.get(i).copied().unwrap_or(0);
    if s == 0 { limb(i) } else { limb(i) >> s | limb(i + 1) << (64 - s) }
}

impl Scalar for u64 {
    const BITS: usize = 64;
    fn from_bits(x: u64) -> Self {
        x
    }
    fn bits(self) -> u64 {
        self
    }
    fn word(&self) -> &u64 {
        self
    }
}

impl Scalar for Digit {
    const BITS: usize = 52;
    fn from_bits(x: u64) -> Self {
        Self(x & DIGIT)
    }
    fn bits(self) -> u64 {
        self.0 & DIGIT
    }
    fn word(&self) -> &u64 {
        &self.0
    }
}

/// The place of a number in a [`Row`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// This lane.
    Lane(usize),
    /// Every lane: one store writes all eight.
    All,
}

impl Place {
    /// Writes 64 bits of the number.
    ///
    /// # Panics
    ///
    /// If there is no such lane.
    #[inline(always)]
    pub fn put(self, row: &mut Row, bits: u64) {
        match self {
            Self::Lane(lane) => row.0[lane] = bits,
            // `black_box`: LLVM would otherwise combine eight rows and write lanes by scatters
            Self::All => *core::hint::black_box(row) = Row([bits; LANES]),
        }
    }
}

/// One position of one number or of eight numbers: the operands of [`Kernel`](crate::Kernel)s and
/// [`carry`](crate::carry). All operations act on each lane alone and take the same time for all
/// values.
///
/// Arithmetic on secret values uses the `wrapping_` methods, even if the result cannot wrap: the
/// operators branch on overflow in test builds.
pub trait Word: DefaultIsZeroes + Send + Sync + 'static {
    /// One position of one number.
    type Scalar: Scalar;
    /// The number of lanes of a word, each of which holds one number.
    const LANES: usize;

    /// Returns a word with the same 64 bits in every lane.
    fn splat(x: u64) -> Self;
    /// Returns the 64 bits of a lane.
    fn lane(&self, lane: usize) -> u64;
    /// Replaces the 64 bits of a lane.
    fn set_lane(&mut self, lane: usize, x: u64);
    /// Applies `f` to each lane of two words.
    fn zip(self, y: Self, f: impl Fn(u64, u64) -> u64) -> Self;
    /// Returns x + y + carry (:= z + radix * carry'), carry 0 or 1 in each lane; z is clean.
    fn add_carry(self, y: Self, carry: &mut Self) -> Self;
    /// Returns x - y - borrow (:= z - radix * borrow'), borrow 0 or 1 in each lane; z is clean.
    fn sub_borrow(self, y: Self, borrow: &mut Self) -> Self;

    /// Returns x in the lanes where `mask` is all ones, y where `mask` is zero.
    fn pick(mask: Self, x: Self, y: Self) -> Self {
        x.zip(y, |x, y| x ^ y).zip(mask, |d, mask| d & mask).zip(y, |d, y| d ^ y)
    }
    /// Maps 0 to zero and 1 to all ones. Hides from the compiler that these are the only values: it
    /// could otherwise turn the mask into a branch.
    fn mask(self) -> Self {
        core::hint::black_box(self.zip(self, |bit, _| bit.wrapping_neg()))
    }
    /// Returns all ones in the lanes where all 64 bits are 0, else zero: see [`mask`](Self::mask).
    fn is_zero(self) -> Self {
        self.zip(self, |x, _| ((x | x.wrapping_neg()) >> 63) ^ 1).mask()
    }
}

impl Word for u64 {
    type Scalar = Self;
    const LANES: usize = 1;

    fn splat(x: u64) -> Self {
        x
    }
    fn lane(&self, lane: usize) -> u64 {
        assert!(lane == 0, "one lane");
        *self
    }
    fn set_lane(&mut self, lane: usize, x: u64) {
        assert!(lane == 0, "one lane");
        *self = x;
    }
    #[inline]
    fn zip(self, y: Self, f: impl Fn(Self, Self) -> Self) -> Self {
        f(self, y)
    }
    #[inline]
    fn add_carry(self, y: Self, carry: &mut Self) -> Self {
        let (z, a) = self.overflowing_add(y);
        let (z, b) = z.overflowing_add(*carry);
        *carry = Self::from(a | b);
        z
    }
    #[inline]
    fn sub_borrow(self, y: Self, borrow: &mut Self) -> Self {
        let (z, a) = self.overflowing_sub(y);
        let (z, b) = z.overflowing_sub(*borrow);
        *borrow = Self::from(a | b);
        z
    }
}

impl Word for Row {
    type Scalar = Digit;
    const LANES: usize = LANES;

    fn splat(x: u64) -> Self {
        Self([x; LANES])
    }
    fn lane(&self, lane: usize) -> u64 {
        self.0[lane]
    }
    fn set_lane(&mut self, lane: usize, x: u64) {
        self.0[lane] = x;
    }
    #[inline]
    fn zip(self, y: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        Self(core::array::from_fn(|l| f(self.0[l], y.0[l])))
    }
    #[inline]
    fn add_carry(self, y: Self, carry: &mut Self) -> Self {
        let sum = self.zip(y, |x, y| (x & DIGIT).wrapping_add(y & DIGIT));
        let sum = sum.zip(*carry, u64::wrapping_add);
        *carry = sum.zip(sum, |s, _| s >> 52);
        sum.zip(sum, |s, _| s & DIGIT)
    }
    #[inline]
    fn sub_borrow(self, y: Self, borrow: &mut Self) -> Self {
        let d = self.zip(y, |x, y| (x & DIGIT).wrapping_sub(y & DIGIT));
        let d = d.zip(*borrow, u64::wrapping_sub);
        *borrow = d.zip(d, |d, _| d >> 63);
        d.zip(d, |d, _| d & DIGIT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_is_the_identity_on_numbers_that_fit() {
        let limbs: Vec<u64> =
            (1..=13).map(|i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let mut digits = vec![Digit::default(); 16]; // 832 bits: exactly thirteen limbs
        Digit::pack(&mut digits, &limbs);
        assert!(digits.iter().all(|d| d.0 <= DIGIT));
        let mut back = vec![0; 13];
        Digit::unpack(&mut back, &digits);
        assert_eq!(back, limbs);
    }

    #[test]
    fn carries_and_borrows_stay_in_their_lane() {
        let x = Row([DIGIT, 0, 1, DIGIT, 5, 0, 0, 7]);
        let y = Row([1, 0, 1, DIGIT, 6, 1, 0, 7]);
        let mut c = Row::default();
        let z = x.add_carry(y, &mut c);
        assert!(z == Row([0, 0, 2, DIGIT - 1, 11, 1, 0, 14]) && c == Row([1, 0, 0, 1, 0, 0, 0, 0]));
        let mut b = Row::default();
        let z = x.sub_borrow(y, &mut b);
        assert!(z == Row([DIGIT - 1, 0, 0, 0, DIGIT, DIGIT, 0, 0]));
        assert!(b == Row([0, 0, 0, 0, 1, 1, 0, 0]));
    }

    #[test]
    fn debug_says_nothing() {
        assert_eq!(format!("{:?} {:?}", Row([7; 8]), Digit(7)), "Row(..) Digit(..)");
    }
}
