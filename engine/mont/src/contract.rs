//! The contract of a Montgomery kernel.

use crate::modulus::Modulus;
use crate::word::Word;

/// A Montgomery kernel: product, square and table select on K words, in each lane.
/// [`Exponentiate`](crate::Exponentiate) builds exponentiations on it.
///
/// R = radix^K, with the radix 2^64 of limbs or 2^52 of digits; for lane blocks see
/// [`Blocks`](crate::Blocks). `z :== x` means congruent mod m.
///
/// *Operands.* For limbs, any x < R. For digits and lane blocks, 64 m <= R (see
/// [`Shape`](crate::Shape)) and x < 8m; digits may be dirty. Every result is a valid operand.
///
/// *Results.* K words that hold z; if `x*y <= R*m` then also z < 3m, so that
/// [`carry::reduce`](crate::carry::reduce) makes it canonical. (`x*y <= R*m` holds for digits if
/// both operands are < 8m, and always if one operand is < m.) In lane blocks z < 7m.
///
/// *Time.* Constant: no branch and no address depends on x, y, m, k0 or the index; K is public.
///
/// A kernel never detects a feature, never allocates, never logs.
pub trait Kernel: Copy + core::fmt::Debug {
    /// The words of its numbers.
    type Word: Word;

    /// The name of the product's kernel: its file, function, test, benchmark row and record
    /// subject.
    fn name(self) -> &'static str;

    /// The name of the kernel that [`ams`](Self::ams) calls.
    fn square_name(self) -> &'static str;

    /// Almost Montgomery multiply: z :== x * y / R (mod m).
    ///
    /// # Panics
    ///
    /// If z, x or y do not have K words, or t fewer than [`Modulus::scratch_words`].
    fn amm(
        self,
        z: &mut [Self::Word],
        x: &[Self::Word],
        y: &[Self::Word],
        m: &Modulus<Self::Word>,
        t: &mut [Self::Word],
    );

    /// Almost Montgomery square: z :== x^2 / R (mod m).
    ///
    /// # Panics
    ///
    /// If z or x do not have K words, or t fewer than [`Modulus::scratch_words`].
    fn ams(
        self,
        z: &mut [Self::Word],
        x: &[Self::Word],
        m: &Modulus<Self::Word>,
        t: &mut [Self::Word],
    );

    /// z := table entry `index` of its lane, entries as long as z; every entry is read.
    ///
    /// An index beyond the table gives zero.
    ///
    /// # Panics
    ///
    /// If the length of the table is not a multiple of the length of z.
    fn select(self, z: &mut [Self::Word], table: &[Self::Word], index: Self::Word);

    /// Runs `f`, compiled with the target features of the kernel, and everything that is inlined
    /// into `f`: mark closures `#[inline(always)]`. For loops that are not worth a kernel.
    #[inline(always)]
    fn with_target_features<R>(self, f: impl FnOnce() -> R) -> R {
        f()
    }
}
