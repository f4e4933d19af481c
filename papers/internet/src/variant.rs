//! A variant by name: its routines, its counts, the address of its code, and its kernel.

use tollgate_mont::{Exponentiate, Kernel, LimbKernel, Modulus};

use crate::methods::{cios, fios, fips, fold, karatsuba, single_step, sos};
use crate::numbers::Numbers;

/// A method for a Montgomery product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Separated operand scanning: schoolbook product, then a row of reduction per limb.
    Sos,
    /// Coarsely integrated operand scanning: rows of product and of reduction in turn.
    Cios,
    /// Finely integrated operand scanning: product and reduction in one loop.
    Fios,
    /// Finely integrated product scanning: column by column.
    Fips,
    /// SOS with one level of Karatsuba in the product.
    Karatsuba,
    /// Schoolbook product, then fold rows, which need no quotient digits.
    Fold,
    /// Schoolbook product, then the whole quotient at once.
    SingleStep,
}

/// The number of products in the body of an innermost loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unroll {
    /// Rolled.
    One,
    /// Two.
    Two,
    /// Four.
    Four,
    /// Eight.
    Eight,
}

/// A method and its unrolling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Variant {
    /// The method.
    pub method: Method,
    /// Products in the body of an innermost loop.
    pub unroll: Unroll,
}

/// A call of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// x * y / R.
    Product,
    /// x^2 / R.
    Square,
}

type Routine = fn(&mut [u64], [&[u64]; 2], &Numbers, &mut [u64]);
type Half = fn(&mut [u64], [&[u64]; 2]);

/// The routines of a variant: of a product, then of a square.
struct Routines {
    entries: [Routine; 2],
    /// The separate functions that these routines call, if there are any.
    halves: Option<[Half; 2]>,
}

impl Method {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 7] = [
        Self::Sos,
        Self::Cios,
        Self::Fios,
        Self::Fips,
        Self::Karatsuba,
        Self::Fold,
        Self::SingleStep,
    ];

    /// Returns the name of the product in records, such as `amm64_cios`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sos => "amm64_sos",
            Self::Cios => "amm64_cios",
            Self::Fios => "amm64_fios",
            Self::Fips => "amm64_fips",
            Self::Karatsuba => "amm64_karatsuba",
            Self::Fold => "amm64_fold",
            Self::SingleStep => "amm64_single_step",
        }
    }

    /// Returns the name of the square. If the method has no formula for squares, this is the name
    /// of the product. A method whose rows of product and of reduction alternate has no such
    /// formula.
    pub const fn square_name(self) -> &'static str {
        match self {
            Self::Sos => "ams64_sos",
            Self::Cios | Self::Fios => self.name(),
            Self::Fips => "ams64_fips",
            Self::Karatsuba => "ams64_karatsuba",
            Self::Fold => "ams64_fold",
            Self::SingleStep => "ams64_single_step",
        }
    }

    /// Returns `true` if squares have a separate formula.
    pub const fn squares(self) -> bool {
        !matches!(self, Self::Cios | Self::Fios)
    }

    /// Returns the number of multiplications of two limbs in a call on K limbs, K even.
    pub const fn multiplications(self, call: Call, k: usize) -> usize {
        let (whole, half) = (k * k, k * (k + 1) / 2);
        let x_y = match (self, call) {
            (Self::Cios | Self::Fios, _) | (_, Call::Product) => whole,
            (_, Call::Square) => half,
        };
        match (self, call) {
            (Self::Sos | Self::Cios | Self::Fips, _) => x_y + whole + k,
            (Self::Fios, _) => x_y + whole + 2 * k,
            (Self::Karatsuba, Call::Product) => 3 * (k / 2) * (k / 2) + whole + k,
            (Self::Karatsuba, Call::Square) => 3 * (k / 2) * (k / 2 + 1) / 2 + whole + k,
            (Self::Fold, _) => x_y + whole + 1,
            (Self::SingleStep, _) => x_y + half + (k - 1) * (k + 2) / 2 + k,
        }
    }

    fn routines<const U: usize>(self) -> Routines {
        let entries: [Routine; 2] = match self {
            Self::Sos => [sos::amm::<U, false>, sos::amm::<U, true>],
            Self::Cios => [cios::amm::<U>; 2],
            Self::Fios => [fios::amm::<U>; 2],
            Self::Fips => [fips::amm::<U, false>, fips::amm::<U, true>],
            Self::Karatsuba => [karatsuba::amm::<U, false>, karatsuba::amm::<U, true>],
            Self::Fold => [fold::amm::<U, false>, fold::amm::<U, true>],
            Self::SingleStep => [single_step::amm::<U, false>, single_step::amm::<U, true>],
        };
        let halves: [Half; 2] = [karatsuba::half::<U, false>, karatsuba::half::<U, true>];
        Routines { entries, halves: matches!(self, Self::Karatsuba).then_some(halves) }
    }
}

impl Unroll {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::One, Self::Two, Self::Four, Self::Eight];

    /// Returns the number of products.
    pub const fn products(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Four => 4,
            Self::Eight => 8,
        }
    }
}

impl Variant {
    fn routines(self) -> Routines {
        match self.unroll {
            Unroll::One => self.method.routines::<1>(),
            Unroll::Two => self.method.routines::<2>(),
            Unroll::Four => self.method.routines::<4>(),
            Unroll::Eight => self.method.routines::<8>(),
        }
    }

    /// Returns the addresses of the functions that run in a call; together they are all of its
    /// code.
    pub fn code(self, call: Call) -> Vec<usize> {
        let Routines { entries, halves } = self.routines();
        let own = halves.map(|halves| halves[call as usize] as usize);
        core::iter::once(entries[call as usize] as usize).chain(own).collect()
    }

    /// Returns the kernel for one modulus.
    pub fn kernel(self, numbers: &Numbers) -> VariantKernel<'_> {
        VariantKernel { method: self.method, entries: self.routines().entries, numbers }
    }
}

/// A variant as a kernel, bound to one modulus, since it needs constants that a [`Modulus`] lacks.
#[derive(Clone, Copy)]
pub struct VariantKernel<'m> {
    method: Method,
    entries: [Routine; 2],
    numbers: &'m Numbers,
}

impl core::fmt::Debug for VariantKernel<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("VariantKernel").field(&self.method).finish()
    }
}

impl VariantKernel<'_> {
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
        // The variant with the largest need has x*y, q and K + 2 columns. Another variant needs x*y
        // and two more numbers.
        assert!(t >= m.scratch_words() && t >= 4 * k + 2, "a product needs {} words", 4 * k + 2);
    }
}

impl Exponentiate for VariantKernel<'_> {}

impl Kernel for VariantKernel<'_> {
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
        (self.entries[0])(z, [x, y], self.numbers, t);
    }

    #[inline]
    fn ams(self, z: &mut [u64], x: &[u64], m: &Modulus<u64>, t: &mut [u64]) {
        self.check(z.len(), x.len(), x.len(), m, t.len());
        (self.entries[1])(z, [x, x], self.numbers, t);
    }

    fn select(self, z: &mut [u64], table: &[u64], index: u64) {
        LimbKernel::Portable.select(z, table, index);
    }
}

#[cfg(test)]
mod tests {

    use tollgate_mont::Shape;

    use super::*;
    use crate::limbs::counted;

    #[test]
    fn multiplications_are_as_many_as_declared() {
        for bits in [128, 256, 512, 768, 1024] {
            let m = Modulus::<u64>::new(&vec![u64::MAX; bits / 64], Shape::limbs(bits)).unwrap();
            let (k, numbers) = (m.k(), Numbers::of(&m));
            let (x, mut z, mut t) = (vec![3; k], vec![0; k], vec![0; m.scratch_words()]);
            for method in Method::ALL {
                for unroll in Unroll::ALL {
                    let kernel = Variant { method, unroll }.kernel(&numbers);
                    let product = counted::during(|| kernel.amm(&mut z, &x, &x, &m, &mut t));
                    let square = counted::during(|| kernel.ams(&mut z, &x, &m, &mut t));
                    let declared = |call| method.multiplications(call, k);
                    assert_eq!(product, declared(Call::Product), "{method:?} {unroll:?} K={k}");
                    assert_eq!(square, declared(Call::Square), "{method:?} {unroll:?} K={k}");
                }
            }
        }
    }

    #[test]
    fn every_call_has_code_of_its_own() {
        let mut places = Vec::new();
        for method in Method::ALL {
            for unroll in Unroll::ALL {
                let variant = Variant { method, unroll };
                places.extend(variant.code(Call::Product));
                if method.squares() {
                    places.extend(variant.code(Call::Square));
                } else {
                    assert_eq!(variant.code(Call::Square), variant.code(Call::Product));
                }
            }
        }
        let all = places.len();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), all, "two calls share a function");
    }
}
