// Additions of points in each of 8 lanes, on the curve of `edwards`.
//
// Counts    an addend 7 products, a point 9; no doublings.
// Time      constant: no branch or address depends on a point.
//! `edwards52_ifma`: points in lanes, for the kernels that generate keys.

use super::field52_ifma::{Columns, Element, each};
use crate::vectors::V;

/// Eight points: see [`crate::edwards::Point`].
#[derive(Clone, Copy)]
pub(crate) struct Point {
    pub(crate) minus: Element,
    pub(crate) plus: Element,
    pub(crate) z: Element,
    pub(crate) t: Element,
}

/// Eight addends: see [`crate::edwards::Addend`].
#[derive(Clone, Copy)]
pub(crate) struct Addend {
    pub(crate) minus: Element,
    pub(crate) plus: Element,
    pub(crate) dxy2: Element,
}

impl Addend {
    /// Returns the point, or its negative where `negative` is all ones. The third part of self is
    /// 2 x y: X = 2 x, Y = 2 y, Z = 2, T = 2 x y.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn doubled(&self, negative: V) -> Point {
        let two = |x: &Element| x.columns().plus(&x.columns()).carried();
        let t = Columns::bias().minus(&self.dxy2.columns()).carried();
        Point {
            minus: two(&self.minus.or(negative, &self.plus)),
            plus: two(&self.plus.or(negative, &self.minus)),
            z: two(&Element::one()),
            t: self.dxy2.or(negative, &t),
        }
    }

    /// Applies f to each digit of self and other.
    #[inline(always)]
    pub(crate) fn zip(&self, other: &Self, f: impl Fn(V, V) -> V) -> Self {
        let zip = |x: &Element, y: &Element| Element(each!(I => f(x.0[I], y.0[I])));
        Self {
            minus: zip(&self.minus, &other.minus),
            plus: zip(&self.plus, &other.plus),
            dxy2: zip(&self.dxy2, &other.dxy2),
        }
    }
}

impl Point {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn neutral() -> Self {
        let one = Element::one();
        Self { minus: one, plus: one, z: one, t: Element::zero() }
    }

    /// Adds q where `negative` is 0, and subtracts it where it is all ones. `KERNEL` makes a copy
    /// for each kernel, which LLVM inlines because it has one caller: 6 % of the time.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn plus_addend<const KERNEL: u8>(&self, q: &Addend, negative: V) -> Self {
        let a = self.minus.times(&q.minus.or(negative, &q.plus), Columns::zero());
        let b = self.plus.times(&q.plus.or(negative, &q.minus), Columns::bias());
        let c = self.t.product(&q.dxy2).columns();
        let z = self.z.columns();
        let (f, g) = (z.plus(&z).plus(&Columns::bias()).minus(&c), z.plus(&z).plus(&c));
        let (f, g) = (f.carried(), g.carried());
        Self::sum::<KERNEL>(&a, &b, &f.or(negative, &g), &g.or(negative, &f))
    }

    /// Adds a point. d2 = 2 d in all lanes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn plus_point(&self, q: &Self, d2: &Element) -> Self {
        let a = self.minus.times(&q.minus, Columns::zero());
        let b = self.plus.times(&q.plus, Columns::bias());
        let c = self.t.product(d2).product(&q.t).columns();
        let z = self.z.product(&q.z).columns();
        let (f, g) = (z.plus(&z).plus(&Columns::bias()).minus(&c), z.plus(&z).plus(&c));
        Self::sum::<0>(&a, &b, &f.carried(), &g.carried())
    }

    /// The second half of an addition, with the letters of [`edwards`]. b contains the bias.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn sum<const KERNEL: u8>(a: &Columns, b: &Columns, f: &Element, g: &Element) -> Self {
        let (e, h) = (b.minus(a).carried(), b.plus(a).carried());
        let (x, y) = (e.times(f, Columns::zero()), g.times(&h, Columns::bias()));
        Self {
            minus: y.minus(&x).carried(),
            plus: y.plus(&x).carried(),
            z: f.product(g),
            t: e.product(&h),
        }
    }

    /// Lane l takes lane `from[l]`.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn permuted(&self, from: V) -> Self {
        Self {
            minus: self.minus.permuted(from),
            plus: self.plus.permuted(from),
            z: self.z.permuted(from),
            t: self.t.permuted(from),
        }
    }

    /// u of the same points on the curve of X25519, as a quotient: (Z + Y) / (Z - Y), both doubled.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn u(&self) -> (Element, Element) {
        let (y, z) = (self.minus.columns().plus(&self.plus.columns()), self.z.columns());
        let z = z.plus(&z);
        (z.plus(&y).carried(), z.plus(&Columns::bias()).minus(&y).carried())
    }
}
