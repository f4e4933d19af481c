// Almost Montgomery square (AMS), z :== x^2 / 2^{64K} (mod m).
// Inputs x[K], m[K], k0; output z[K]; scratch t[2K + W]. Radix 2^64, tiles of W limbs.
//
// Requires  m odd; x < R = 2^{64K}; k0 = -1/m mod 2^64; W divides K.
// Ensures   z < R, z :== x^2/R (mod m); z < 2m if x^2 <= R*m.
// Counts    K(K+1)/2 + K^2 + K mulx, and K that mask m: products of different limbs once, doubled
//           together. For one tile of 8 limbs, the limbs are doubled first: 7 more mulx, for the
//           bit above the doubled limbs.
// Time      constant: no branch or address depends on x, m or k0.
// Model     amm64_portable, with y = x.
//! `ams64_mulx`: computes products of different limbs tile by tile, once. Then doubles them, adds
//! the squares of the limbs, and reduces tile by tile. A number of one tile alternates rows.
#![forbid(unsafe_code)]

use tollgate_cpu::HaveAdxBmi2;

use super::amm64_mulx::{multiply_row, reduce};
use super::chains64_mulx::Chains;
use super::steps64_mulx;
use super::tiles64_mulx::{Eight, Four, Tile, array, array_mut};

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

/// AMS for K = 8: rows of the square and of the reduction in turn.
#[inline(never)]
pub(crate) fn ams64_mulx_tile(
    z: &mut [u64; 8],
    x: &[u64; 8],
    m: &[u64; 8],
    k0: u64,
    t: &mut [u64; 24],
    proof: HaveAdxBmi2,
) {
    let (w, over) = steps64_mulx::square(x, m, k0, t, proof);
    Eight(proof).sub(z, w, over, m, &mut 0);
}

#[inline(always)]
fn square<const W: usize>(
    z: &mut [u64],
    x: &[u64],
    m: &[u64],
    k0: u64,
    t: &mut [u64],
    tile: impl Tile<W>,
) {
    let k = z.len();
    let (t, q) = t.split_at_mut(2 * k);
    for i in (0..k).step_by(W) {
        tile.triangle(&mut t[2 * i..], &x[i..]);
    }
    let mut over = 0; // carry out of column i + k + W, the end of the next row
    for i in (0..k - W).step_by(W) {
        let mut w = *array(&t[2 * i + W..]);
        let carry = multiply_row(&mut t[2 * i + W..], &mut w, &x[i + W..], &x[i..], false, tile);
        tile.add(&mut t[i + k..], &mut w, carry, &mut over);
    }
    if k > W {
        tile.add(&mut t[2 * k - W..], &mut [0; W], 0, &mut over);
    }
    let mut carries = [0; 2];
    for i in (0..k).step_by(W) {
        tile.diagonal(&mut t[2 * i..], &x[i..], &mut carries);
    }
    reduce(z, t, array_mut(q), m, k0, tile);
}
