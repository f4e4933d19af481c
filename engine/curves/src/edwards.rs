//! The curve -x^2 + y^2 = 1 + d x^2 y^2 (RFC 8032, section 5.1), and the multiples of its base
//! point that key generation adds.
//!
//! The curve of X25519 is the same curve in other coordinates: u = (1 + y) / (1 - y), and the base
//! point has u = 9 (RFC 7748, section 4.1). On this form an addition of a known point takes seven
//! products, and its formula holds for all pairs of points.

use crate::field51::words;
use crate::residue::{P25519, Residue};

/// An element of the field.
pub(crate) type Element = Residue<P25519>;

/// x of the base point, little end first (RFC 8032, section 5.1). y is 4/5.
const BASE_X: [u8; 32] = [
    0x1a, 0xd5, 0x25, 0x8f, 0x60, 0x2d, 0x56, 0xc9, 0xb2, 0xa7, 0x25, 0x95, 0x60, 0xc7, 0x2c,
    0x69, //
    0x5c, 0xdc, 0xd6, 0xfd, 0x31, 0xe2, 0xa4, 0xc0, 0xfe, 0x53, 0x6e, 0xcd, 0xd3, 0x36, 0x69, 0x21,
];

/// A point in extended coordinates: x = X/Z, y = Y/Z, x y = T/Z. X and Y are kept as their
/// difference and sum, which every addition needs.
#[derive(Clone, Copy)]
struct Point {
    /// Y - X.
    minus: Element,
    /// Y + X.
    plus: Element,
    z: Element,
    t: Element,
}

/// A point with Z = 1 to add: y - x, y + x, 2 d x y.
#[derive(Clone, Copy)]
pub(crate) struct Addend {
    pub(crate) minus: Element,
    pub(crate) plus: Element,
    pub(crate) dxy2: Element,
}

impl Addend {
    /// Divides the third part by d: with Z = 2, the parts of 2 x, 2 y, T = 2 x y.
    pub(crate) fn without_d(mut self) -> Self {
        self.dxy2 = self.dxy2.mul(&d().inverted());
        self
    }
}

impl Point {
    fn base() -> Self {
        let x = Element::new(&words(&BASE_X));
        let y = small(4).mul(&small(5).inverted());
        Self { minus: y.sub(&x), plus: y.add(&x), z: Element::ONE, t: x.mul(&y) }
    }

    /// Hisil, Wong, Carter, Dawson, "Twisted Edwards Curves Revisited" (2008), section 3.1, with
    /// the letters of the paper. `d2` is 2 d.
    fn add(&self, q: &Self, d2: &Element) -> Self {
        let (a, b) = (self.minus.mul(&q.minus), self.plus.mul(&q.plus));
        let (c, zz) = (self.t.mul(d2).mul(&q.t), self.z.mul(&q.z));
        let d = zz.add(&zz);
        let (e, f, g, h) = (b.sub(&a), d.sub(&c), d.add(&c), b.add(&a));
        let (x, y) = (e.mul(&f), g.mul(&h));
        Self { minus: y.sub(&x), plus: y.add(&x), z: f.mul(&g), t: e.mul(&h) }
    }
}

fn small(x: u64) -> Element {
    Element::new(&[x, 0, 0, 0])
}

/// d = -121665 / 121666.
fn d() -> Element {
    small(121_665).negated().mul(&small(121_666).inverted())
}

/// 2 d.
pub(crate) fn d2() -> Element {
    d().add(&d())
}

/// Returns the addends of points, with a single inversion.
fn addends(points: &[Point]) -> Vec<Addend> {
    let mut inverses: Vec<Element> = points.iter().map(|point| point.z).collect();
    Element::invert_all(&mut inverses, &mut vec![Element::ZERO; points.len()]);
    let d2 = d2();
    let addend = |(point, z): (&Point, Element)| Addend {
        minus: point.minus.mul(&z),
        plus: point.plus.mul(&z),
        dxy2: point.t.mul(&z).mul(&d2),
    };
    points.iter().zip(inverses).map(addend).collect()
}

/// Odd multiples of the base point: entry e of window w is (2e + 1) 2^{BITS w} times the base
/// point.
pub(crate) struct Multiples<const BITS: usize> {
    addends: Vec<Addend>,
}

impl<const BITS: usize> Multiples<BITS> {
    /// Entries of a window: see [`crate::digits`].
    const ENTRIES: usize = 1 << (BITS - 1);

    pub(crate) fn new(windows: usize) -> Self {
        let d2 = d2();
        let mut points = Vec::with_capacity(windows * Self::ENTRIES);
        let mut first = Point::base();
        for _ in 0..windows {
            let (mut point, twice) = (first, first.add(&first, &d2));
            for _ in 0..Self::ENTRIES {
                points.push(point);
                point = point.add(&twice, &d2);
            }
            first = (0..BITS).fold(first, |point, _| point.add(&point, &d2));
        }
        Self { addends: addends(&points) }
    }

    /// The entries of each window, in order.
    pub(crate) fn windows(&self) -> impl Iterator<Item = &[Addend]> {
        self.addends.chunks_exact(Self::ENTRIES)
    }
}
