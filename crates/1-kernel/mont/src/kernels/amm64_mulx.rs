// Almost Montgomery multiply (AMM), z :== x * y / 2^{64K} (mod m).
// Inputs x[K], y[K], m[K], k0; output z[K]; scratch t[2K + 2W]. Radix 2^64, tiles of W limbs.
//
// Requires  m odd; x, y < R = 2^{64K}; k0 = -1/m mod 2^64; W divides K.
// Ensures   z < R, z :== x*y/R (mod m); z < 2m if x*y <= R*m.
// Counts    2K^2 + K mulx (K of them imul, for q).
// Time      constant: no branch or address depends on x, y, m or k0.
// Model     amm64_portable.
//! `amm64_mulx`: product tile by tile, then reduction tile by tile.
#![forbid(unsafe_code)]

use tollgate_cpu::HaveAdxBmi2;

use super::amm64_portable::subtract_if;
use super::tiles64_mulx::{Eight, Four, Tile};
use crate::word::Word;

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
        4 => multiply::<4>(z, x, y, m, k0, t, Four(proof)),
        _ => multiply::<8>(z, x, y, m, k0, t, Eight(proof)),
    }
}

#[inline(always)]
fn multiply<const W: usize>(
    z: &mut [u64],
    x: &[u64],
    y: &[u64],
    m: &[u64],
    k0: u64,
    t: &mut [u64],
    tile: impl Tile,
) {
    let k = z.len();
    let (t, s) = t.split_at_mut(2 * k);
    t[..k].fill(0);
    for j in (0..k).step_by(W) {
        let w = &mut s[..W];
        w.fill(0);
        for i in (0..k).step_by(W) {
            tile.mul(&mut t[i + j..], w, &x[i..], &y[j..]);
        }
        t[j + k..j + k + W].copy_from_slice(w);
    }
    reduce::<W>(z, t, s, m, k0, tile);
}

/// z :== t / R (mod m), z < R, for t of 2K limbs, t < R^2; s: two tiles of scratch.
#[inline(always)]
pub(super) fn reduce<const W: usize>(
    z: &mut [u64],
    t: &mut [u64],
    s: &mut [u64],
    m: &[u64],
    k0: u64,
    tile: impl Tile,
) {
    let k = z.len();
    let (w, s) = s.split_at_mut(W);
    let q = &mut s[..W];
    let mut carry = 0; // out of column i + k + W, where the next block's window ends
    for i in (0..k).step_by(W) {
        tile.redc(q, w, &t[i..], m, k0);
        for j in (W..k).step_by(W) {
            tile.mul(&mut t[i + j..], w, q, &m[j..]);
        }
        for (t, &w) in t[i + k..i + k + W].iter_mut().zip(&*w) {
            *t = t.add_carry(w, &mut carry);
        }
    }
    subtract_if(z, &t[k..], m, carry);
}
