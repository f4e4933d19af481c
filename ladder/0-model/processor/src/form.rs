//! The fewest multiply instructions of a Montgomery product or square, in each form.

use core::iter::Sum;
use core::ops::{Add, Mul};

/// A family of kernels: the representation of numbers, and the instruction that multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// One number in digits of 52 bits that are spread over eight lanes, with VPMADD52 on 512-bit
    /// registers. An instruction computes eight half products of this number. At best, all eight
    /// are used.
    Blocks52,
    /// Eight numbers side by side in digits of 52 bits, with VPMADD52 on 512-bit registers. A
    /// product of two digits takes two instructions, one for the low half and one for the high
    /// half. Each instruction works on eight numbers. Fold rows reduce: the digits themselves are
    /// the quotient digits, except the last one.
    Madd52,
    /// [`Madd52`](Self::Madd52) with one level of Karatsuba before the reduction, at the sizes
    /// whose kernels use it: 30 and 40 digits, and shorter numbers if padding reduces the work. At
    /// other sizes it is [`Madd52`](Self::Madd52).
    Karatsuba52,
    /// Eight numbers side by side in digits of 52 bits, with VPMULUDQ on 256-bit registers. Each
    /// digit is split into two halves of 26 bits. A product of two digits takes three products: one
    /// of the low halves, one of the high halves, and one of the sums of the halves. Each
    /// instruction works on four numbers. Fold rows reduce.
    Halves52,
    /// [`Halves52`](Self::Halves52) on 512-bit registers. Each instruction works on eight numbers.
    WideHalves52,
    /// [`Madd52`](Self::Madd52) on 256-bit registers. Each instruction works on four numbers.
    NarrowMadd52,
    /// One number in limbs of 64 bits, with MUL, ADD and ADC.
    Mul,
    /// Eight numbers side by side in digits of 52 bits, with one MUL per product of two digits.
    /// This is the form of lanes on a machine without vectors.
    Mul52,
    /// One number in limbs of 64 bits, with MULX, ADCX and ADOX.
    Mulx,
}

/// A number of multiply instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Count(pub u64);

impl Count {
    /// Returns the count as a number; exact below 2^53, which no operation on 8192 bits reaches.
    #[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    pub const fn get(self) -> f64 {
        self.0 as f64
    }
}

impl Add for Count {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Mul<u32> for Count {
    type Output = Self;
    fn mul(self, times: u32) -> Self {
        Self(self.0 * u64::from(times))
    }
}

impl Sum for Count {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        Self(counts.map(|count| count.0).sum())
    }
}

impl Form {
    /// Every form.
    pub const ALL: [Self; 9] = [
        Self::Blocks52,
        Self::Madd52,
        Self::Karatsuba52,
        Self::Halves52,
        Self::WideHalves52,
        Self::NarrowMadd52,
        Self::Mul,
        Self::Mul52,
        Self::Mulx,
    ];

    /// Returns the minimum number of words for `bits` bits. Digits keep 6 bits free, so that
    /// results need no final reduction. Kernels may round this number up to whole tiles.
    pub const fn words(self, bits: u32) -> u32 {
        match self {
            Self::Blocks52
            | Self::Madd52
            | Self::Karatsuba52
            | Self::Halves52
            | Self::WideHalves52
            | Self::NarrowMadd52
            | Self::Mul52 => bits.saturating_add(6).div_ceil(52),
            Self::Mul | Self::Mulx => bits.div_ceil(64),
        }
    }

    /// Returns the number of numbers that one call computes.
    pub const fn lanes(self) -> u32 {
        match self {
            Self::Madd52
            | Self::Karatsuba52
            | Self::Halves52
            | Self::WideHalves52
            | Self::NarrowMadd52
            | Self::Mul52 => 8,
            Self::Blocks52 | Self::Mul | Self::Mulx => 1,
        }
    }

    /// Returns the multiply instructions of one Montgomery product of `k` words (digits or limbs):
    /// `k^2` for the product, `k^2` for the reduction, and one per word for the quotient digit.
    ///
    /// * VPMADD52: `4k^2 + 1`, because the last quotient digit needs a low half only; on 256-bit
    ///   registers twice as many.
    /// * VPMADD52 in blocks: `4k^2 / 8 + 1`.
    /// * VPMADD52 by Karatsuba, with h = k/2: `6h^2 + 2k^2 + 1`; at 40 words `6h^2 + 6.5h^2 + 2k +
    ///   1`.
    /// * VPMULUDQ: `12k^2 + 6`, on 512-bit registers half as many.
    /// * MUL and MULX: `2k^2 + k` for each number.
    pub fn product(self, k: u32) -> Count {
        let k = u64::from(k);
        let halved = self.halves(k).map(|half| self.call(3 * half * half + folded(half), 2 * half));
        halved.fold(self.call(2 * k * k, k), Count::min)
    }

    /// Returns the half sizes of the Karatsuba kernels that hold `k` words.
    fn halves(self, k: u64) -> impl Iterator<Item = u64> {
        let halves: &[u64] = if self == Self::Karatsuba52 { &[15, 20] } else { &[] };
        halves.iter().copied().filter(move |half| k <= 2 * half)
    }

    /// Returns the multiply instructions of one Montgomery square of `k` words. Each product of
    /// different words is computed once; the reduction is the same as in a product.
    ///
    /// * VPMADD52: `k(k+1) + 2k^2 + 1`, on 256-bit registers twice as many.
    /// * VPMADD52 in blocks: as a product.
    /// * VPMADD52 by Karatsuba, with h = k/2: `3h(h+1)` and the same reduction.
    /// * VPMULUDQ: `3k(k+1) + 6k^2 + 6`, on 512-bit registers half as many.
    /// * MUL and MULX: `k(k+1)/2 + k^2 + k` for each number.
    pub fn square(self, k: u32) -> Count {
        if self == Self::Blocks52 {
            return self.product(k);
        }
        let k = u64::from(k);
        let by_halves = |half| self.call(3 * half * (half + 1) / 2 + folded(half), 2 * half);
        let halved = self.halves(k).map(by_halves);
        halved.fold(self.call(k * (k + 1) / 2 + k * k, k), Count::min)
    }

    /// Returns the multiply instructions of one product of `k` by `k` words without reduction.
    pub fn plain_product(self, k: u32) -> Count {
        let k = u64::from(k);
        self.call(k * k, 0)
    }

    /// Returns the multiply instructions of a call with `full` multiplications of two words, and
    /// `low` more that need only the low half of the result.
    fn call(self, full: u64, low: u64) -> Count {
        Count(match self {
            Self::Blocks52 => (2 * full).div_ceil(8) + low.min(1),
            Self::Madd52 | Self::Karatsuba52 => 2 * full + low.min(1),
            Self::NarrowMadd52 => 2 * (2 * full + low.min(1)),
            Self::Halves52 => 6 * (full + low.min(1)),
            Self::WideHalves52 => 3 * (full + low.min(1)),
            Self::Mul | Self::Mulx => full + low,
            Self::Mul52 => u64::from(self.lanes()) * (full + low),
        })
    }
}

/// Returns the number of multiplications of two words in a reduction of 2 `half` words by rows. If
/// `half` is 20, the reduction instead takes three products of blocks by halves (3 * 3 * 10^2), 20
/// rows of 20, and the last row.
fn folded(half: u64) -> u64 {
    if half == 20 { 9 * half * half / 4 + half * half + 2 * half } else { 4 * half * half }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vector_counts_are_the_published_formulas() {
        for n in [1, 10, 20, 30, 40, 160] {
            let wide = u64::from(n);
            assert_eq!(Form::Madd52.product(n).0, 4 * wide * wide + 1);
            assert_eq!(Form::Madd52.square(n).0, wide * (wide + 1) + 2 * wide * wide + 1);
        }
        assert_eq!(Form::NarrowMadd52.product(20), Form::Madd52.product(20) * 2);
        assert_eq!(Form::NarrowMadd52.square(20), Form::Madd52.square(20) * 2);
        // crypto_mb's unrolled product of 20 digits has 19 more: a multiplication for each of 20
        // quotients.
        assert_eq!(Form::Madd52.product(20), Count(1620 - 19));
        assert_eq!(Form::Madd52.square(20), Count(1240 - 19));
        // Two primes of 1024 bits share 400 instructions, and each has its own last quotient digit.
        assert_eq!(Form::Blocks52.product(20), Count(200 + 1));
    }

    #[test]
    fn karatsuba_takes_three_products_of_halves() {
        // Six products of halves (15^2 and 20^2 words); the schoolbook method takes eight.
        assert_eq!(Form::Karatsuba52.product(30), Count(1350 + 1800 + 1));
        assert_eq!(Form::Karatsuba52.product(40), Count(2400 + 1800 + 800 + 80 + 1));
        // Three squares of 15 words (15 * 16 instructions each), or of 20 words (20 * 21).
        assert_eq!(Form::Karatsuba52.square(30), Count(720 + 1800 + 1));
        assert_eq!(Form::Karatsuba52.square(40), Count(1260 + 2680 + 1));
        for k in [10, 20, 60, 80] {
            assert_eq!(Form::Karatsuba52.product(k), Form::Madd52.product(k));
            assert_eq!(Form::Karatsuba52.square(k), Form::Madd52.square(k));
        }
    }

    #[test]
    fn limb_counts_are_half_as_many_and_lanes_eight_times() {
        assert_eq!(Form::Mulx.product(16), Count(528)); // 2 * 256 + 16
        assert_eq!(Form::Mulx.square(16), Count(408)); // 136 + 256 + 16
        assert_eq!(Form::Mul.product(16), Form::Mulx.product(16));
        assert_eq!(Form::Mul52.product(20), Count(8 * (800 + 20)));
        assert_eq!(Form::Halves52.product(20), Count(2 * 3 * (800 + 1)));
        assert_eq!(Form::Halves52.square(20), Count(2 * 3 * (210 + 400 + 1)));
        assert_eq!(Form::WideHalves52.product(20), Count(3 * (800 + 1)));
        assert_eq!(Form::WideHalves52.square(20), Count(3 * (210 + 400 + 1)));
        assert_eq!(Form::Mul52.plain_product(20), Count(8 * 400));
    }

    #[test]
    fn words_of_the_usual_sizes() {
        for (bits, digits, limbs) in [(512, 10, 8), (1024, 20, 16), (1536, 30, 24), (2048, 40, 32)]
        {
            assert_eq!((Form::Madd52.words(bits), Form::Mulx.words(bits)), (digits, limbs));
        }
        assert_eq!(Form::Madd52.words(1034), 20);
        assert_eq!(Form::Madd52.words(1035), 21); // 20 digits would leave fewer than 6 bits free
    }

    #[test]
    fn a_square_never_costs_more_than_a_product() {
        for form in Form::ALL {
            for k in 1..=160 {
                assert!(form.square(k) <= form.product(k));
                assert!(form.plain_product(k) <= form.product(k));
            }
        }
    }
}
