// Points of P-256 in limbs: doubling and addition in modified Jacobian coordinates.
//
// A point x = X/Z^2, y = Y/Z^3 of the curve y^2 = x^3 + a x + b has a fourth coordinate T = a Z^4
// (Cohen, Miyaji, Ono, "Efficient elliptic curve exponentiation using mixed coordinates", 1998). So
// a doubling costs the same for all a, and the curve may be another one: if all points of a table
// have the same Z, z, then X and Y of the entries are affine coordinates on the curve with a = -3
// z^4. All additions there are mixed ones, and Z is at last multiplied by z.
//
// The table is made by additions of points that have the same Z (Meloni, "New point addition
// formulae for ECC applications", 2007): the sum P + Q comes with Q in coordinates of the sum's Z.
//
// Requires  no point is neutral. Added points are neither equal nor opposite; else Z becomes 0.
// Counts    doubling 4 products and 4 squares; 136 mulx.
//           addition 9 and 4; 236 mulx. Without T 8 and 3; 202 mulx.
//           a table of N entries 8 N - 5 and 3 N + 3.
// Time      constant: no branch and no address depends on a point.
//! Doublings, additions and tables that do not handle the neutral point or equal points.

use tollgate_cpu::HaveAdxBmi2;

use super::p256_field64_mulx::*;
use crate::p256::point::Affine;
use crate::residue::{Element, P, Prime as _, power_of_two, subtracted};

/// The a of P-256.
const MINUS_THREE: Element = {
    let (one, two) = (power_of_two(256, &P::M), power_of_two(257, &P::M));
    Element::raw(subtracted(&subtracted(&P::M, &one).0, &two).0)
};

/// A point other than the neutral one.
#[derive(Clone, Copy)]
pub(crate) struct Modified {
    pub(crate) x: Element,
    pub(crate) y: Element,
    pub(crate) z: Element,
    /// a Z^4.
    pub(crate) t: Element,
}

/// Doubles a point: "dbl-1998-cmo-2" of Bernstein and Lange's "Explicit-Formulas Database", with 2Y
/// in place of Y.
#[inline(never)]
pub(crate) fn double(p: &mut Modified, proof: HaveAdxBmi2) {
    let y2 = twice(&p.y, proof);
    let xx = square(&p.x, proof);
    let s = square(&y2, proof); // 4 Y^2
    let alpha = triple_plus(&xx, &p.t, proof);
    let beta = mul(&s, &p.x, proof); // 4 X Y^2
    let aa = square(&alpha, proof);
    let ss = square(&s, proof); // 16 Y^4
    p.z = mul(&y2, &p.z, proof);
    p.x = sub_twice(&aa, &beta, proof);
    p.t = mul(&ss, &p.t, proof);
    let y = mul(&alpha, &sub(&beta, &p.x, proof), proof);
    p.y = sub(&y, &half(&ss, proof), proof);
}

/// Adds a point of the same curve in affine coordinates; computes T if `WITH_T`.
#[inline(never)]
pub(crate) fn add_affine<const WITH_T: bool>(p: &mut Modified, q: &Affine, proof: HaveAdxBmi2) {
    let zz = square(&p.z, proof);
    let h = sub(&mul(&q.x, &zz, proof), &p.x, proof);
    let zzz = mul(&zz, &p.z, proof);
    let hh = square(&h, proof);
    let r = sub(&mul(&q.y, &zzz, proof), &p.y, proof);
    let v = mul(&p.x, &hh, proof);
    let rr = square(&r, proof);
    let hhh = mul(&h, &hh, proof);
    if WITH_T {
        p.t = mul(&p.t, &square(&hh, proof), proof);
    }
    p.z = mul(&p.z, &h, proof);
    p.x = sub_twice(&sub(&rr, &hhh, proof), &v, proof);
    let yh = mul(&p.y, &hhh, proof);
    let y = mul(&r, &sub(&v, &p.x, proof), proof);
    p.y = sub(&y, &yh, proof);
}

/// The curve y^2 = x^3 + a x + b z^6 with a = -3 z^4. A point (x, y) of P-256 is (x z^2, y z^3)
/// there.
pub(crate) struct Curve {
    pub(crate) z: Element,
    pub(crate) a: Element,
}

/// Takes a point of P-256 to another curve.
#[inline(never)]
pub(crate) fn moved(p: &Affine, curve: &Curve, proof: HaveAdxBmi2) -> Affine {
    let zz = square(&curve.z, proof);
    let x = mul(&p.x, &zz, proof);
    Affine { x, y: mul(&p.y, &mul(&zz, &curve.z, proof), proof) }
}

/// Sets entry e of the table to the multiple 2e + 1 of a point of P-256, on the curve of the
/// result. At the call the first entry is the point.
#[inline(never)]
pub(crate) fn odd_multiples<const N: usize>(table: &mut [Affine; N], proof: HaveAdxBmi2) -> Curve {
    let first = &mut table[0];
    let y2 = twice(&first.y, proof);
    let s = square(&y2, proof);
    let alpha = triple_plus(&square(&first.x, proof), &MINUS_THREE, proof);
    let ss = square(&s, proof);
    // P and 2P have Z = 2Y
    first.x = mul(&s, &first.x, proof);
    first.y = half(&ss, proof);
    let mut x = sub_twice(&square(&alpha, proof), &first.x, proof);
    let mut y = mul(&alpha, &sub(&first.x, &x, proof), proof);
    y = sub(&y, &first.y, proof);
    // entry e has Z = 2Y h_1 .. h_e
    let mut ratios = [y2; N];
    for e in 1..N {
        let (known, next) = table.split_at_mut(e);
        let (last, next) = (&known[e - 1], &mut next[0]);
        let h = sub(&last.x, &x, proof);
        let r = sub(&last.y, &y, proof);
        let hh = square(&h, proof);
        let rr = square(&r, proof);
        x = mul(&x, &hh, proof);
        let v = mul(&last.x, &hh, proof);
        let hhh = sub(&v, &x, proof);
        next.x = sub(&sub(&rr, &x, proof), &v, proof);
        y = mul(&y, &hhh, proof);
        next.y = mul(&r, &sub(&x, &next.x, proof), proof);
        next.y = sub(&next.y, &y, proof);
        ratios[e] = h;
    }
    let mut ratio = ratios[N - 1];
    for e in (0..N - 1).rev() {
        let rr = square(&ratio, proof);
        let entry = &mut table[e];
        entry.x = mul(&entry.x, &rr, proof);
        entry.y = mul(&entry.y, &mul(&rr, &ratio, proof), proof);
        ratio = mul(&ratio, &ratios[e], proof);
    }
    let a = mul(&square(&square(&ratio, proof), proof), &MINUS_THREE, proof);
    Curve { z: ratio, a }
}
