// Tiles of the eight-lane kernels, radix B = 2^52, eight numbers in each vector.
//
//   mul_tile   t[0..R+W] := t[0..R+W] + a[0..R] * b[0..W]
//   sq_tile    t[0..2W]  := 2 * t[0..2W] + a[0..W]^2
//   fold_tile  R fold rows on t[0..R+W+1] against b1[0..W]: t[0..R] become the folded digits
//   finish     z[0..K] := (t[0..K+1] + q * m) / B, the textbook row that ends a reduction
//   reduce     z[0..K] :== t[0..2K] / B^K (mod m), tile by tile; K is a multiple of W
//
// Numbers of one tile have kernels of their own: see `short52_ifma`.
//
// Streams. S independent products (S sets of eight moduli) are interleaved tile by tile. While the
// last tile of one stream waits for results, the core begins a tile of the other stream.
//
// Reading. Fold rows leave load ports free. A square may use them to read a part of a table: one
// digit of eight entries per row (`select52_mb8_avx512`).
//
// Columns are signed sums of half products, without carries. A column is below 2^63 (see `shape`).
//
// Fold. A textbook row adds q * m to make a digit zero. A fold row removes the digit t_i and adds
// t_i * b1 one column higher:   t_i * B^i :== t_i * b1 * B^{i+1} (mod m), b1 = B^-1 mod m.
// This needs no product for q and no column for a sum that is known to be zero. From t_i to t_{i+1}
// it takes 6 cycles instead of 14. K - 1 fold rows leave K + 1 digits; a textbook row leaves K:
//   z < x*y/R + 2m,   since the fold rows add less than B*m at column K - 1, and the last row m.
//
// Windows. W accumulators stay in registers. A row adds the low half of column j, then the high
// half of column j - 1, and moves each accumulator down by one column; register renaming makes the
// moves free. The row loop is not unrolled: its few hundred bytes of code stay in the op cache.
//! Tiles of the eight-lane kernels: AVX-512 IFMA.

use core::arch::x86_64::*;

pub(super) use super::select52_mb8_avx512::V;
use super::select52_mb8_avx512::{Read, digit, masks};
use super::unroll::{evens, un};

/// The constants of a modulus: m, b1 = B^-1 mod m, k0 = -1/m mod B.
#[derive(Clone, Copy)]
pub(crate) struct Factors<'a> {
    pub(crate) m: &'a [V],
    pub(crate) b1: &'a [V],
    /// Further constants: see `Modulus::fold`. Those of `fold52_halves_ifma`, or b1 / 2 mod m.
    pub(crate) more: &'a [V],
    pub(crate) k0: &'a V,
}

/// The factors of a modulus of one tile. Their lengths are constants, so rows need no bounds
/// checks. If LLVM unrolls rows after a check, it orders the code by columns, and each column is a
/// chain of 2W dependent multiplications.
#[derive(Clone, Copy)]
pub(crate) struct Short<'a, const W: usize> {
    pub(crate) m: &'a [V; W],
    pub(crate) b1: &'a [V; W],
    /// b1 / 2 mod m.
    pub(crate) half: &'a [V; W],
    pub(crate) k0: &'a V,
}

impl<'a> Factors<'a> {
    /// The factors of a modulus of W digits.
    pub(crate) fn short<const W: usize>(&self) -> Short<'a, W> {
        Short { m: block(self.m, 0), b1: block(self.b1, 0), half: block(self.more, 0), k0: self.k0 }
    }
}

/// A reduction of one stream: z[0..K] :== t[0..2K] / B^K (mod m). Do not move this value: a copy of
/// data just written stalls.
pub(crate) struct Reduction<'a> {
    pub(crate) z: &'a mut [V],
    pub(crate) t: &'a mut [V],
    pub(crate) m: Factors<'a>,
    /// The part of a table to read at the same time.
    pub(crate) read: Option<Read<'a>>,
}

/// Returns c + the low half of x * y.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn lo(c: V, x: V, y: V) -> V {
    _mm512_madd52lo_epu64(c, x, y)
}

/// Returns c + the high half of x * y.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn hi(c: V, x: V, y: V) -> V {
    _mm512_madd52hi_epu64(c, x, y)
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn add(x: V, y: V) -> V {
    _mm512_add_epi64(x, y)
}

/// Returns the carry of a column. An arithmetic shift, since Karatsuba's columns may be negative.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn carry(x: V) -> V {
    _mm512_srai_epi64::<52>(x)
}

/// Keeps the loads through `p` inside a row. Otherwise LLVM hoists all of them out of the row loop,
/// and spills them if W = 20. For W <= 15 there are enough registers.
#[inline(always)]
pub(super) fn pin<const W: usize>(p: &[V; W]) -> &[V; W] {
    if W > 15 { core::hint::black_box(p) } else { p }
}

/// Returns the block of W words that starts at `at`.
pub(super) fn block<const W: usize>(x: &[V], at: usize) -> &[V; W] {
    x[at..].first_chunk().expect("a whole block")
}

/// Returns the first block of W words.
pub(super) fn block_mut<const W: usize>(x: &mut [V]) -> &mut [V; W] {
    x.first_chunk_mut().expect("a whole block")
}

/// Adds the products of x0 and x1 with the digits of y from $from on to the columns from $at on.
/// Two rows at once load a digit of y once for four vpmadd52.
macro_rules! two_rows {
    ($w:ident, $at:expr, $W:ident, $x0:expr, $x1:expr, $y:expr, $from:expr) => {
        un!(J < $W {
            // J >= $from, which rustc refuses for 0
            if J + 1 > $from {
                let y = $y[J];
                $w[$at + J] = lo($w[$at + J], $x0, y);
                $w[$at + J + 1] = hi($w[$at + J + 1], $x0, y);
                $w[$at + J + 1] = lo($w[$at + J + 1], $x1, y);
                $w[$at + J + 2] = hi($w[$at + J + 2], $x1, y);
            }
        });
    };
}

pub(super) use two_rows;

/// t[0..R+W] := a[0..R] * b, in R = W - LESS rows; if ACC, adds the product to t.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn mul_tile<const W: usize, const LESS: usize, const ACC: bool>(
    t: &mut [V],
    a: &[V],
    b: &[V; W],
) {
    const { assert!(W <= 20, "the window would not fit in the registers") };
    let (t, a) = (&mut t[..2 * W - LESS], &a[..W - LESS]);
    let mut w = [_mm512_setzero_si512(); W];
    if ACC {
        un!(J < W { w[J] = t[J]; });
    }
    for i in 0..W - LESS {
        let (x, b) = (a[i], pin(b));
        let top = if ACC { t[i + W] } else { _mm512_setzero_si512() };
        t[i] = lo(w[0], x, b[0]);
        un!(1 <= J < W { w[J - 1] = hi(lo(w[J], x, b[J]), x, b[J - 1]); });
        w[W - 1] = hi(top, x, b[W - 1]);
    }
    un!(J < W { t[W - LESS + J] = w[J]; });
}

/// Rows of the products of different digits of $x, then `$column!(c, value)` for each column c: its
/// value is doubled and has its half product of the square of a digit. `$begin!(row)` comes before
/// each row. Two rows at a time if the registers cannot hold all digits.
macro_rules! square_columns {
    ($W:ident, $w:ident, $x:ident, $begin:ident, $column:ident) => {
        macro_rules! finish {
            ($row:expr, $digit:expr) => {
                let x = $digit;
                $column!(2 * $row, lo(add($w[2 * $row], $w[2 * $row]), x, x));
                $column!(2 * $row + 1, hi(add($w[2 * $row + 1], $w[2 * $row + 1]), x, x));
            };
        }
        if $W > 15 {
            evens!(I < $W {
                let x = pin($x);
                let (x0, x1) = (x[I], x[I + 1]);
                $begin!(I);
                $begin!(I + 1);
                $w[2 * I + 1] = lo($w[2 * I + 1], x0, x1);
                $w[2 * I + 2] = hi($w[2 * I + 2], x0, x1);
                two_rows!($w, I, $W, x0, x1, x, I + 2);
                finish!(I, x0);
                finish!(I + 1, x1);
            });
        } else {
            un!(I < $W {
                let x = $x[I];
                $begin!(I);
                un!(1 <= J < $W {
                    if J > I {
                        $w[I + J] = lo($w[I + J], x, $x[J]);
                        $w[I + J + 1] = hi($w[I + J + 1], x, $x[J]);
                    }
                });
                finish!(I, x);
            });
        }
    };
}

pub(super) use square_columns;

/// t[0..2W] := a^2; if ACC, 2 * t + a^2. For a longer square, t first gets the cross products, each
/// once; this function doubles them.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn sq_tile<const W: usize, const ACC: bool>(t: &mut [V], a: &[V; W]) {
    const { assert!(W <= 15 || W == 20, "the window would not fit in the registers") };
    let t = &mut t[..2 * W];
    let mut w = [_mm512_setzero_si512(); 44];
    if ACC {
        un!(J < W { w[J] = t[J]; });
    }
    // A row begins two columns and completes two: at most W + 2 accumulators are in use.
    macro_rules! begin {
        ($row:expr) => {
            if ACC {
                w[$row + W] = t[$row + W];
            }
        };
    }
    macro_rules! store {
        ($c:expr, $value:expr) => {
            t[$c] = $value
        };
    }
    square_columns!(W, w, a, begin, store);
}

/// One fold row. The window w[0..=W] starts at the folded column. After the row it starts one
/// column higher.
macro_rules! fold_row {
    ($w:ident, $W:ident, $b1:expr, $top:expr) => {{
        let (q, b1) = ($w[0], pin($b1));
        let c = carry(q);
        // the carry is added last: 4 + 1 cycles from one folded digit to the next, since its shift
        // runs in parallel
        $w[0] = add(lo($w[1], q, b1[0]), c);
        un!(1 <= J < $W { $w[J] = hi(lo($w[J + 1], q, b1[J]), q, b1[J - 1]); });
        $w[$W] = hi($top, q, b1[$W - 1]);
    }};
}

pub(super) use fold_row;

/// Fold rows on t. `$also` is interleaved with each row.
macro_rules! fold_rows {
    ($W:ident, $t:ident, $rows:expr, $b1:ident, |$i:ident| $also:block) => {{
        let t = &mut $t[..$rows + $W + 1];
        let mut w = [_mm512_setzero_si512(); 21];
        un!(J < $W { w[J] = t[J]; });
        w[$W] = t[$W];
        for $i in 0..$rows {
            t[$i] = w[0];
            fold_row!(w, $W, $b1, t[$i + $W + 1]);
            $also
        }
        un!(J < $W { t[$rows + J] = w[J]; });
        t[$rows + $W] = w[$W];
    }};
}

/// Does R = W - LESS fold rows with the lowest W digits of b1. t[0..R] become the folded digits
/// (dirty); t[R..R+W+1] are the remaining columns. The caller then multiplies t[0..R] by the higher
/// blocks of b1.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn fold_tile<const W: usize, const LESS: usize>(t: &mut [V], b1: &[V; W]) {
    const { assert!(W <= 20, "the window would not fit in the registers") };
    fold_rows!(W, t, W - LESS, b1, |_i| {});
}

/// Does the same as [`fold_tile`], and reads block c of the table entries, one digit per row.
/// LESS <= 1; if LESS = 1, the last digit is read after the rows.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn fold_tile_reading<const W: usize, const LESS: usize>(
    t: &mut [V],
    b1: &[V; W],
    read: &mut Read<'_>,
    c: usize,
) {
    const { assert!(W <= 20, "the window would not fit in the registers") };
    let masks = masks(read.index, read.first);
    let (entries, z) = read.blocks::<W>(c);
    fold_rows!(W, t, W - LESS, b1, |i| { z[i] = digit(z[i], &masks, &entries, i) });
    if LESS > 0 {
        z[W - 1] = digit(z[W - 1], &masks, &entries, W - 1);
    }
}

/// z[0..K] := (t + q * m) / B with q = t[0] * k0 mod B, for t of K + 1 columns, in each stream. All
/// digits of z except the last are dirty. The carries of all streams propagate in parallel, since
/// one chain of carries takes longer than the row itself.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn finish<const S: usize>(streams: [&mut Reduction<'_>; S]) {
    let n = streams[0].z.len() - 1; // digits that carry into a higher digit
    let mut q = [_mm512_setzero_si512(); S];
    let mut c = q;
    let mut streams = streams.map(|s| (&mut s.z[..=n], &s.t[n..], &s.m));
    for (s, (_, t, m)) in streams.iter().enumerate() {
        q[s] = lo(q[s], t[0], *m.k0);
        c[s] = carry(lo(t[0], q[s], m.m[0]));
    }
    // slices of the same length: the loop needs no bounds checks
    let mut rows =
        streams.each_mut().map(|(z, t, m)| (&mut z[..n], &t[1..][..n], &m.m[..n], &m.m[1..][..n]));
    for j in 0..n {
        for (s, (z, t, m, above)) in rows.iter_mut().enumerate() {
            let v = add(lo(hi(t[j], q[s], m[j]), q[s], above[j]), c[s]);
            z[j] = v;
            c[s] = carry(v);
        }
    }
    for (s, (z, t, m)) in streams.iter_mut().enumerate() {
        z[n] = add(hi(t[n + 1], q[s], m.m[n]), c[s]);
    }
}

/// z :== t / B^K (mod m) in each stream, K a multiple of W.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn reduce<const W: usize, const S: usize>(mut streams: [&mut Reduction<'_>; S]) {
    let k = streams[0].z.len();
    for i in (0..k - W).step_by(W) {
        fold_block::<W, 0, S>(&mut streams, i);
    }
    fold_block::<W, 1, S>(&mut streams, k - W);
    finish(streams);
}

/// Folds R = W - LESS digits from digit i on, tile by tile, in each stream.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn fold_block<const W: usize, const LESS: usize, const S: usize>(
    streams: &mut [&mut Reduction<'_>; S],
    i: usize,
) {
    for s in &mut *streams {
        let (t, b1) = (&mut s.t[i..], block(s.m.b1, 0));
        match &mut s.read {
            Some(read) => fold_tile_reading::<W, LESS>(t, b1, read, i / W),
            None => fold_tile::<W, LESS>(t, b1),
        }
    }
    for j in (W..streams[0].z.len()).step_by(W) {
        for s in &mut *streams {
            let (q, above) = s.t[i..].split_at_mut(W + 1);
            mul_tile::<W, LESS, true>(&mut above[j - W..], q, block(s.m.b1, j));
        }
    }
}
