// Almost Montgomery multiply (AMM), z :== x * y / 2^{64K} (mod m).
// Inputs x[K], y[K], m[K], k0; output z[K]; scratch t[2K + W]. Radix 2^64, tiles of W limbs.
//
// Requires  m odd; x, y < R = 2^{64K}; k0 = -1/m mod 2^64; W divides K.
// Ensures   z < R, z :== x*y/R (mod m); z < 2m if x*y <= R*m.
// Counts    2K^2 + K mulx (K of them imul, for q), and K mulx that mask m.
// Time      constant: no branch or address depends on x, y, m or k0.
// Model     amm64_portable.
//! `amm64_mulx`: product tile by tile, then reduction tile by tile.

use tollgate_cpu::HaveAdxBmi2;

use super::chains64_mulx::{Eight, Four};
use super::tiles64::multiply;

#[inline(never)]
pub(crate) fn amm64_mulx<const W: usize>(
    z: &mut [u64],
    x: &[u64],
    y: &[u64],
    m: &[u64],
    k0: u64,
    t: &mut [u64],
    proof: HaveAdxBmi2,
) {
    const { assert!(W == 4 || W == 8, "a tile has 4 or 8 limbs") };
    match W {
        4 => multiply(z, x, y, m, k0, t, Four(proof)),
        _ => multiply(z, x, y, m, k0, t, Eight(proof)),
    }
}
