// Almost Montgomery multiply (AMM), z :== x * y / 2^{64K} (mod m).
// Inputs x[K], y[K], m[K], k0; output z[K]; scratch t[2K + W], none for one
// tile of 8. Radix 2^64, tiles of W limbs.
//
// Requires  m odd; x, y < R = 2^{64K}; k0 = -1/m mod 2^64; W divides K.
// Ensures   z < R, z :== x*y/R (mod m); z < 2m if x*y <= R*m.
// Counts    2K^2 + K mulx (K of them imul, for q), and K mulx that mask m.
// Time      constant: no branch or address depends on x, y, m or k0.
// Model     amm64_portable.
//! `amm64_mulx`: product tile by tile, then reduction tile by tile. A number of one tile alternates
//! rows of both.
#![forbid(unsafe_code)]

use tollgate_cpu::HaveAdxBmi2;

use super::chains64_mulx::Chains;
use super::steps64_mulx::product;
use super::tiles64_mulx::{Eight, Four, Tile, array, array_mut};

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

/// AMM for K = 8: rows of the product and of the reduction in turn.
#[inline(never)]
pub(crate) fn amm64_mulx_tile(
    z: &mut [u64; 8],
    x: &[u64; 8],
    y: &[u64; 8],
    m: &[u64; 8],
    k0: u64,
    proof: HaveAdxBmi2,
) {
    let (w, over) = product(x, y, m, k0, proof);
    Eight(proof).sub(z, w, over, m, &mut 0);
}

#[inline(always)]
fn multiply<const W: usize>(
    z: &mut [u64],
    x: &[u64],
    y: &[u64],
    m: &[u64],
    k0: u64,
    t: &mut [u64],
    tile: impl Tile<W>,
) {
    let k = z.len();
    let (t, q) = t.split_at_mut(2 * k);
    for j in (0..k).step_by(W) {
        let mut w = if j == 0 { [0; W] } else { *array(&t[j..]) };
        let carry = multiply_row(&mut t[j..], &mut w, x, &y[j..], j == 0, tile);
        tile.put(&mut t[j + k..], &w, carry);
    }
    reduce(z, t, array_mut(q), m, k0, tile);
}

/// t[0..K], w + the returned carry := t[W..K] + w + x * b, for one tile b. If `fresh`, t[W..K] is
/// not added.
#[inline(always)]
pub(super) fn multiply_row<const W: usize>(
    t: &mut [u64],
    w: &mut [u64; W],
    x: &[u64],
    b: &[u64],
    fresh: bool,
    tile: impl Tile<W>,
) -> u64 {
    let mut carry = 0;
    tile.rows(t, w, x, b);
    for i in (W..x.len()).step_by(W) {
        if fresh {
            tile.rows(&mut t[i..], w, &x[i..], b);
        } else {
            tile.next(&mut t[i..], w, &mut carry, &x[i..], b);
        }
    }
    carry
}

/// z :== t / R (mod m), z < R, for t of 2K limbs, t < R^2. q is scratch memory.
#[inline(always)]
pub(super) fn reduce<const W: usize>(
    z: &mut [u64],
    t: &mut [u64],
    q: &mut [u64; W],
    m: &[u64],
    k0: u64,
    tile: impl Tile<W>,
) {
    let k = z.len();
    let mut over = 0; // carry out of column i + k + W, the end of the next window
    let mut w = [0; W];
    for i in (0..k).step_by(W) {
        w = tile.redc(q, &t[i..], m, k0);
        let mut carry = 0;
        for j in (W..k).step_by(W) {
            tile.next(&mut t[i + j..], &mut w, &mut carry, q, &m[j..]);
        }
        tile.add(&mut t[i + k..], &mut w, carry, &mut over);
    }
    // t[k..] + over * R < R + m: subtract m if `over` is 1; the result is then below R
    let mut borrow = 0;
    if k == W {
        return tile.sub(z, w, over, m, &mut borrow); // the sum is still in its registers
    }
    for i in (0..k).step_by(W) {
        tile.sub(&mut z[i..], *array(&t[k + i..]), over, &m[i..], &mut borrow);
    }
}
