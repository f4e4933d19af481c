// Almost Montgomery products and squares of limbs, tile by tile, for any tiles.
//
//   multiply   z :== x * y / 2^{64K} (mod m)       scratch t[2K + W]
//   square     z :== x^2 / 2^{64K} (mod m)         scratch t[2K + W]
//
// Requires and ensures: as the kernels that call them, `amm64_mulx` and `ams64_mulx`.
//
// The operations on tiles:
//
//   rows        (t, w) := a * b + w                (low half, high half)
//   next        (t, w + carry) := a * b + t + w + carry
//   redc        q, w   :  t + q * m = w * 2^{64W}  (the low half is 0)
//   triangle    t[0..2W] := sum of a_i * a_j * 2^{64(i+j)}, i < j
//   diagonal    t := 2t + sum of a_i^2 * 2^{128i} + carries, t of two tiles
//   put         t := w + carry
//   add         t, w := t + w + carries; the second carry is returned
//   sub         z := t - c * m - borrow, c = 0 or 1
//
// Carries in and out are 0 or 1, so longer numbers are processed tile by tile. No overflow:
// a*b + t + w <= (2^{64W} - 1)^2 + 2 * (2^{64W} - 1) = 2^{128W} - 1. So w + carry is below 2^{64W},
// and the next tile takes the carry with the lowest limb of its window.
//! Products and squares of limbs, over tiles of W limbs.

/// The operations on tiles of W limbs: the first W limbs of each operand.
pub(super) trait Tile<const W: usize>: Copy {
    fn rows(self, t: &mut [u64], w: &mut [u64; W], a: &[u64], b: &[u64]);
    fn next(self, t: &mut [u64], w: &mut [u64; W], carry: &mut u64, a: &[u64], b: &[u64]);
    fn redc(self, q: &mut [u64; W], t: &[u64], m: &[u64], k0: u64) -> [u64; W];
    fn triangle(self, t: &mut [u64], a: &[u64]);
}

/// Carry chains on the first W limbs of each operand.
pub(super) trait Chains<const W: usize>: Copy {
    fn diagonal(self, t: &mut [u64], a: &[u64], carries: &mut [u64; 2]);
    fn put(self, t: &mut [u64], w: &[u64; W], carry: u64);
    fn add(self, t: &mut [u64], w: &mut [u64; W], carry: u64, over: &mut u64);
    fn sub(self, z: &mut [u64], t: [u64; W], c: u64, m: &[u64], borrow: &mut u64);
}

#[inline(always)]
pub(super) fn multiply<const W: usize>(
    z: &mut [u64],
    x: &[u64],
    y: &[u64],
    m: &[u64],
    k0: u64,
    t: &mut [u64],
    tile: impl Tile<W> + Chains<W>,
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
fn multiply_row<const W: usize>(
    t: &mut [u64],
    w: &mut [u64; W],
    x: &[u64],
    b: &[u64],
    fresh: bool,
    tile: impl Tile<W> + Chains<W>,
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
fn reduce<const W: usize>(
    z: &mut [u64],
    t: &mut [u64],
    q: &mut [u64; W],
    m: &[u64],
    k0: u64,
    tile: impl Tile<W> + Chains<W>,
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

#[inline(always)]
pub(super) fn square<const W: usize>(
    z: &mut [u64],
    x: &[u64],
    m: &[u64],
    k0: u64,
    t: &mut [u64],
    tile: impl Tile<W> + Chains<W>,
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

pub(crate) fn array<const W: usize>(x: &[u64]) -> &[u64; W] {
    x.first_chunk().expect("a tile is as long as its operands")
}

pub(crate) fn array_mut<const W: usize>(x: &mut [u64]) -> &mut [u64; W] {
    x.first_chunk_mut().expect("a tile is as long as its operands")
}
