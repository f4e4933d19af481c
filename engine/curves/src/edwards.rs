//! The curve -x^2 + y^2 = 1 + d x^2 y^2 (RFC 8032, section 5.1), and the multiples of its base
//! point that key generation adds.
//!
//! The curve of X25519 is the same curve in other coordinates: u = (1 + y) / (1 - y), and the base
//! point has u = 9 (RFC 7748, section 4.1). On this form an addition of a known point takes seven
//! products, and its formula holds for all pairs of points.

use std::sync::OnceLock;

use crate::field51::Element;

/// x of the base point, little end first (RFC 8032, section 5.1). y is 4/5.
const BASE_X: [u8; 32] = [
    0x1a, 0xd5, 0x25, 0x8f, 0x60, 0x2d, 0x56, 0xc9, 0xb2, 0xa7, 0x25, 0x95, 0x60, 0xc7, 0x2c,
    0x69, //
    0x5c, 0xdc, 0xd6, 0xfd, 0x31, 0xe2, 0xa4, 0xc0, 0xfe, 0x53, 0x6e, 0xcd, 0xd3, 0x36, 0x69, 0x21,
];

/// A point in extended coordinates: x = X/Z, y = Y/Z, x y = T/Z. X and Y are kept as their
/// difference and sum, which every addition needs.
#[derive(Clone, Copy)]
pub(crate) struct Point {
    /// Y - X.
    pub(crate) minus: Element,
    /// Y + X.
    pub(crate) plus: Element,
    pub(crate) z: Element,
    pub(crate) t: Element,
}

/// A point with Z = 1 to add: y - x, y + x, 2 d x y.
#[derive(Clone, Copy)]
pub(crate) struct Addend {
    pub(crate) minus: Element,
    pub(crate) plus: Element,
    pub(crate) dxy2: Element,
}

impl Addend {
    /// The neutral point.
    pub(crate) const NEUTRAL: Self =
        Self { minus: Element::ONE, plus: Element::ONE, dxy2: Element::ZERO };

    /// Divides the third part by d: with Z = 2, the parts of 2 x, 2 y, T = 2 x y.
    pub(crate) fn without_d(mut self) -> Self {
        self.dxy2 = self.dxy2.mul(d().inverted());
        self
    }

    /// Becomes -self if `mask` is all ones.
    pub(crate) fn negate(&mut self, mask: u64) {
        Element::exchange(mask, &mut self.minus, &mut self.plus);
        let negated = self.dxy2.negated();
        self.dxy2.replace(mask, &negated);
    }

    /// Becomes `other` if `mask` is all ones.
    pub(crate) fn replace(&mut self, mask: u64, other: &Self) {
        self.minus.replace(mask, &other.minus);
        self.plus.replace(mask, &other.plus);
        self.dxy2.replace(mask, &other.dxy2);
    }
}

impl Point {
    pub(crate) const NEUTRAL: Self =
        Self { minus: Element::ONE, plus: Element::ONE, z: Element::ONE, t: Element::ZERO };

    fn affine(x: Element, y: Element) -> Self {
        Self { minus: y.sub(x), plus: y.add(x), z: Element::ONE, t: x.mul(y) }
    }

    pub(crate) fn base() -> Self {
        let y = Element::small(4).mul(Element::small(5).inverted());
        Self::affine(Element::from_bytes(&BASE_X), y)
    }

    /// Hisil, Wong, Carter, Dawson, "Twisted Edwards Curves Revisited" (2008), section 3.1, with
    /// Z2 = 1. `d2` of the other form of addition is part of the addend.
    pub(crate) fn add(&self, q: &Addend) -> Self {
        let z2 = self.z.add(self.z);
        self.sum(self.minus.mul(q.minus), self.plus.mul(q.plus), self.t.mul(q.dxy2), z2)
    }

    /// The same for two points in extended coordinates.
    fn add_point(&self, q: &Self, d2: Element) -> Self {
        let (t, z) = (self.t.mul(d2).mul(q.t), self.z.mul(q.z));
        self.sum(self.minus.mul(q.minus), self.plus.mul(q.plus), t, z.add(z))
    }

    /// The second half of an addition, with the letters of the paper.
    fn sum(&self, a: Element, b: Element, c: Element, d: Element) -> Self {
        let (e, f, g, h) = (b.sub(a), d.sub(c), d.add(c), b.add(a));
        let (x, y) = (e.mul(f), g.mul(h));
        Self { minus: y.sub(x), plus: y.add(x), z: f.mul(g), t: e.mul(h) }
    }

    /// u of the same point on the curve of X25519, or 0 for the neutral point.
    pub(crate) fn u(&self) -> Element {
        let (y2, z2) = (self.plus.add(self.minus), self.z.add(self.z));
        z2.add(y2).mul(z2.sub(y2).inverted())
    }
}

/// d = -121665 / 121666.
fn d() -> Element {
    Element::small(121_665).negated().mul(Element::small(121_666).inverted())
}

/// 2 d.
pub(crate) fn d2() -> Element {
    d().add(d()).mul(Element::ONE)
}

/// Returns the addends of points, with a single inversion.
fn addends(points: &[Point]) -> Vec<Addend> {
    let half = Element::small(2).inverted();
    // products[i] = z of all points before i
    let mut product = Element::ONE;
    let products: Vec<Element> = points
        .iter()
        .map(|point| {
            let before = product;
            product = product.mul(point.z);
            before
        })
        .collect();
    let mut inverse = product.inverted();
    let d2 = d2();
    let mut addends: Vec<Addend> = points
        .iter()
        .zip(products)
        .rev()
        .map(|(point, before)| {
            let z = inverse.mul(before);
            inverse = inverse.mul(point.z);
            let (minus, plus) = (point.minus.mul(z), point.plus.mul(z));
            let (x, y) = (plus.sub(minus).mul(half), plus.add(minus).mul(half));
            Addend { minus, plus, dxy2: x.mul(y).mul(d2) }
        })
        .collect();
    addends.reverse();
    addends
}

/// Odd multiples of the base point: entry e of window w is (2e + 1) 2^{BITS w} times the base point.
pub(crate) struct Multiples<const BITS: usize> {
    addends: Vec<Addend>,
}

impl<const BITS: usize> Multiples<BITS> {
    /// Entries of a window: see [`crate::digits`].
    pub(crate) const ENTRIES: usize = 1 << (BITS - 1);

    pub(crate) fn new(windows: usize) -> Self {
        let d2 = d2();
        let mut points = Vec::with_capacity(windows * Self::ENTRIES);
        let mut first = Point::base();
        for _ in 0..windows {
            let (mut point, twice) = (first, first.add_point(&first, d2));
            for _ in 0..Self::ENTRIES {
                points.push(point);
                point = point.add_point(&twice, d2);
            }
            first = (0..BITS).fold(first, |point, _| point.add_point(&point, d2));
        }
        Self { addends: addends(&points) }
    }

    /// The entries of each window, in order.
    pub(crate) fn windows(&self) -> impl Iterator<Item = &[Addend]> {
        self.addends.chunks_exact(Self::ENTRIES)
    }
}

/// Windows of four bits, for one multiplication at a time.
pub(crate) fn windows_of_four() -> &'static Multiples<4> {
    static MULTIPLES: OnceLock<Multiples<4>> = OnceLock::new();
    MULTIPLES.get_or_init(|| Multiples::new(64))
}
