// The x-coordinate of k P on the curve of X25519 (RFC 7748, section 5), in each of 8 lanes, as a
// quotient x / z.
// Inputs k, clamped scalars, word i of all in k[i]; u, the x-coordinates of P. Outputs x, z.
//
// Counts    per bit of k 5 products, 4 squares, 11 carries and 11 madds for 121665: 473 madds of
//           742 operations.
// Time      constant: the only branch is the loop's; bits of k are lane masks.
//
// The step of RFC 7748, with its letters. Every sum and difference is formed on the columns of
// products. Only the operands of the doubling are exchanged: exchanging the two points exchanges DA
// and CB, and neither (DA + CB)^2 nor (DA - CB)^2 changes.
//! `ladder52_mb8_ifma`: eight Montgomery ladders.

use core::arch::x86_64::*;

use super::field52_ifma::{Columns, Element, choice};
use crate::vectors::{all, vector};

/// The bits of eight scalars: lane l of entry t is bit t of scalar l.
#[inline]
#[target_feature(enable = "avx512f")]
fn bits(k: &[[u64; 8]; 4]) -> [__mmask8; 256] {
    let mut bits = [0; 256];
    for (i, bits) in bits.as_chunks_mut::<64>().0.iter_mut().enumerate() {
        let word = vector(k[i]);
        for (t, bits) in bits.iter_mut().enumerate() {
            *bits = _mm512_test_epi64_mask(word, all(1 << t));
        }
    }
    bits
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(crate) fn ladder52_mb8_ifma(k: &[[u64; 8]; 4], u: &Element) -> (Element, Element) {
    let bits = bits(k);
    // A = x2 + z2 and B = x2 - z2 with (x2, z2) = (1, 0); C and D with (x3, z3) = (u, 1)
    let one = Element::one();
    let (mut a, mut b) = (one, one);
    let mut c = u.columns().plus(&one.columns()).carried();
    let mut d = u.columns().plus(&Columns::bias()).minus(&one.columns()).carried();
    let mut last = 0;
    for t in (0..255).rev() {
        let swap = choice(bits[t] ^ last);
        last = bits[t];
        let da = d.times(&a, Columns::bias());
        let cb = c.times(&b, Columns::zero());
        let (sum, difference) = (da.plus(&cb).carried(), da.minus(&cb).carried());
        let (aa, bb) = (a.or(swap, &c).squared(), b.or(swap, &d).squared());
        let e = aa.plus(&Columns::bias()).minus(&bb).carried();
        let f = aa.plus_121665(&e).carried();
        let x3 = sum.squared();
        let z3 = difference.squared().carried().times(u, Columns::zero());
        let x2 = aa.carried().times(&bb.carried(), Columns::bias());
        let z2 = e.times(&f, Columns::zero());
        (a, b) = (x2.plus(&z2).carried(), x2.minus(&z2).carried());
        (c, d) = (x3.plus(&z3).carried(), x3.plus(&Columns::bias()).minus(&z3).carried());
    }
    // bit 0 of a clamped scalar is 0, so there is nothing to exchange; both are doubled
    let (a, b) = (a.columns(), b.columns());
    (a.plus(&b).carried(), a.plus(&Columns::bias()).minus(&b).carried())
}
