// The field of 2^255 - 19 in each of 8 lanes. Radix 2^52, five digits.
//
// An element is below 2^255 + 2^220. Its digits 0 to 3 are dirty: only their low 52 bits count,
// and VPMADD52 reads no others. Digit 4 is below 2^47 + 2^12. Columns are sums that are not yet
// carried, below 2^60; additions and subtractions take columns, so that they need no carry of their
// own.
//
// Counts    product 59 madds, square 39 madds and 8 additions, both with 8 operations of the fold;
//           carry 1 madd and 10 operations.
// Time      constant: no branch or address depends on an element.
//! `field52_ifma`: elements of the field in lanes, for the kernels of X25519.

use core::arch::x86_64::*;

use crate::vectors::{
    BITS, MASK, V, all, digits, hi, joined, lo, multiply_add, permuted, square, vector,
};

/// Eight elements of the field.
#[derive(Clone, Copy)]
pub(crate) struct Element(pub(crate) [V; 5]);

/// Eight sums of products and elements, not carried.
#[derive(Clone, Copy)]
pub(crate) struct Columns(pub(crate) [V; 5]);

/// A multiple of p with digits near 2^58. Columns that start with it stay positive when smaller
/// columns are subtracted.
const BIAS: [u64; 5] = [
    0x40f_ffff_ffff_67ed,
    0x40f_ffff_ffff_ffbf,
    0x40f_ffff_ffff_ffbf,
    0x40f_ffff_ffff_ffbf,
    0x400_7fff_ffff_ffbf,
];

#[inline]
#[target_feature(enable = "avx512f")]
fn add(x: V, y: V) -> V {
    _mm512_add_epi64(x, y)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn sub(x: V, y: V) -> V {
    _mm512_sub_epi64(x, y)
}

/// Returns all ones in the lanes of the mask, else 0. Selections take such a vector and no mask,
/// because a masked operation with an operand in memory may take a time that depends on the mask.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
pub(crate) fn choice(mask: __mmask8) -> V {
    _mm512_movm_epi64(mask)
}

/// Returns the part of a digit that belongs to the next one.
#[inline]
#[target_feature(enable = "avx512f")]
fn above(x: V) -> V {
    _mm512_srli_epi64::<BITS>(x)
}

/// Does something for each digit, without an iterator.
macro_rules! each {
    ($i:ident => $digit:expr) => {
        [
            each!(@ $i 0 $digit),
            each!(@ $i 1 $digit),
            each!(@ $i 2 $digit),
            each!(@ $i 3 $digit),
            each!(@ $i 4 $digit),
        ]
    };
    (@ $i:ident $value:literal $digit:expr) => {{
        const $i: usize = $value;
        $digit
    }};
}
pub(crate) use each;

impl Columns {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn zero() -> Self {
        Self([all(0); 5])
    }

    /// A multiple of p: see [`BIAS`].
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn bias() -> Self {
        Self(each!(I => all(BIAS[I])))
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn plus(&self, y: &Self) -> Self {
        Self(each!(I => add(self.0[I], y.0[I])))
    }

    /// self contains the bias.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn minus(&self, y: &Self) -> Self {
        Self(each!(I => sub(self.0[I], y.0[I])))
    }

    /// Columns of self + 121665 e: (A + 2) / 4 in the doubling of the ladder.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn plus_121665(&self, e: &Element) -> Self {
        let (e, c) = (&e.0, all(121_665));
        let [mut z0, mut z1, mut z2, mut z3, mut z4] = self.0;
        z0 = lo(z0, e[0], c);
        z1 = hi(lo(z1, e[1], c), e[0], c);
        z2 = hi(lo(z2, e[2], c), e[1], c);
        z3 = hi(lo(z3, e[3], c), e[2], c);
        z4 = hi(lo(z4, e[4], c), e[3], c);
        let top = hi(all(0), e[4], c);
        Self([lo(z0, top, all(608)), z1, z2, z3, z4])
    }

    /// Adds the upper five columns: 2^260 = 608.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn folded(z: [V; 10]) -> Self {
        let c = all(608);
        let [mut z0, mut z1, mut z2, mut z3, mut z4, z5, mut z6, mut z7, mut z8, mut z9] = z;
        z0 = lo(z0, z5, c);
        z1 = hi(z1, z5, c);
        z6 = add(z6, above(z5));
        z1 = lo(z1, z6, c);
        z2 = hi(z2, z6, c);
        z7 = add(z7, above(z6));
        z2 = lo(z2, z7, c);
        z3 = hi(z3, z7, c);
        z8 = add(z8, above(z7));
        z3 = lo(z3, z8, c);
        z4 = hi(z4, z8, c);
        // digit 4 of both factors is below 2^47 + 2^12, so z9 < 2^42 + 2^9: 608 z9 has no high half
        z9 = add(z9, above(z8));
        z4 = lo(z4, z9, c);
        Self([z0, z1, z2, z3, z4])
    }

    /// Carries: first the bits from 2^255 on, which are 19 times as many units, then once upwards.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn carried(&self) -> Element {
        let [mut z0, mut z1, mut z2, mut z3, mut z4] = self.0;
        let top = _mm512_srli_epi64::<47>(z4);
        z4 = _mm512_and_si512(z4, all(MASK >> 5));
        z0 = lo(z0, top, all(19));
        z1 = add(z1, above(z0));
        z2 = add(z2, above(z1));
        z3 = add(z3, above(z2));
        z4 = add(z4, above(z3));
        Element([z0, z1, z2, z3, z4])
    }
}

impl Element {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn zero() -> Self {
        Self([all(0); 5])
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn one() -> Self {
        Self([all(1), all(0), all(0), all(0), all(0)])
    }

    /// Columns of start + self y.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn times(&self, y: &Self, start: Columns) -> Columns {
        let mut z = [all(0); 10];
        (z[0], z[1], z[2], z[3], z[4]) =
            (start.0[0], start.0[1], start.0[2], start.0[3], start.0[4]);
        Columns::folded(multiply_add(z, &self.0, &y.0))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn product(&self, y: &Self) -> Self {
        self.times(y, Columns::zero()).carried()
    }

    /// Columns of self^2.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn squared(&self) -> Columns {
        Columns::folded(square(&self.0))
    }

    /// The same element as columns, with clean digits.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn columns(&self) -> Columns {
        let [z0, z1, z2, z3, z4] = self.0;
        let clean = |z| _mm512_and_si512(z, all(MASK));
        Columns([clean(z0), clean(z1), clean(z2), clean(z3), z4])
    }

    /// Returns y in the lanes where `choice` is all ones, and self where it is 0.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn or(&self, choice: V, y: &Self) -> Self {
        Self(each!(I => _mm512_ternarylogic_epi64::<0xCA>(choice, y.0[I], self.0[I])))
    }

    /// Returns the digits of the least residue, clean.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn least(&self) -> Self {
        let mut v = self.columns().0;
        // an element is below 2p; the second pass moves no bits, but makes the digits least
        for _ in 0..2 {
            // 1 if v >= p: then v + 19 reaches bit 255
            let mut over = all(19);
            for k in 0..4 {
                over = above(add(v[k], over));
            }
            over = _mm512_srli_epi64::<47>(add(v[4], over));
            v[0] = lo(v[0], over, all(19));
            for k in 0..4 {
                v[k + 1] = add(v[k + 1], above(v[k]));
                v[k] = _mm512_and_si512(v[k], all(MASK));
            }
            v[4] = _mm512_and_si512(v[4], all(MASK >> 5));
        }
        Self(v)
    }

    /// Returns all ones in the lanes that are 0. self is least.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    pub(crate) fn zeros(&self) -> V {
        let [z0, z1, z2, z3, z4] = self.0;
        let low = _mm512_or_si512(_mm512_or_si512(z0, z1), _mm512_or_si512(z2, z3));
        let any = _mm512_or_si512(low, z4);
        choice(_mm512_testn_epi64_mask(any, any))
    }

    /// Lane l takes lane `from[l]`.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn permuted(&self, from: V) -> Self {
        Self(permuted(&self.0, from))
    }
}

/// Reads eight numbers below 2^256: word i of all lanes in `x[i]`. Bit 255 counts 19.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn element(x: &[[u64; 8]; 4]) -> Element {
    Columns(digits(x.map(vector))).carried()
}

/// Reads the same number into all lanes.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn everywhere(x: &[u64; 4]) -> Element {
    Columns(digits([all(x[0]), all(x[1]), all(x[2]), all(x[3])])).carried()
}

/// Returns the words of the least residues: word i of all lanes in entry i.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn least_words(x: &Element) -> [[u64; 8]; 4] {
    joined(x.least().0)
}
