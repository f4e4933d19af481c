// Points of P-256 in eight lanes: doubling and additions in Jacobian coordinates.
//
// A point is x = X/Z^2, y = Y/Z^3. The formulas are those of Bernstein and Lange's
// "Explicit-Formulas Database" (dbl-2001-b and madd, without the sums that replace products by
// squares). Linear operations work on columns, and Y of an addition is one reduction of the sum of
// two products.
//
// Requires  Points are not neutral. Added points are neither equal nor opposite.
// Bounds    X < (1 + 2^-24) u, Y < 3.85 u, Z < 3.86 u, with u = 2^256. The comments give the bounds
//           of all partial results in u. X and Y are clean: only their low 52 bits are set.
// Counts    doubling 4 products, 4 squares, 7 reductions; 530 vpmadd52.
//           mixed addition 8 products, 3 squares, 10 reductions; 790 vpmadd52.
//           addition 12 products, 4 squares, 15 reductions; 1,170 vpmadd52. Of exchanged lanes 9
//           products, 3 squares, 11 reductions; 870 vpmadd52.
// Time      constant: no branch and no address depends on a point.
//! Doubling and additions that do not handle the neutral point or equal points.

use super::p256_field52_ifma::*;
use crate::residue::Limbs;
use crate::vectors::{V, all, exchange, permuted};

/// Eight points.
#[derive(Clone, Copy)]
pub(crate) struct Jacobian {
    pub(crate) x: Element,
    pub(crate) y: Element,
    pub(crate) z: Element,
}

impl Jacobian {
    /// Eight points in affine coordinates below u, clean; negated in the lanes in which `negative`
    /// is all ones.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn affine(x: Element, y: &Element, negative: V) -> Self {
        let y = carried(&plus_p::<2>(&negated(y, negative)));
        Self { x, y: clean(&y), z: one() }
    }
}

/// Doubles points, in place: a copy of eight points takes 15 loads and stores.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn double(p: &mut Jacobian) {
    let Jacobian { x, y, z } = &*p;
    let delta = reduced(square(z)); // 1.93
    let gamma = folded(&reduced(square(y))); // 1
    let beta = reduced(product(x, &gamma)); // 1.07
    let difference = carried(&plus_p::<2>(&sub(x, &delta))); // 3
    let sum = carried(&add(x, &delta)); // 2.93
    let m = reduced(product(&difference, &sum)); // 1.55
    let alpha = carried(&add(&add(&m, &m), &m)); // 4.65
    let beta4 = shifted::<2, 5>(&beta);
    let x3 = sub(&reduced(square(&alpha)), &add(&beta4, &beta4));
    let x3 = clean(&folded(&plus_p::<9>(&x3)));
    let w = carried(&plus_p::<2>(&sub(&beta4, &x3))); // 6.3
    let y3 = sub(&product(&alpha, &w), &shifted::<3, 10>(&square(&gamma)));
    // more than -0.5 before the addition of p
    let y3 = carried(&plus_p::<1>(&reduced(y3))); // 3.84
    let yz = reduced(product(y, z));
    *p = Jacobian { x: x3, y: clean(&y3), z: carried(&add(&yz, &yz)) }; // z: 3.86
}

/// Adds points in affine coordinates below u, negated in the lanes in which `negative` is all
/// ones.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn add_affine(p: &mut Jacobian, x2: &Element, y2: &Element, negative: V) {
    let Jacobian { x, y, z } = &*p;
    let zz = sqr(z); // 1.93
    let u2 = reduced(product(x2, &zz)); // 1.12
    let zzz = mul(&zz, z); // 1.47
    let s2 = negated(&reduced(product(y2, &zzz)), negative); // 1.1
    let h = carried(&plus_p::<2>(&sub(&u2, x))); // 3.12
    let r = carried(&plus_p::<5>(&sub(&s2, y))); // 6.1
    sum(p, &h, &r);
}

/// Adds points q, negated in the lanes in which `negative` is all ones.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn add_points(p: &mut Jacobian, q: &Jacobian, negative: V) {
    let (zz1, zz2) = (sqr(&p.z), sqr(&q.z)); // 1.93
    let u1 = reduced(product(&p.x, &zz2)); // 1.13
    let u2 = reduced(product(&q.x, &zz1));
    let s1 = reduced(product(&p.y, &mul(&zz2, &q.z))); // 1.36
    let s2 = negated(&reduced(product(&q.y, &mul(&zz1, &p.z))), negative);
    let h = carried(&plus_p::<2>(&sub(&u2, &u1))); // 3.13
    let r = carried(&plus_p::<3>(&sub(&s2, &s1))); // 4.36
    *p = Jacobian { x: carried(&u1), y: carried(&s1), z: mul(&p.z, &q.z) }; // z: 1.94
    sum(p, &h, &r);
}

/// Adds to each lane its partner, the lane at this distance. Both get the same point.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
fn add_partner(p: &mut Jacobian, distance: u64) {
    let Jacobian { x, y, z } = &*p;
    let partner = exchange(distance);
    let zz = sqr(z); // 1.93
    let zzz = mul(&zz, z); // 1.47
    let u1 = reduced(product(x, &permuted(&zz, partner))); // 1.13
    let s1 = reduced(product(y, &permuted(&zzz, partner))); // 1.36
    let h = carried(&plus_p::<2>(&sub(&permuted(&u1, partner), &u1))); // 3.13
    let r = carried(&plus_p::<2>(&sub(&permuted(&s1, partner), &s1))); // 3.36
    let z = mul(z, &permuted(z, partner)); // 1.94
    *p = Jacobian { x: carried(&u1), y: carried(&s1), z };
    sum(p, &h, &r);
}

/// Returns X, Y, Z of the sum of all lanes, in limbs, at most p.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn sum_of_lanes(mut sum: Jacobian) -> [Limbs; 3] {
    add_partner(&mut sum, 1);
    add_partner(&mut sum, 2);
    add_partner(&mut sum, 4);
    let lane = |x: &Element| to_numbers(&clean(x)).map(|limb| limb[0]);
    [lane(&sum.x), lane(&sum.y), lane(&sum.z)]
}

/// Adds up each half of the lanes, and returns three numbers in limbs, at most p. The sums of the
/// halves are opposite points if the first two are 0 mod p. The third one is 0 mod p if a sum is
/// not a point.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn opposite_halves(mut sum: Jacobian) -> [Limbs; 3] {
    add_partner(&mut sum, 1);
    add_partner(&mut sum, 2);
    let Jacobian { x, y, z } = &sum;
    let partner = exchange(4);
    let zz = sqr(z); // 1.93
    let zzz = mul(&zz, z); // 1.47
    let u1 = reduced(product(x, &permuted(&zz, partner))); // 1.13
    let s1 = reduced(product(y, &permuted(&zzz, partner))); // 1.36
    let h = carried(&plus_p::<2>(&sub(&permuted(&u1, partner), &u1))); // 3.13
    let r = carried(&add(&permuted(&s1, partner), &s1)); // 2.72
    let lane = |x: &Element| to_numbers(&clean(x)).map(|limb| limb[0]);
    [lane(&h), lane(&r), lane(&mul(z, &permuted(z, partner)))]
}

/// The second half of the additions: adds to a point the one with X + h, Y + r and the same Z.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
fn sum(p: &mut Jacobian, h: &Element, r: &Element) {
    let Jacobian { x, y, z } = &*p;
    let hh = sqr(h); // 1.62
    // -h^3
    let hhh = plus_p::<2>(&sub(&[all(0); 5], &reduced(product(h, &hh)))); // 2
    let v = reduced(product(x, &hh)); // 1.12
    let x3 = sub(&add(&reduced(square(r)), &hhh), &add(&v, &v));
    let x3 = clean(&folded(&plus_p::<3>(&x3)));
    let w = carried(&plus_p::<2>(&sub(&v, &x3))); // 3.12
    let y3 = carried(&reduced(multiply_add(product(r, &w), y, &carried(&hhh)))); // 2.7
    *p = Jacobian { x: x3, y: clean(&y3), z: mul(z, h) }; // z: 1.8
}
