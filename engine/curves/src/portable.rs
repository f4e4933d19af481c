//! X25519 on any processor: the Montgomery ladder on residues in limbs (RFC 7748, section 5).
//! Constant time: the only branch is the loop's.

use crate::field51::{bytes, words, words_of_u};
use crate::mask::hidden;
use crate::residue::{Limbs, P25519, Residue};

type Element = Residue<P25519>;

/// The x-coordinate of the base point (RFC 7748, section 4.1).
const BASE: [u8; 32] = {
    let mut base = [0; 32];
    base[0] = 9;
    base
};

/// Returns the x-coordinate of k times the base point, for a clamped k.
pub(crate) fn public_key(k: &[u8; 32]) -> [u8; 32] {
    agree(k, &BASE)
}

/// Returns the x-coordinate of k P, for a clamped k and the x-coordinate u of P; 0 for the neutral
/// point.
pub(crate) fn agree(k: &[u8; 32], u: &[u8; 32]) -> [u8; 32] {
    let (k, u) = (words(k), Element::new(&words_of_u(u)));
    let a24 = Element::new(&[121_665, 0, 0, 0]);
    let (mut x2, mut z2, mut x3, mut z3) = (Element::ONE, Element::ZERO, u, Element::ONE);
    let mut last = 0;
    for t in (0..255).rev() {
        let bit = (k[t / 64] >> (t % 64) & 1).wrapping_neg();
        let swap = bit ^ last;
        last = bit;
        exchange(swap, &mut x2, &mut x3);
        exchange(swap, &mut z2, &mut z3);
        // the letters of the RFC
        let (a, b) = (x2.add(&z2), x2.sub(&z2));
        let (aa, bb) = (a.square(), b.square());
        let e = aa.sub(&bb);
        let (c, d) = (x3.add(&z3), x3.sub(&z3));
        let (da, cb) = (d.mul(&a), c.mul(&b));
        x3 = da.add(&cb).square();
        z3 = u.mul(&da.sub(&cb).square());
        x2 = aa.mul(&bb);
        z2 = e.mul(&aa.add(&a24.mul(&e)));
    }
    // bit 0 of a clamped scalar is 0, so there is nothing to exchange
    let x: Limbs = x2.mul(&z2.inverted()).number();
    bytes(&x)
}

/// Exchanges two residues if `mask` is all ones.
fn exchange(mask: u64, x: &mut Element, y: &mut Element) {
    let mask = hidden(mask);
    for (x, y) in x.0.iter_mut().zip(&mut y.0) {
        let difference = (*x ^ *y) & mask;
        *x ^= difference;
        *y ^= difference;
    }
}
