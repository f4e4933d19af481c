// Almost Montgomery multiply (AMM), z :== x * y / 2^{64K} (mod m).
// Inputs x[K], y[K], m[K], k0; output z[K]; scratch t[2K + 2W]. Radix 2^64, tiles of W limbs.
//
// Requires  m odd; x, y < R = 2^{64K}; k0 = -1/m mod 2^64; W divides K.
// Ensures   z < R, z :== x*y/R (mod m); z < 2m if x*y <= R*m.
// Counts    2K^2 + K mulx (K of them imul, for q), and K mulx that mask m.
// Time      constant: no branch or address depends on x, y, m or k0.
// Model     amm64_portable.
//! `amm64_mulx`: product tile by tile, then reduction tile by tile.
#![forbid(unsafe_code)]

use tollgate_cpu::HaveAdxBmi2;

use super::tiles64_mulx::{Eight, Four, Tile};

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
    for j in (0..k).step_by(W) {
        let (w, c) = s[..2 * W].split_at_mut(W);
        multiply_row::<W>(&mut t[j..], w, c, x, &y[j..], j == 0, tile);
        t[j + k..j + k + W].copy_from_slice(w);
    }
    reduce::<W>(z, t, s, m, k0, tile);
}

/// t[0..K], w := (t[0..K] unless `fresh`) + x * b for one tile b; c: scratch.
#[inline(always)]
pub(super) fn multiply_row<const W: usize>(
    t: &mut [u64],
    w: &mut [u64],
    c: &mut [u64],
    x: &[u64],
    b: &[u64],
    fresh: bool,
    tile: impl Tile,
) {
    if fresh {
        c.fill(0);
    } else {
        c.copy_from_slice(&t[..W]);
    }
    tile.first(t, w, x, b, c);
    for i in (W..x.len()).step_by(W) {
        if fresh {
            c.copy_from_slice(w);
            tile.first(&mut t[i..], w, &x[i..], b, c);
        } else {
            tile.next(&mut t[i..], w, &x[i..], b);
        }
    }
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
            tile.next(&mut t[i + j..], w, q, &m[j..]);
        }
        tile.add(&mut t[i + k..], w, &mut carry);
    }
    // t[k..] + carry * R < R + m: m goes away where there is a carry, and then the result is below
    // R
    let t = &t[k..];
    let mut borrow = 0;
    for i in (0..k).step_by(W) {
        tile.sub(&mut z[i..], &t[i..], carry, &m[i..], &mut borrow);
    }
}
