//! Points in Jacobian coordinates: fewer products, but not for all pairs of points.
//!
//! The formulas are those of Bernstein and Lange's "Explicit-Formulas Database" (dbl-2001-b and
//! add-1998-cmo-2, without the sums that replace products by squares).

use super::point::{Affine, Point};
use super::residue::Element;

/// A point x = X/Z^2, y = Y/Z^3 other than the neutral one.
#[derive(Clone, Copy)]
pub(crate) struct Jacobian {
    pub(crate) x: Element,
    pub(crate) y: Element,
    pub(crate) z: Element,
}

impl From<Affine> for Jacobian {
    fn from(Affine { x, y }: Affine) -> Self {
        Self { x, y, z: Element::ONE }
    }
}

impl From<Jacobian> for Point {
    fn from(Jacobian { x, y, z }: Jacobian) -> Self {
        Self::from_jacobian(x, y, z)
    }
}

impl Jacobian {
    #[inline(always)]
    pub(crate) fn doubled(&self) -> Self {
        let Self { x, y, z } = *self;
        let twice = |x: Element| x.add(&x);
        let (delta, gamma) = (z.square(), y.square());
        let beta4 = twice(twice(x.mul(&gamma)));
        let m = x.sub(&delta).mul(&x.add(&delta));
        let alpha = twice(m).add(&m);
        let x3 = alpha.square().sub(&twice(beta4));
        let gamma2 = twice(gamma);
        let y3 = alpha.mul(&beta4.sub(&x3)).sub(&twice(gamma2.square()));
        Self { x: x3, y: y3, z: twice(y.mul(&z)) }
    }

    /// The points are neither equal nor opposite.
    #[inline(always)]
    pub(crate) fn add(&self, q: &Self) -> Self {
        let (zz1, zz2) = (self.z.square(), q.z.square());
        let (u1, u2) = (self.x.mul(&zz2), q.x.mul(&zz1));
        let (s1, s2) = (self.y.mul(&zz2.mul(&q.z)), q.y.mul(&zz1.mul(&self.z)));
        let (h, r) = (u2.sub(&u1), s2.sub(&s1));
        let hh = h.square();
        let (hhh, v) = (h.mul(&hh), u1.mul(&hh));
        let x3 = r.square().sub(&hhh).sub(&v.add(&v));
        let y3 = r.mul(&v.sub(&x3)).sub(&s1.mul(&hhh));
        Self { x: x3, y: y3, z: self.z.mul(&q.z).mul(&h) }
    }

    /// Becomes `other` if `mask` is all ones.
    pub(crate) fn replace(&mut self, mask: u64, other: &Self) {
        self.x.replace(mask, &other.x);
        self.y.replace(mask, &other.y);
        self.z.replace(mask, &other.z);
    }
}
