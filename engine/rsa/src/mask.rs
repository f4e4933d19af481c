//! Branch-free choices by masks: all ones for true, all zeros for false.
//!
//! The crate `subtle` offers the same, but its debug builds check choices by branches, so memcheck
//! could not run the tests.

use core::hint::black_box;
use core::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, Not};

use tollgate_cpu::memcheck;

/// Makes a secret index or length public.
pub(crate) fn public_index(index: u32) -> usize {
    let index = memcheck::declassified(u64::from(index));
    usize::try_from(index).expect("within a modulus")
}

/// A secret truth value.
#[derive(Clone, Copy)]
pub(crate) struct Mask(u32);

impl Mask {
    pub(crate) const NO: Self = Self(0);

    /// Returns the mask of x = 0.
    pub(crate) fn zero(x: u32) -> Self {
        // the top bits of !x and of x - 1 are both set only for 0
        Self::of_top_bit(!x & x.wrapping_sub(1))
    }

    /// Returns the mask of x = y.
    pub(crate) fn equal(x: impl Into<u32>, y: impl Into<u32>) -> Self {
        Self::zero(x.into() ^ y.into())
    }

    /// Returns the mask of x < y, for x and y below 2^31.
    pub(crate) fn less(x: u32, y: u32) -> Self {
        Self::of_top_bit(x.wrapping_sub(y))
    }

    /// Returns `yes` if true, else `no`.
    pub(crate) fn select(self, yes: u32, no: u32) -> u32 {
        no ^ (self.0 & (yes ^ no))
    }

    /// Returns `yes` if true, else `no`.
    pub(crate) fn select_byte(self, yes: u8, no: u8) -> u8 {
        let [mask, ..] = self.0.to_ne_bytes();
        no ^ (mask & (yes ^ no))
    }

    /// Makes the value public.
    pub(crate) fn publish(self) -> bool {
        memcheck::declassified(self.0.into()) != 0
    }

    /// Hides from the compiler that the result of a comparison has only two values. The compiler
    /// would turn it into a branch.
    fn of_top_bit(x: u32) -> Self {
        Self(black_box((black_box(x) >> 31).wrapping_neg()))
    }
}

impl BitAnd for Mask {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl BitOr for Mask {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAndAssign for Mask {
    fn bitand_assign(&mut self, other: Self) {
        *self = *self & other;
    }
}

impl BitOrAssign for Mask {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

impl Not for Mask {
    type Output = Self;

    fn not(self) -> Self {
        Self(!self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_equal_the_comparisons() {
        let numbers = [0, 1, 2, 9, 255, 256, 0x7fff_ffff];
        for x in numbers {
            assert_eq!(Mask::zero(x).publish(), x == 0);
            for y in numbers {
                let (equal, less) = (Mask::equal(x, y), Mask::less(x, y));
                assert_eq!(equal.publish(), x == y, "{x} = {y}");
                assert_eq!(less.publish(), x < y, "{x} < {y}");
                assert_eq!((!equal).publish(), x != y);
                assert_eq!((equal | less).publish(), x <= y);
                assert!(!(equal & less).publish());
                assert_eq!(less.select(x, y), x.min(y));
            }
        }
        assert!(!Mask::zero(u32::MAX).publish());
        assert_eq!(Mask::zero(0).select_byte(7, 8), 7);
        assert_eq!(Mask::NO.select_byte(7, 8), 8);
    }
}
