// Almost Montgomery square (AMS), z :== x^2 / 2^{64K} (mod m).
// Inputs x[K], m[K], k0; output z[K]; scratch t[2K + W]. Radix 2^64, tiles of W limbs.
//
// Requires  m odd; x < R = 2^{64K}; k0 = -1/m mod 2^64; W divides K.
// Ensures   z < R, z :== x^2/R (mod m); z < 2m if x^2 <= R*m.
// Counts    K(K+1)/2 + K^2 + K mulx, and K that mask m: products of different limbs once, doubled
//           together.
// Time      constant: no branch or address depends on x, m or k0.
// Model     amm64_portable, with y = x.
//! `ams64_mulx`: computes products of different limbs tile by tile, once. Then doubles them, adds
//! the squares of the limbs, and reduces tile by tile.

use tollgate_cpu::HaveAdxBmi2;

use super::chains64_mulx::{Eight, Four};
use super::tiles64::square;

#[inline(never)]
pub(crate) fn ams64_mulx<const W: usize>(
    z: &mut [u64],
    x: &[u64],
    m: &[u64],
    k0: u64,
    t: &mut [u64],
    proof: HaveAdxBmi2,
) {
    const { assert!(W == 4 || W == 8, "a tile has 4 or 8 limbs") };
    match W {
        4 => square(z, x, m, k0, t, Four(proof)),
        _ => square(z, x, m, k0, t, Eight(proof)),
    }
}
