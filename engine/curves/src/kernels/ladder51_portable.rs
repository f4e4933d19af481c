// The x-coordinate of k P on the curve of X25519 (RFC 7748, section 5).
// Inputs k, a clamped scalar; u, the x-coordinate of P. Output the x-coordinate of k P, 0 for the
// neutral point.
//
// Time      constant: the only branch is the loop's.
//! `ladder51_portable`: the Montgomery ladder on limbs.
#![forbid(unsafe_code)]

use crate::field51::Element;

pub(crate) fn ladder51_portable(k: &[u8; 32], u: Element) -> Element {
    let (mut x2, mut z2) = (Element::ONE, Element::ZERO);
    let (mut x3, mut z3) = (u, Element::ONE);
    let mut swap = 0;
    for t in (0..255).rev() {
        let bit = u64::from(k[t / 8] >> (t % 8) & 1).wrapping_neg();
        swap ^= bit;
        Element::exchange(swap, &mut x2, &mut x3);
        Element::exchange(swap, &mut z2, &mut z3);
        swap = bit;
        // the letters of the RFC
        let (a, b) = (x2.add(z2), x2.sub(z2));
        let (aa, bb) = (a.square(), b.square());
        let e = aa.sub(bb);
        let (c, d) = (x3.add(z3), x3.sub(z3));
        let (da, cb) = (d.mul(a), c.mul(b));
        x3 = da.add(cb).square();
        z3 = u.mul(da.sub(cb).square());
        x2 = aa.mul(bb);
        z2 = e.mul(aa.add(Element::small(121_665).mul(e)));
    }
    // bit 0 of a clamped scalar is 0, so there is nothing to exchange
    x2.mul(z2.inverted())
}
