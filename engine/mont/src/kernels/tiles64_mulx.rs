// Tiles of 8 or 4 limbs, in MULX and two carry chains (ADCX on CF, ADOX on OF). `tiles64.rs` says
// what each operation computes.
//
// Rows. The window w is W registers. Row i adds a_i * b; the lowest column of the window is then
// complete. Each high half goes to the register that the previous product has freed. So the window
// slides by a column but stays in its registers, from tile to tile. One row is W mulx with b in
// memory, W adcx, W adox, and the end of both chains. Each row clears both flags, although the
// previous row leaves them clear: this makes the chains independent, and rows overlap (8.6 cycles a
// row of 8 on Zen 5; 11.0 with one unbroken pair of chains).
//
// Registers: rdi = t (or k0), rsi = a (or q), rcx = b (or m), rdx = the factor of a row, rax = low
// halves, rbx = the lowest column, r8..r15 = the window. The assembly saves rbx itself: asm
// operands may not name rbx, but a row needs all registers that they may name and rbx.
// Soundness: SOUNDNESS.md#inline-assembly.
//! Tiles of the limb kernels: MULX, ADCX, ADOX.
#![allow(unsafe_code, reason = "inline assembly")]

use core::arch::asm;

use super::chains64_mulx::{Eight, Four};
use super::tiles64::{Tile, array, array_mut};

// The products of a row: adds rdx * b to the window; the lowest column ends in rbx.
macro_rules! row {
    ($x0:literal $($j:literal $x:literal $y:literal),*; $top:literal) => {
        concat!(
            "mov rbx, ", $x0, "\n",
            "xor eax, eax\n", // CF = OF = 0
            "mulx ", $x0, ", rax, [rcx]\n", "adcx rbx, rax\n",
            // the next higher limb moves down, and its register takes the next high half
            $("adox ", $y, ", ", $x, "\n",
              "mulx ", $x, ", rax, [rcx + 8*", $j, "]\n", "adcx ", $y, ", rax\n",)*
            "mov rax, 0\n", // keeps the flags
            "adox ", $top, ", rax\n", "adcx ", $top, ", rax\n",
        )
    };
}
macro_rules! row8 {
    () => {
        row!("r8" 1 "r9" "r8", 2 "r10" "r9", 3 "r11" "r10", 4 "r12" "r11", 5 "r13" "r12",
             6 "r14" "r13", 7 "r15" "r14"; "r15")
    };
}
macro_rules! row4 {
    () => { row!("r8" 1 "r9" "r8", 2 "r10" "r9", 3 "r11" "r10"; "r11") };
}
// Row i of a product: rdx = a_i; completes the lowest column.
macro_rules! mul_row {
    ($row:ident $i:literal) => {
        concat!("mov rdx, [rsi + 8*", $i, "]\n", $row!(), "mov [rdi + 8*", $i, "], rbx\n")
    };
}
// Row i of a reduction: q_i = x0 * k0; the lowest column becomes 0.
macro_rules! redc_row {
    ($row:ident $i:literal) => {
        concat!("mov rdx, r8\n", "imul rdx, rdi\n", "mov [rsi + 8*", $i, "], rdx\n", $row!())
    };
}

// One product of a row of a triangle: adds the low half to column $x, the high half to column $y.
macro_rules! step {
    ($b:literal, $j:literal, $x:literal, $y:literal, $h:literal) => {
        concat!(
            "mulx ", $h, ", rax, [", $b, " + 8*", $j, "]\n", "adcx ", $x, ", rax\n", "adox ", $y,
            ", ", $h, "\n",
        )
    };
}
// The last product of a row: its high half starts the new column $h, which takes both carries.
macro_rules! last {
    ($b:literal, $j:literal, $x:literal, $h:literal) => {
        concat!(
            "mulx ",
            $h,
            ", rax, [",
            $b,
            " + 8*",
            $j,
            "]\n",
            "adcx ",
            $x,
            ", rax\n",
            "mov rax, 0\n",
            "adox ",
            $h,
            ", rax\n",
            "adcx ",
            $h,
            ", rax\n",
        )
    };
}
// Row i of a triangle: rdx = a_i; completes columns 2i+1 and 2i+2.
macro_rules! triangle_row {
    ($i:literal, $steps:expr, $c:literal $x:literal, $d:literal $y:literal) => {
        concat!(
            "mov rdx, [rsi + 8*",
            $i,
            "]\n",
            "xor eax, eax\n",
            $steps,
            "mov [rdi + 8*",
            $c,
            "], ",
            $x,
            "\n",
            "mov [rdi + 8*",
            $d,
            "], ",
            $y,
            "\n",
        )
    };
}
// Column c of a triangle is in register c mod 9 (8 limbs) or c mod 5 (4 limbs). The last register
// is rbx.
macro_rules! triangle8 {
    () => {
        concat!(
            "xor r9d, r9d\n", "xor r10d, r10d\n", "xor r11d, r11d\n",
            "xor r12d, r12d\n", "xor r13d, r13d\n", "xor r14d, r14d\n",
            "xor r15d, r15d\n",
            "mov [rdi], r9\n", "mov [rdi + 8*15], r9\n",
            triangle_row!(0, concat!(
                step!("rsi", 1, "r9", "r10", "rbx"), step!("rsi", 2, "r10", "r11", "rbx"),
                step!("rsi", 3, "r11", "r12", "rbx"), step!("rsi", 4, "r12", "r13", "rbx"),
                step!("rsi", 5, "r13", "r14", "rbx"), step!("rsi", 6, "r14", "r15", "rbx"),
                last!("rsi", 7, "r15", "rbx")), 1 "r9", 2 "r10"),
            triangle_row!(1, concat!(
                step!("rsi", 2, "r11", "r12", "r8"), step!("rsi", 3, "r12", "r13", "r8"),
                step!("rsi", 4, "r13", "r14", "r8"), step!("rsi", 5, "r14", "r15", "r8"),
                step!("rsi", 6, "r15", "rbx", "r8"), last!("rsi", 7, "rbx", "r8")),
                3 "r11", 4 "r12"),
            triangle_row!(2, concat!(
                step!("rsi", 3, "r13", "r14", "r9"), step!("rsi", 4, "r14", "r15", "r9"),
                step!("rsi", 5, "r15", "rbx", "r9"), step!("rsi", 6, "rbx", "r8", "r9"),
                last!("rsi", 7, "r8", "r9")), 5 "r13", 6 "r14"),
            triangle_row!(3, concat!(
                step!("rsi", 4, "r15", "rbx", "r10"), step!("rsi", 5, "rbx", "r8", "r10"),
                step!("rsi", 6, "r8", "r9", "r10"), last!("rsi", 7, "r9", "r10")),
                7 "r15", 8 "rbx"),
            triangle_row!(4, concat!(
                step!("rsi", 5, "r8", "r9", "r11"), step!("rsi", 6, "r9", "r10", "r11"),
                last!("rsi", 7, "r10", "r11")), 9 "r8", 10 "r9"),
            triangle_row!(5, concat!(
                step!("rsi", 6, "r10", "r11", "r12"), last!("rsi", 7, "r11", "r12")),
                11 "r10", 12 "r11"),
            triangle_row!(6, last!("rsi", 7, "r12", "r13"), 13 "r12", 14 "r13"),
        )
    };
}
macro_rules! triangle4 {
    () => {
        concat!(
            "xor r9d, r9d\n", "xor r10d, r10d\n", "xor r11d, r11d\n",
            "mov [rdi], r9\n", "mov [rdi + 8*7], r9\n",
            triangle_row!(0, concat!(
                step!("rsi", 1, "r9", "r10", "rbx"), step!("rsi", 2, "r10", "r11", "rbx"),
                last!("rsi", 3, "r11", "rbx")), 1 "r9", 2 "r10"),
            triangle_row!(1, concat!(
                step!("rsi", 2, "r11", "rbx", "r8"), last!("rsi", 3, "rbx", "r8")),
                3 "r11", 4 "rbx"),
            triangle_row!(2, last!("rsi", 3, "r8", "r9"), 5 "r8", 6 "r9"),
        )
    };
}
macro_rules! tile {
    ($width:ident, $w:literal, $row:ident, $triangle:ident; $($j:literal $x:tt),*) => {
        impl Tile<$w> for $width {
            #[inline(always)]
            fn rows(self, t: &mut [u64], w: &mut [u64; $w], a: &[u64], b: &[u64]) {
                let (t, a, b) = (array_mut::<$w>(t), array::<$w>(a), array::<$w>(b));
                // SAFETY: self contains the proof of BMI2 and ADX; all offsets are inside the
                // arrays; rbx and the stack pointer are restored at the end.
                unsafe {
                    asm!(
                        "push rbx",
                        $(mul_row!($row $j),)*
                        "pop rbx",
                        in("rdi") t.as_mut_ptr(), in("rsi") a.as_ptr(), in("rcx") b.as_ptr(),
                        out("rax") _, out("rdx") _,
                        $(inout($x) w[$j],)*
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
                let (t, a, b) = (array_mut::<$w>(t), array::<$w>(a), array::<$w>(b));
                // SAFETY: as for `rows`.
                unsafe {
                    asm!(
                        "add rdx, -1", // CF := the carry
                        $(concat!("adc ", $x, ", [rdi + 8*", $j, "]"),)*
                        "mov edx, 0", // keeps CF
                        "adc rdx, 0",
                        "push rbx",
                        "push rdx",
                        $(mul_row!($row $j),)*
                        "pop rdx",
                        "pop rbx",
                        in("rdi") t.as_mut_ptr(), in("rsi") a.as_ptr(), in("rcx") b.as_ptr(),
                        inout("rdx") *carry, out("rax") _,
                        $(inout($x) w[$j],)*
                    );
                }
            }

            #[inline(always)]
            fn redc(self, q: &mut [u64; $w], t: &[u64], m: &[u64], k0: u64) -> [u64; $w] {
                let (t, m) = (array::<$w>(t), array::<$w>(m));
                let mut w = *t;
                // SAFETY: as for `rows`.
                unsafe {
                    asm!(
                        "push rbx",
                        $(redc_row!($row $j),)*
                        "pop rbx",
                        in("rdi") k0, in("rsi") q.as_mut_ptr(), in("rcx") m.as_ptr(),
                        out("rax") _, out("rdx") _,
                        $(inout($x) w[$j],)*
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
                        "push rbx",
                        $triangle!(),
                        "pop rbx",
                        in("rdi") t.as_mut_ptr(), in("rsi") a.as_ptr(), out("rax") _,
                        out("rdx") _,
                        $(out($x) _,)*
                    );
                }
            }
        }
    };
}

tile!(Eight, 8, row8, triangle8;
    0 "r8", 1 "r9", 2 "r10", 3 "r11", 4 "r12", 5 "r13", 6 "r14", 7 "r15");
tile!(Four, 4, row4, triangle4; 0 "r8", 1 "r9", 2 "r10", 3 "r11");
