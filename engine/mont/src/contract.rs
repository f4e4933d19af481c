//! The contract of a Montgomery kernel.

use crate::modulus::Modulus;
use crate::word::Word;

/// A Montgomery kernel: product, square and table select on K words, in each lane.
/// [`Exponentiate`](crate::Exponentiate) builds exponentiations on it.
///
/// R = radix^K. The radix is 2^64 for limbs and 2^52 for digits; for lane blocks see
/// [`Blocks`](crate::Blocks). `z :== x` means that z and x are congruent mod m.
///
/// *Operands.* For limbs, any x < R. For digits and lane blocks, 64 m <= R (see
/// [`Shape`](crate::Shape)) and x < 8m; digits may be dirty. Every result is a valid operand.
///
/// *Results.* z has K words. If `x*y <= R*m`, and for a square of digits x < 7m, then z < 3m, and
/// [`carry::reduce`](crate::carry::reduce) makes it canonical. (`x*y <= R*m` holds for digits if
/// both operands are < 8m, and always if one operand is < m.) In lane blocks z < 7m.
///
/// *Time.* Constant: no branch and no address depends on x, y, m, k0 or the index. K is public.
///
/// A kernel never detects CPU features, never allocates and never logs.
pub trait Kernel: Copy + core::fmt::Debug {
    /// The words of its numbers.
    type Word: Word;

    /// Returns the name of the kernel that [`amm`](Self::amm) calls. Its file, function, test,
    /// benchmark row and record subject have the same name.
    fn name(self) -> &'static str;

    /// Returns the name of the kernel that [`ams`](Self::ams) calls.
    fn square_name(self) -> &'static str;

    /// Almost Montgomery multiply: z :== x * y / R (mod m).
    ///
    /// # Panics
    ///
    /// If z, x or y does not have K words, or t has fewer than [`Modulus::scratch_words`].
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
    /// If z or x does not have K words, or t has fewer than [`Modulus::scratch_words`].
    fn ams(
        self,
        z: &mut [Self::Word],
        x: &[Self::Word],
        m: &Modulus<Self::Word>,
        t: &mut [Self::Word],
    );

    /// z := the table entry `index`, in each lane. An entry is as long as z. Reads every entry.
    ///
    /// An index beyond the table gives zero.
    ///
    /// # Panics
    ///
    /// If the length of the table is not a multiple of the length of z.
    fn select(self, z: &mut [Self::Word], table: &[Self::Word], index: Self::Word);

    /// Runs `f`. `f` and everything inlined into it are compiled with the target features of the
    /// kernel; mark closures `#[inline(always)]`. Use this for loops that have no kernel of their
    /// own.
    #[inline(always)]
    fn with_target_features<R>(self, f: impl FnOnce() -> R) -> R {
        f()
    }
}
