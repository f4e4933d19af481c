// Tiles of 8 or 4 limbs, in MUL, UMULH and one carry chain at a time. `tiles64.rs` says what each
// operation computes.
//
// Rows. The window w is W registers, and b is in W more. Row i adds a_i * b in two passes: first the
// low halves, whose carry waits in c, then the high halves, one column higher. A pass is one unbroken
// carry chain, and MUL and UMULH leave the flags alone. The passes of a row begin with a new carry,
// so the chains of neighbouring rows overlap. After the low halves, the lowest column is complete: it
// is stored, and its register takes the new top column.
//
// A row takes W mul, W umulh, 2W additions and one instruction to keep c. In a reduction, the lowest
// column becomes 0, so it needs only its carry: this is 1 unless the column was 0 before. The
// multiplication saved is the one that computes q_i.
//
// No overflow: the high half of a product is at most 2^64 - 2; with both carries, the top column is
// part of a sum that fits (tiles64.rs).
//
// Registers: w0.. = the window, b0.. = b or m, f = the factor of a row, l = a half of a product,
// c = the carry of the low halves. The compiler chooses them.
// Soundness: SOUNDNESS.md#inline-assembly.
//! Tiles and carry chains of the limb kernels for AArch64: MUL, UMULH, ADCS.

use core::arch::asm;

use tollgate_cpu::HaveUmulh;

use super::tiles64::{Chains, Tile, array, array_mut};

/// Tiles of eight limbs.
#[derive(Clone, Copy)]
pub(super) struct Eight(pub(super) HaveUmulh);

/// Tiles of four limbs.
#[derive(Clone, Copy)]
pub(super) struct Four(pub(super) HaveUmulh);

// `$name $x, $y, $z` on named operands.
macro_rules! op {
    ($name:literal $x:ident $y:ident $z:ident) => {
        concat!($name, " {", stringify!($x), "}, {", stringify!($y), "}, {", stringify!($z), "}\n")
    };
}
// `$name $x, [$base, 8i]`.
macro_rules! at {
    ($name:literal $x:ident $base:ident $i:literal) => {
        concat!($name, " {", stringify!($x), "}, [{", stringify!($base), "}, #8*", $i, "]\n")
    };
}
// The low half of the first product of a row, into column $x.
macro_rules! first {
    ($f:ident $b:ident $x:ident) => {
        concat!(op!("mul" l $b $f), op!("adds" $x $x l))
    };
}
// The low halves of the other products.
macro_rules! low {
    ($f:ident;;) => { "" };
    ($f:ident; $b:ident $($bs:ident)*; $x:ident $($xs:ident)*) => {
        concat!(op!("mul" l $b $f), op!("adcs" $x $x l), low!($f; $($bs)*; $($xs)*))
    };
}
// The high halves of the other products; the last column is new.
macro_rules! high {
    ($f:ident; $b:ident; $top:ident) => {
        concat!(op!("umulh" l $b $f), op!("adc" $top l c))
    };
    ($f:ident; $b:ident $($bs:ident)*; $x:ident $($xs:ident)*) => {
        concat!(op!("umulh" l $b $f), op!("adcs" $x $x l), high!($f; $($bs)*; $($xs)*))
    };
}
// A row: adds f * b to the columns. $first does so for the low half of the lowest product, and
// $store takes the lowest column.
macro_rules! row {
    ($f:ident, $first:expr, $store:expr; $b0:ident $($b:ident)*; $x1:ident $($x:ident)*; $top:ident)
    => {
        concat!(
            $first, low!($f; $($b)*; $x1 $($x)*), "cset {c}, hs\n", $store,
            op!("umulh" l $b0 $f), op!("adds" $x1 $x1 l), high!($f; $($b)*; $($x)* $top),
        )
    };
}
// Row i of a product: f = a_i.
macro_rules! mul_row {
    ($i:literal; $b0:ident $($b:ident)*; $x0:ident $($x:ident)*) => {
        row!(f, concat!(at!("ldr" f a $i), first!(f $b0 $x0)), at!("str" $x0 t $i);
             $b0 $($b)*; $($x)*; $x0)
    };
}
// Row i of a reduction: f = q_i = x0 * k0. The carry out of the lowest column is 1 unless x0 is 0.
macro_rules! redc_row {
    ($i:literal; $b0:ident $($b:ident)*; $x0:ident $($x:ident)*) => {
        row!(f, concat!(op!("mul" f $x0 k), at!("str" f q $i), "cmp {", stringify!($x0), "}, #1\n"),
             ""; $b0 $($b)*; $($x)*; $x0)
    };
}
// The rows of a tile. The window slides by a column with each row, but stays in its registers.
macro_rules! rows8 {
    ($row:ident) => {
        concat!(
            $row!(0; b0 b1 b2 b3 b4 b5 b6 b7; w0 w1 w2 w3 w4 w5 w6 w7),
            $row!(1; b0 b1 b2 b3 b4 b5 b6 b7; w1 w2 w3 w4 w5 w6 w7 w0),
            $row!(2; b0 b1 b2 b3 b4 b5 b6 b7; w2 w3 w4 w5 w6 w7 w0 w1),
            $row!(3; b0 b1 b2 b3 b4 b5 b6 b7; w3 w4 w5 w6 w7 w0 w1 w2),
            $row!(4; b0 b1 b2 b3 b4 b5 b6 b7; w4 w5 w6 w7 w0 w1 w2 w3),
            $row!(5; b0 b1 b2 b3 b4 b5 b6 b7; w5 w6 w7 w0 w1 w2 w3 w4),
            $row!(6; b0 b1 b2 b3 b4 b5 b6 b7; w6 w7 w0 w1 w2 w3 w4 w5),
            $row!(7; b0 b1 b2 b3 b4 b5 b6 b7; w7 w0 w1 w2 w3 w4 w5 w6),
        )
    };
}
macro_rules! rows4 {
    ($row:ident) => {
        concat!(
            $row!(0; b0 b1 b2 b3; w0 w1 w2 w3),
            $row!(1; b0 b1 b2 b3; w1 w2 w3 w0),
            $row!(2; b0 b1 b2 b3; w2 w3 w0 w1),
            $row!(3; b0 b1 b2 b3; w3 w0 w1 w2),
        )
    };
}

// Row i of a triangle, from column x0 = 2i+1 on; completes columns 2i+1 and 2i+2.
macro_rules! triangle_row {
    ($f:ident; $b0:ident $($b:ident)*; $x0:ident $x1:ident $($x:ident)*; $top:ident, $c:literal
     $d:literal) => {
        concat!(
            row!($f, first!($f $b0 $x0), ""; $b0 $($b)*; $x1 $($x)*; $top),
            at!("str" $x0 t $c), at!("str" $x1 t $d),
        )
    };
}
// The last row has one product.
macro_rules! last_row {
    ($f:ident $b:ident $x:ident $top:ident $c:literal $d:literal) => {
        concat!(
            first!($f $b $x), op!("umulh" l $b $f),
            "adc {", stringify!($top), "}, {l}, xzr\n",
            at!("str" $x t $c), at!("str" $top t $d),
        )
    };
}
// Column c of a triangle is in register c mod W. Columns 1 to W - 1 begin at 0.
macro_rules! triangle8 {
    () => {
        concat!(
            "str xzr, [{t}]\n", "str xzr, [{t}, #8*15]\n",
            triangle_row!(b0; b1 b2 b3 b4 b5 b6 b7; w1 w2 w3 w4 w5 w6 w7; w0, 1 2),
            triangle_row!(b1; b2 b3 b4 b5 b6 b7; w3 w4 w5 w6 w7 w0; w1, 3 4),
            triangle_row!(b2; b3 b4 b5 b6 b7; w5 w6 w7 w0 w1; w2, 5 6),
            triangle_row!(b3; b4 b5 b6 b7; w7 w0 w1 w2; w3, 7 8),
            triangle_row!(b4; b5 b6 b7; w1 w2 w3; w4, 9 10),
            triangle_row!(b5; b6 b7; w3 w4; w5, 11 12),
            last_row!(b6 b7 w5 w6 13 14),
        )
    };
}
macro_rules! triangle4 {
    () => {
        concat!(
            "str xzr, [{t}]\n", "str xzr, [{t}, #8*7]\n",
            triangle_row!(b0; b1 b2 b3; w1 w2 w3; w0, 1 2),
            triangle_row!(b1; b2 b3; w3 w0; w1, 3 4),
            last_row!(b2 b3 w1 w2 5 6),
        )
    };
}

macro_rules! tile {
    ($width:ident, $w:literal, $rows:ident, $triangle:ident; $($j:literal $x:ident $b:ident),*) => {
        impl Tile<$w> for $width {
            #[inline(always)]
            fn rows(self, t: &mut [u64], w: &mut [u64; $w], a: &[u64], b: &[u64]) {
                let (t, a, b) = (array_mut::<$w>(t), array::<$w>(a), array::<$w>(b));
                // SAFETY: every AArch64 processor has these instructions; all offsets are inside
                // the arrays; the stack is not used.
                unsafe {
                    asm!(
                        $rows!(mul_row),
                        t = in(reg) t.as_mut_ptr(), a = in(reg) a.as_ptr(),
                        f = out(reg) _, l = out(reg) _, c = out(reg) _,
                        $($b = in(reg) b[$j], $x = inout(reg) w[$j],)*
                        options(nostack),
                    );
                }
            }

            #[inline(always)]
            fn next(
                self,
                t: &mut [u64],
                w: &mut [u64; $w],
                carry: &mut u64,
                a: &[u64],
                b: &[u64],
            ) {
                // SAFETY: as for `rows`.
                unsafe {
                    asm!(
                        "cmp {c}, #1", // C := the carry
                        $(at!("ldr" l t $j), op!("adcs" $x $x l),)*
                        "cset {c}, hs",
                        t = in(reg) array::<$w>(t).as_ptr(), c = inout(reg) *carry,
                        l = out(reg) _,
                        $($x = inout(reg) w[$j],)*
                        options(nostack, readonly),
                    );
                }
                self.rows(t, w, a, b);
            }

            #[inline(always)]
            fn redc(self, q: &mut [u64; $w], t: &[u64], m: &[u64], k0: u64) -> [u64; $w] {
                let (t, m) = (array::<$w>(t), array::<$w>(m));
                let mut w = *t;
                // SAFETY: as for `rows`.
                unsafe {
                    asm!(
                        $rows!(redc_row),
                        q = in(reg) q.as_mut_ptr(), k = in(reg) k0,
                        f = out(reg) _, l = out(reg) _, c = out(reg) _,
                        $($b = in(reg) m[$j], $x = inout(reg) w[$j],)*
                        options(nostack),
                    );
                }
                w
            }

            #[inline(always)]
            fn triangle(self, t: &mut [u64], a: &[u64]) {
                let (t, a) = (array_mut::<{ 2 * $w }>(t), array::<$w>(a));
                // SAFETY: as for `rows`.
                unsafe {
                    asm!(
                        $triangle!(),
                        t = in(reg) t.as_mut_ptr(), l = out(reg) _, c = out(reg) _,
                        $($b = in(reg) a[$j], $x = inout(reg) 0_u64 => _,)*
                        options(nostack),
                    );
                }
            }
        }
    };
}

tile!(Eight, 8, rows8, triangle8;
    0 w0 b0, 1 w1 b1, 2 w2 b2, 3 w3 b3, 4 w4 b4, 5 w5 b5, 6 w6 b6, 7 w7 b7);
tile!(Four, 4, rows4, triangle4; 0 w0 b0, 1 w1 b1, 2 w2 b2, 3 w3 b3);

macro_rules! chains {
    ($width:ident, $w:literal, $($j:literal $x:ident),*; $($i:literal $d:ident $e:ident),*) => {
        impl Chains<$w> for $width {
            #[inline(always)]
            fn diagonal(self, t: &mut [u64], a: &[u64], carries: &mut [u64; 2]) {
                let (t, a) = (array_mut::<{ 2 * $w }>(t), array::<$w>(a));
                let [squares, doubles] = carries;
                // SAFETY: as for `rows`.
                unsafe {
                    asm!(
                        "cmp {o}, #1", // C := the carry of the doubled columns
                        $(op!("adcs" $d $d $d), op!("adcs" $e $e $e),)*
                        "cset {o}, hs",
                        "cmp {c}, #1", // C := the carry of the squares
                        $(at!("ldr" f a $i),
                          op!("mul" l f f), op!("adcs" $d $d l),
                          op!("umulh" l f f), op!("adcs" $e $e l),)*
                        "cset {c}, hs",
                        a = in(reg) a.as_ptr(), f = out(reg) _, l = out(reg) _,
                        c = inout(reg) *squares, o = inout(reg) *doubles,
                        $($d = inout(reg) t[2 * $i], $e = inout(reg) t[2 * $i + 1],)*
                        options(nostack, readonly),
                    );
                }
            }

            #[inline(always)]
            fn put(self, t: &mut [u64], w: &[u64; $w], carry: u64) {
                let t = array_mut::<$w>(t);
                // SAFETY: as for `rows`.
                unsafe {
                    asm!(
                        "cmp {c}, #1", // C := the carry
                        $(concat!("adcs {", stringify!($x), "}, {", stringify!($x), "}, xzr"),)*
                        c = in(reg) carry,
                        $($x = inout(reg) w[$j] => t[$j],)*
                        options(nostack, nomem),
                    );
                }
            }

            #[inline(always)]
            fn add(self, t: &mut [u64], w: &mut [u64; $w], carry: u64, over: &mut u64) {
                let t = array_mut::<$w>(t);
                // SAFETY: as for `rows`.
                unsafe {
                    asm!(
                        "cmp {c}, #1", // C := carry
                        $(at!("ldr" l t $j), op!("adcs" $x $x l),)*
                        "cset {c}, hs",
                        "cmp {o}, #1", // C := over
                        $(concat!("adcs {", stringify!($x), "}, {", stringify!($x), "}, xzr"),)*
                        "adc {o}, {c}, xzr", // at most 1
                        t = in(reg) t.as_ptr(), l = out(reg) _,
                        c = inout(reg) carry => _, o = inout(reg) *over,
                        $($x = inout(reg) w[$j],)*
                        options(nostack, readonly),
                    );
                }
                *t = *w;
            }

            #[inline(always)]
            fn sub(self, z: &mut [u64], t: [u64; $w], c: u64, m: &[u64], borrow: &mut u64) {
                let (z, m) = (array_mut::<$w>(z), array::<$w>(m));
                // SAFETY: as for `rows`.
                unsafe {
                    asm!(
                        "neg {c}, {c}", // 0 or all ones; AND leaves the borrow alone
                        "cmp xzr, {o}", // C := 1 - borrow
                        $(at!("ldr" l m $j), op!("and" l l c), op!("sbcs" $x $x l),)*
                        "cset {o}, lo",
                        m = in(reg) m.as_ptr(), l = out(reg) _,
                        c = inout(reg) c => _, o = inout(reg) *borrow,
                        $($x = inout(reg) t[$j] => z[$j],)*
                        options(nostack, readonly),
                    );
                }
            }
        }
    };
}

chains!(Eight, 8, 0 w0, 1 w1, 2 w2, 3 w3, 4 w4, 5 w5, 6 w6, 7 w7;
    0 d0 e0, 1 d1 e1, 2 d2 e2, 3 d3 e3, 4 d4 e4, 5 d5 e5, 6 d6 e6, 7 d7 e7);
chains!(Four, 4, 0 w0, 1 w1, 2 w2, 3 w3; 0 d0 e0, 1 d1 e1, 2 d2 e2, 3 d3 e3);
