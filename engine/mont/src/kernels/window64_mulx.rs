// A window of an exponentiation, z :== z^{2^squares} * y / R^{2^squares} (mod m), R = 2^512, for
// numbers of one tile: K = 8 limbs. One call computes S such windows (streams): one square of every
// stream, then the next.
// Inputs z[8], y[8], m[8], k0; output z[8]; scratch t[24].
//
// Requires  m odd; z, y < R; k0 = -1/m mod 2^64.
// Ensures   z < R.
// Counts    `squares` squares and a product, as `ams64_mulx` and `amm64_mulx`.
// Time      constant: no branch or address depends on z, y, m or k0.
// Model     `window::plain` of amm64_portable.
//
// At this size a product takes 155 cycles if each product is a separate call. Length checks and
// saved registers take 12 of these cycles.
//! `window64_mulx`: squares and a product of one tile, in place.
#![forbid(unsafe_code)]

use tollgate_cpu::HaveAdxBmi2;

use super::chains64_mulx::Eight;
use super::steps64_mulx::{product, square};
use super::tiles64::Chains;

/// The operands of one stream.
pub(crate) struct Stream<'a> {
    pub(crate) z: &'a mut [u64; 8],
    pub(crate) y: &'a [u64; 8],
    pub(crate) m: &'a [u64; 8],
    pub(crate) k0: &'a u64,
    pub(crate) t: &'a mut [u64; 24],
}

#[inline(never)]
pub(crate) fn window64_mulx<const S: usize>(
    streams: &mut [Stream<'_>; S],
    squares: usize,
    proof: HaveAdxBmi2,
) {
    for _ in 0..squares {
        for s in &mut *streams {
            let (w, over) = square(s.z, s.m, *s.k0, s.t, proof);
            Eight(proof).sub(s.z, w, over, s.m, &mut 0);
        }
    }
    for s in streams {
        let (w, over) = product(s.z, s.y, s.m, *s.k0, proof);
        Eight(proof).sub(s.z, w, over, s.m, &mut 0);
    }
}
