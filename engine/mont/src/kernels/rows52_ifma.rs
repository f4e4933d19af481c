// Products and squares of numbers of one tile, K = W <= 20 digits, radix B = 2^52, in each of 8
// lanes. All columns stay in registers.
//
//   amm_rows   z[0..W] :== x * y / B^W (mod m)
//   ams_rows   z[0..W] :== x^2 / B^W (mod m); the second form also reads a part of a table
//
// Requires  m odd; 64m <= R = B^W; x*y <= R*m; k0 = -1/m mod B; b1 = B^-1 mod m and
//           half = b1 / 2 mod m, both below m. Digits may be dirty: their low 52 bits count.
// Ensures   product z < 2m + x*y/R, square z < (2 + 2/B)m + x^2/R; both are below 3m if x, y < 7m.
//           All digits except the last are dirty.
// Counts    product 4W^2 + 1, square W(W+1) + 2W^2 + 1 vpmadd52.
// Time      constant: no branch or address depends on an operand.
// Model     amm52_mb8_portable.
//
// Two rows at once. Rows of the product and fold rows (see `tiles52_ifma`) come in pairs: a digit
// of y or b1 is loaded once for four vpmadd52. With one row at a time there is a load for two. On
// Intel's processors more than one vector load per cycle slows down vpmadd52.
//
// Order. A processor prefers the oldest of the operations that are ready. The two digits to fold
// next depend on a chain of some 25 cycles. The chain stands before the bulk of the rows, which it
// does not need. After them, it would begin when they end, and no other work would overlap with it.
//
// Square. t = 2c + d: c are the products of different digits, d the squares of digits. A fold row
// adds t_i * b1 to t. Here all fold rows but one add t_i * half to c, in the same registers. A
// column is doubled and gets its half product of d when it is folded, so c and t need no memory. The last
// fold row adds t_i * b1 to t: it determines the bound, and 2 * half may be nearly 2m. The rows
// before add less than 2m * B^{W-1}, the last one less than m * B^W, and the textbook row m * B^W.
//
// Columns of c gain at most 2W half products of c and 2W of fold rows: with doubling, d, the last
// two rows and a carry (8W + 5) * 2^52 + 2^12 < 2^63.
//! Products and squares of one tile: AVX-512 IFMA.

use core::arch::x86_64::*;

use super::select52_mb8_avx512::{Blocks, SPAN, V, digit, masks};
use super::tiles52_ifma::{Short, add, carry, hi, lo, pin, two_rows};
use super::unroll::{evens, un};

/// Adds the product of x with y to the columns from $at on.
macro_rules! one_row {
    ($w:ident, $at:expr, $W:ident, $x:expr, $y:expr) => {
        $w[$at] = lo($w[$at], $x, $y[0]);
        un!(1 <= J < $W { $w[$at + J] = hi(lo($w[$at + J], $x, $y[J]), $x, $y[J - 1]); });
        $w[$at + $W] = hi($w[$at + $W], $x, $y[$W - 1]);
    };
}

/// Does the textbook row and propagates the carries. $t is column W - 1, $column column W + $j, and
/// $top the last column.
macro_rules! last_row {
    ($W:ident, $z:ident, $m:expr, $k0:expr, $t:expr, |$j:ident| $column:expr, $top:expr) => {{
        let (m, t) = (pin($m), $t);
        let q = lo(_mm512_setzero_si512(), t, $k0);
        let mut c = carry(lo(t, q, m[0])); // the low 52 bits are 0 now
        un!($j < $W {
            if $j + 1 < $W {
                let v = add(hi(lo($column, q, m[$j + 1]), q, m[$j]), c);
                $z[$j] = v;
                c = carry(v);
            }
        });
        $z[$W - 1] = add(hi($top, q, m[$W - 1]), c);
    }};
}

pub(super) use last_row;

/// z :== x * y / B^W (mod m), z < x*y / B^W + 2m.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn amm_rows<const W: usize>(z: &mut [V; W], x: &[V; W], y: &[V; W], m: &Short<'_, W>) {
    const { assert!(W <= 20, "the window would not fit in the registers") };
    let zero = _mm512_setzero_si512();
    let mut w = [zero; 24];
    for i in 0..(W - 1) / 2 {
        let (x0, x1, y, b1) = (x[2 * i], x[2 * i + 1], pin(y), pin(m.b1));
        // first the two digits to fold
        w[0] = lo(w[0], x0, y[0]);
        w[1] = lo(lo(hi(w[1], x0, y[0]), x0, y[1]), x1, y[0]);
        let q0 = w[0];
        let q1 = add(lo(w[1], q0, b1[0]), carry(q0));
        w[2] = add(hi(hi(w[2], x0, y[1]), x1, y[0]), carry(q1));
        w[2] = lo(w[2], x1, y[1]);
        w[3] = hi(w[3], x1, y[1]);
        two_rows!(w, 0, W, x0, x1, y, 2);
        w[2] = lo(hi(w[2], q0, b1[0]), q1, b1[0]);
        w[3] = hi(w[3], q1, b1[0]);
        let b1 = pin(m.b1);
        two_rows!(w, 1, W, q0, q1, b1, 1);
        un!(J < W { w[J] = w[J + 2]; });
        (w[W], w[W + 1], w[W + 2]) = (w[W + 2], zero, zero);
    }
    if W.is_multiple_of(2) {
        let y = pin(y);
        two_rows!(w, 0, W, x[W - 2], x[W - 1], y, 0);
        let (q, b1) = (w[0], pin(m.b1));
        w[1] = add(w[1], carry(q));
        one_row!(w, 1, W, q, b1);
        last_row!(W, z, m.m, *m.k0, w[1], |J| w[J + 2], w[W + 1]);
    } else {
        let y = pin(y);
        one_row!(w, 0, W, x[W - 1], y);
        last_row!(W, z, m.m, *m.k0, w[0], |J| w[J + 1], w[W]);
    }
}

/// The whole square. The macro `$also` is interleaved: it gets each index of a digit once.
macro_rules! square_rows {
    ($W:ident, $z:ident, $x:ident, $m:ident, $also:ident) => {{
        let zero = _mm512_setzero_si512();
        // the columns of c; 44 covers every index in `un`
        let mut w = [zero; 44];
        /// Rows I and I + 1 of c, without the squares of digits.
        macro_rules! products {
            ($r:expr) => {
                if $r + 1 < $W {
                    let x = pin($x);
                    let (x0, x1) = (x[$r], x[$r + 1]);
                    w[2 * $r + 1] = lo(w[2 * $r + 1], x0, x1);
                    w[2 * $r + 2] = hi(w[2 * $r + 2], x0, x1);
                    two_rows!(w, $r, $W, x0, x1, x, $r + 2);
                }
            };
        }
        /// Column k of 2c + d, plus a carry.
        macro_rules! column {
            ($k:expr, $c:expr) => {{
                let (x, c) = ($x[$k / 2], add(add(w[$k], w[$k]), $c));
                if $k % 2 == 0 { lo(c, x, x) } else { hi(c, x, x) }
            }};
        }
        products!(0);
        // the two digits to fold
        let mut q = [lo(zero, $x[0], $x[0]), zero];
        w[1] = lo(w[1], q[0], $m.half[0]);
        q[1] = column!(1, carry(q[0]));
        evens!(I < $W {
            let (half, [q0, q1]) = (pin($m.half), q);
            if I + 3 < $W {
                // first the two digits to fold next
                w[I + 2] = lo(lo(hi(w[I + 2], q0, half[0]), q1, half[0]), q0, half[1]);
                w[I + 3] = lo(hi(w[I + 3], q1, half[0]), q1, half[1]);
                w[I + 3] = lo(hi(w[I + 3], q0, half[1]), q0, half[2]);
                q[0] = column!(I + 2, carry(q1));
                if I + 4 < $W {
                    w[I + 3] = lo(w[I + 3], q[0], half[0]);
                }
                q[1] = column!(I + 3, carry(q[0]));
                w[I + 4] = lo(hi(hi(w[I + 4], q0, half[2]), q1, half[1]), q1, half[2]);
                w[I + 5] = hi(w[I + 5], q1, half[2]);
                two_rows!(w, I + 1, $W, q0, q1, half, 3);
                $also!(I);
                $also!(I + 1);
                products!((I + 2));
            } else if $W % 2 == 1 && I + 3 == $W {
                w[I + 2] = hi(w[I + 2], q0, half[0]);
                un!(1 <= J < $W {
                    w[I + J + 1] = lo(w[I + J + 1], q0, half[J]);
                    w[I + J + 2] = hi(w[I + J + 2], q0, half[J]);
                });
                q = [q1, column!(I + 2, carry(q1))];
                $also!(I);
                $also!(I + 1);
            } else {
                $also!(I);
                if I + 1 < $W {
                    $also!(I + 1);
                }
            }
        });
        // the last fold row is not halved
        let (b1, [q, t]) = (pin($m.b1), q);
        macro_rules! folded {
            ($j:expr) => {{
                let v = hi(column!(($W + $j), zero), q, b1[$j]);
                if $j + 1 < $W { lo(v, q, b1[$j + 1]) } else { v }
            }};
        }
        last_row!($W, $z, $m.m, *$m.k0, lo(t, q, b1[0]), |J| folded!(J), folded!($W - 1));
    }};
}

/// z :== x^2 / B^W (mod m), z < x^2 / B^W + (2 + 2/B)m.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn ams_rows<const W: usize>(z: &mut [V; W], x: &[V; W], m: &Short<'_, W>) {
    const { assert!(W <= 20, "the window would not fit in the registers") };
    macro_rules! nothing {
        ($i:expr) => {};
    }
    square_rows!(W, z, x, m, nothing);
}

/// Does the same as [`ams_rows`], and reads table entries into `out`: see
/// [`Read`](super::select52_mb8_avx512::Read).
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn ams_rows_reading<const W: usize>(
    z: &mut [V; W],
    x: &[V; W],
    m: &Short<'_, W>,
    entries: &[[V; W]; SPAN],
    index: &V,
    first: i64,
    out: &mut [V; W],
) {
    const { assert!(W <= 20, "the window would not fit in the registers") };
    let (masks, entries): (_, Blocks<'_, W>) = (masks(index, first), entries.each_ref());
    macro_rules! read {
        ($i:expr) => {
            out[$i] = digit(out[$i], &masks, &entries, $i)
        };
    }
    square_rows!(W, z, x, m, read);
}
