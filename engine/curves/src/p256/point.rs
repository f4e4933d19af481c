//! Points of the curve y^2 = x^3 - 3x + b, with formulas that hold for all pairs of points.
//!
//! Renes, Costello, Batina, "Complete addition formulas for prime order elliptic curves" (2015),
//! algorithms 4 and 6, with the names of their partial results shortened.

use tollgate_cpu::memcheck;

use crate::residue::{Element, Limbs, N, P, Prime as _, Scalar, subtracted};

/// The coefficient b and the base point G (SP 800-186, section 3.2.1.3).
const B: Limbs =
    [0x3bce_3c3e_27d2_604b, 0x651d_06b0_cc53_b0f6, 0xb3eb_bd55_7698_86bc, 0x5ac6_35d8_aa3a_93e7];
const BASE_X: Limbs =
    [0xf4a1_3945_d898_c296, 0x7703_7d81_2deb_33a0, 0xf8bc_e6e5_63a4_40f2, 0x6b17_d1f2_e12c_4247];
const BASE_Y: Limbs =
    [0xcbb6_4068_37bf_51f5, 0x2bce_3357_6b31_5ece, 0x8ee7_eb4a_7c0f_9e16, 0x4fe3_42e2_fe1a_7f9b];

/// A point other than the neutral one.
#[derive(Clone, Copy)]
pub(crate) struct Affine {
    pub(crate) x: Element,
    pub(crate) y: Element,
}

/// A point in homogeneous coordinates: x = X/Z, y = Y/Z; Z = 0 for the neutral point.
#[derive(Clone, Copy)]
pub(crate) struct Point {
    pub(crate) x: Element,
    pub(crate) y: Element,
    pub(crate) z: Element,
}

impl Affine {
    pub(crate) fn base() -> Self {
        Self { x: Element::new(&BASE_X), y: Element::new(&BASE_Y) }
    }

    /// Returns the point with these coordinates if it is on the curve.
    pub(crate) fn on_curve(x: Element, y: Element) -> Option<Self> {
        let three = Element::ONE.add(&Element::ONE).add(&Element::ONE);
        let right = x.square().sub(&three).mul(&x).add(&Element::new(&B));
        y.square().is_vartime(&right).then_some(Self { x, y })
    }
}

impl From<Affine> for Point {
    fn from(Affine { x, y }: Affine) -> Self {
        Self { x, y, z: Element::ONE }
    }
}

/// Takes x and y.
impl From<[Element; 2]> for Point {
    fn from([x, y]: [Element; 2]) -> Self {
        Self { x, y, z: Element::ONE }
    }
}

fn triple(x: Element) -> Element {
    x.add(&x).add(&x)
}

impl Point {
    /// Takes a point x = X/Z^2, y = Y/Z^3.
    pub(crate) fn from_jacobian([x, y, z]: [Element; 3]) -> Self {
        Self { x: x.mul(&z), y, z: z.square().mul(&z) }
    }

    /// Algorithm 4.
    pub(crate) fn add(&self, q: &Self) -> Self {
        let (xx, yy, zz) = (self.x.mul(&q.x), self.y.mul(&q.y), self.z.mul(&q.z));
        let xy = self.x.add(&self.y).mul(&q.x.add(&q.y)).sub(&xx.add(&yy));
        let yz = self.y.add(&self.z).mul(&q.y.add(&q.z)).sub(&yy.add(&zz));
        let xz = self.x.add(&self.z).mul(&q.x.add(&q.z)).sub(&xx.add(&zz));
        let b = Element::new(&B);
        let u = triple(xz.sub(&b.mul(&zz)));
        let (minus, plus) = (yy.sub(&u), yy.add(&u));
        let zz3 = triple(zz);
        let v = triple(b.mul(&xz).sub(&zz3.add(&xx)));
        let w = triple(xx).sub(&zz3);
        Self {
            x: plus.mul(&xy).sub(&yz.mul(&v)),
            y: plus.mul(&minus).add(&w.mul(&v)),
            z: minus.mul(&yz).add(&xy.mul(&w)),
        }
    }

    /// Algorithm 6.
    pub(crate) fn doubled(&self) -> Self {
        let b = Element::new(&B);
        let (xx, yy, zz) = (self.x.square(), self.y.square(), self.z.square());
        let twice = |x: Element| x.add(&x);
        let (xy, xz) = (twice(self.x.mul(&self.y)), twice(self.x.mul(&self.z)));
        let yz = twice(self.y.mul(&self.z));
        let u = triple(b.mul(&zz).sub(&xz));
        let (minus, plus) = (yy.sub(&u), yy.add(&u));
        let zz3 = triple(zz);
        let v = triple(b.mul(&xz).sub(&zz3.add(&xx)));
        let w = triple(xx).sub(&zz3);
        Self {
            x: minus.mul(&xy).sub(&v.mul(&yz)),
            y: plus.mul(&minus).add(&w.mul(&v)),
            z: twice(twice(yz.mul(&yy))),
        }
    }

    /// Returns u G + v P, bit by bit. Variable time.
    pub(crate) fn sum_vartime(u: &Scalar, v: &Scalar, p: &Self) -> Self {
        let (u, v, g) = (u.number(), v.number(), Self::from(Affine::base()));
        let g_plus_p = g.add(p);
        let neutral = Self { x: Element::ZERO, y: Element::ONE, z: Element::ZERO };
        (0..256).rev().fold(neutral, |sum, i| {
            let bit = |x: &Limbs| x[i / 64] >> (i % 64) & 1 == 1;
            let sum = sum.doubled();
            match (bit(&u), bit(&v)) {
                (false, false) => sum,
                (true, false) => sum.add(&g),
                (false, true) => sum.add(p),
                (true, true) => sum.add(&g_plus_p),
            }
        })
    }

    /// Returns the affine coordinates; zeros for the neutral point.
    pub(crate) fn affine(&self) -> Affine {
        self.scaled(self.z.inverted())
    }

    /// Returns the affine coordinates and 1/k.
    pub(crate) fn affine_beside(&self, k: &Scalar) -> (Affine, Scalar) {
        let (z, k) = self.z.inverted_beside(k);
        (self.scaled(z), k)
    }

    /// Returns the affine coordinates of many points, with a single inversion.
    pub(crate) fn all_affine(points: &[Self]) -> Vec<Affine> {
        let mut inverses: Vec<Element> = points.iter().map(|point| point.z).collect();
        Element::invert_all(&mut inverses, &mut vec![Element::ZERO; points.len()]);
        points.iter().zip(inverses).map(|(point, inverse)| point.scaled(inverse)).collect()
    }

    fn scaled(&self, inverse: Element) -> Affine {
        Affine { x: self.x.mul(&inverse), y: self.y.mul(&inverse) }
    }

    /// Returns whether both are the same point, and not the neutral one. Constant time.
    pub(crate) fn is(&self, other: &Self) -> bool {
        let same_x = self.x.mul(&other.z).equals(&other.x.mul(&self.z));
        let same_y = self.y.mul(&other.z).equals(&other.y.mul(&self.z));
        let neutral = self.z.is_zero() | other.z.is_zero();
        memcheck::declassified(same_x & same_y & !neutral) != 0
    }

    /// Returns whether x of the point, as a number mod n, is `r`. Variable time.
    pub(crate) fn has_x_vartime(&self, r: &Limbs) -> bool {
        let is_x = |x: Element| x.mul(&self.z).is_vartime(&self.x);
        let x = Element::new(r);
        let second = x.add(&Element::new(&N::M));
        self.z.is_zero() == 0 && (is_x(x) || has_second_x(r) && is_x(second))
    }
}

/// Returns whether not only r, but also r + n is below p, so that either may be an x. Variable
/// time.
pub(crate) fn has_second_x(r: &Limbs) -> bool {
    const P_MINUS_N: Limbs = subtracted(&P::M, &N::M).0;
    r.iter().rev().lt(P_MINUS_N.iter().rev())
}
