//! A method by name: its routines and its kernel.

use tollgate_mont::{Exponentiate, Kernel, LimbKernel, Modulus};

use crate::methods::{cios, karatsuba, single_step, sos};
use crate::numbers::Numbers;

/// A method for a Montgomery product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Separated operand scanning: schoolbook product, then a row of reduction per limb.
    Sos,
    /// Coarsely integrated operand scanning: rows of product and of reduction in turn.
    Cios,
    /// SOS with one level of Karatsuba in the product.
    Karatsuba,
    /// Schoolbook product, then the whole quotient at once.
    SingleStep,
}

type Routine = fn(&mut [u64], [&[u64]; 2], &Numbers, &mut [u64]);

impl Method {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 4] = [Self::Sos, Self::Cios, Self::Karatsuba, Self::SingleStep];

    /// Returns the name of the product in records, such as `amm64_cios`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sos => "amm64_sos",
            Self::Cios => "amm64_cios",
            Self::Karatsuba => "amm64_karatsuba",
            Self::SingleStep => "amm64_single_step",
        }
    }

    /// Returns the name of the square. CIOS, whose rows of product and of reduction alternate, has
    /// no formula for squares, and the name is that of the product.
    pub const fn square_name(self) -> &'static str {
        match self {
            Self::Sos => "ams64_sos",
            Self::Cios => self.name(),
            Self::Karatsuba => "ams64_karatsuba",
            Self::SingleStep => "ams64_single_step",
        }
    }

    /// Returns the routines of a product and of a square.
    fn routines(self) -> [Routine; 2] {
        match self {
            Self::Sos => [sos::amm::<false>, sos::amm::<true>],
            Self::Cios => [cios::amm; 2],
            Self::Karatsuba => [karatsuba::amm::<false>, karatsuba::amm::<true>],
            Self::SingleStep => [single_step::amm::<false>, single_step::amm::<true>],
        }
    }

    /// Returns the kernel for one modulus.
    pub fn kernel(self, numbers: &Numbers) -> MethodKernel<'_> {
        MethodKernel { method: self, routines: self.routines(), numbers }
    }
}

/// A method as a kernel, bound to one modulus, since it needs constants that a [`Modulus`] lacks.
#[derive(Clone, Copy)]
pub struct MethodKernel<'m> {
    method: Method,
    routines: [Routine; 2],
    numbers: &'m Numbers,
}

impl core::fmt::Debug for MethodKernel<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("MethodKernel").field(&self.method).finish()
    }
}

impl MethodKernel<'_> {
    /// Asserts the preconditions of every routine: operands of K limbs, scratch for the shape, and
    /// the modulus that the constants belong to.
    fn check(&self, z: usize, x: usize, y: usize, m: &Modulus<u64>, t: usize) {
        let k = self.numbers.k();
        assert!(k == m.k() && self.numbers.m[0] == m.m()[0], "the constants of another modulus");
        assert!(
            z == k && x == k && y == k,
            "z, x, y have {z}, {x}, {y} words; the modulus has {k}"
        );
        assert!(k.is_multiple_of(2), "an even number of limbs is needed, not {k}");
        // The method with the largest need has x*y, q and K + 2 columns. Another method needs x*y
        // and two more numbers.
        assert!(t >= m.scratch_words() && t >= 4 * k + 2, "a product needs {} words", 4 * k + 2);
    }
}

impl Exponentiate for MethodKernel<'_> {}

impl Kernel for MethodKernel<'_> {
    type Word = u64;

    fn name(self) -> &'static str {
        self.method.name()
    }

    fn square_name(self) -> &'static str {
        self.method.square_name()
    }

    #[inline]
    fn amm(self, z: &mut [u64], x: &[u64], y: &[u64], m: &Modulus<u64>, t: &mut [u64]) {
        self.check(z.len(), x.len(), y.len(), m, t.len());
        (self.routines[0])(z, [x, y], self.numbers, t);
    }

    #[inline]
    fn ams(self, z: &mut [u64], x: &[u64], m: &Modulus<u64>, t: &mut [u64]) {
        self.check(z.len(), x.len(), x.len(), m, t.len());
        (self.routines[1])(z, [x, x], self.numbers, t);
    }

    fn select(self, z: &mut [u64], table: &[u64], index: u64) {
        LimbKernel::Portable.select(z, table, index);
    }
}
