// Tiles of 8 or 4 limbs, in MULX and two carry chains (ADCX on CF, ADOX on OF).
//
//   first       (t, w) := a * b + c                (low half, high half)
//   next        (t, w) := a * b + t + w            (t and w where the product before left them)
//   redc        q, w   :  t + q * m = w * 2^{64W}  (the low half is 0)
//   triangle    t[0..2W] := sum of a_i * a_j * 2^{64(i+j)}, i < j
//
// Rows. W + 1 registers; row i adds a_i * b to the window of columns i..i+W, whose lowest column is
// then done. The window slides by naming: column c lives in register c mod (W + 1), so nothing
// moves. One row: W mulx with b in memory, W adcx, W adox, and the end of both chains. Each row
// clears both flags, though the row before leaves them clear: with the chains cut, rows overlap
// (8.6 cycles a row of 8 on Zen 5; 11.0 with one unbroken pair of chains).
//
// No overflow: a*b + t + w <= (2^{64W} - 1)^2 + 2 * (2^{64W} - 1) = 2^{128W} - 1.
//
// Registers: rdi = t, rsi = a (or q), rcx = b (or m), rax = l, the window r8..r15 and rbx. rbx is
// saved by hand: asm operands may not name it, and a row needs one register more than they may.
// Soundness: SOUNDNESS.md#inline-assembly.
//! Tiles of the limb kernels: MULX, ADCX, ADOX.

use core::arch::asm;

use tollgate_cpu::HaveAdxBmi2;

use super::chains64_mulx::Chains;

/// A tile width and its operations: the first W limbs of each operand.
pub(super) trait Tile: Chains {
    fn first(self, t: &mut [u64], w: &mut [u64], a: &[u64], b: &[u64], c: &[u64]);
    fn next(self, t: &mut [u64], w: &mut [u64], a: &[u64], b: &[u64]);
    fn redc(self, q: &mut [u64], w: &mut [u64], t: &[u64], m: &[u64], k0: u64);
    fn triangle(self, t: &mut [u64], a: &[u64]);
}

/// Eight limbs.
#[derive(Clone, Copy)]
pub(super) struct Eight(pub(super) HaveAdxBmi2);

/// Four limbs.
#[derive(Clone, Copy)]
pub(super) struct Four(pub(super) HaveAdxBmi2);

// One product of a row: columns $x (low half) and $y (high half); rax and $h are free.
macro_rules! step {
    ($b:literal, $j:literal, $x:literal, $y:literal, $h:literal) => {
        concat!(
            "mulx ", $h, ", rax, [", $b, " + 8*", $j, "]\n", "adcx ", $x, ", rax\n", "adox ", $y,
            ", ", $h, "\n",
        )
    };
}
// The last product of a row: its high half opens the new column $h, which takes both carries.
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
            "mov rax, 0\n", // keeps the flags
            "adox ",
            $h,
            ", rax\n",
            "adcx ",
            $h,
            ", rax\n",
        )
    };
}
// Eight products with rdx; the window is $x0..$x7, $h becomes its new top.
macro_rules! products8 {
    ($x0:literal $x1:literal $x2:literal $x3:literal $x4:literal $x5:literal $x6:literal
     $x7:literal $h:literal) => {
        concat!(
            "xor eax, eax\n", // CF = OF = 0
            step!("rcx", 0, $x0, $x1, $h),
            step!("rcx", 1, $x1, $x2, $h),
            step!("rcx", 2, $x2, $x3, $h),
            step!("rcx", 3, $x3, $x4, $h),
            step!("rcx", 4, $x4, $x5, $h),
            step!("rcx", 5, $x5, $x6, $h),
            step!("rcx", 6, $x6, $x7, $h),
            last!("rcx", 7, $x7, $h),
        )
    };
}
macro_rules! products4 {
    ($x0:literal $x1:literal $x2:literal $x3:literal $h:literal) => {
        concat!(
            "xor eax, eax\n",
            step!("rcx", 0, $x0, $x1, $h),
            step!("rcx", 1, $x1, $x2, $h),
            step!("rcx", 2, $x2, $x3, $h),
            last!("rcx", 3, $x3, $h),
        )
    };
}
// Row i of a product: rdx = a_i; the lowest column is done.
macro_rules! mul_row {
    ($products:ident $i:literal $x0:literal $($x:literal)*) => {
        concat!(
            "mov rdx, [rsi + 8*", $i, "]\n",
            $products!($x0 $($x)*),
            "mov [rdi + 8*", $i, "], ", $x0, "\n",
        )
    };
}
// Row i of a reduction: q_i = x0 * k0, on the stack; the lowest column becomes 0.
macro_rules! redc_row {
    ($products:ident $i:literal $x0:literal $($x:literal)*) => {
        concat!(
            "mov rdx, ", $x0, "\n",
            "imul rdx, [rsp]\n",
            "mov [rsi + 8*", $i, "], rdx\n",
            $products!($x0 $($x)*),
        )
    };
}
// The window of each row in turn: registers rotate.
macro_rules! rows8 {
    ($row:ident) => {
        concat!(
            $row!(products8 0 "r8" "r9" "r10" "r11" "r12" "r13" "r14" "r15" "rbx"),
            $row!(products8 1 "r9" "r10" "r11" "r12" "r13" "r14" "r15" "rbx" "r8"),
            $row!(products8 2 "r10" "r11" "r12" "r13" "r14" "r15" "rbx" "r8" "r9"),
            $row!(products8 3 "r11" "r12" "r13" "r14" "r15" "rbx" "r8" "r9" "r10"),
            $row!(products8 4 "r12" "r13" "r14" "r15" "rbx" "r8" "r9" "r10" "r11"),
            $row!(products8 5 "r13" "r14" "r15" "rbx" "r8" "r9" "r10" "r11" "r12"),
            $row!(products8 6 "r14" "r15" "rbx" "r8" "r9" "r10" "r11" "r12" "r13"),
            $row!(products8 7 "r15" "rbx" "r8" "r9" "r10" "r11" "r12" "r13" "r14"),
        )
    };
}
macro_rules! rows4 {
    ($row:ident) => {
        concat!(
            $row!(products4 0 "r8" "r9" "r10" "r11" "rbx"),
            $row!(products4 1 "r9" "r10" "r11" "rbx" "r8"),
            $row!(products4 2 "r10" "r11" "rbx" "r8" "r9"),
            $row!(products4 3 "r11" "rbx" "r8" "r9" "r10"),
        )
    };
}

// Row i of a triangle: rdx = a_i; columns 2i+1 and 2i+2 are done.
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
// The registers of column c of a triangle: c mod 9, c mod 5; the ninth (fifth) is rbx.
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
// The operations of one width: the window before the rows, the rows, the window after them.
macro_rules! tile {
    ($width:ident, $w:literal, $rows:ident, $triangle:ident,
     first: $x0:literal $(, $j:literal $x:literal)*;
     after: $($i:literal $y:literal),*;
     registers: $($name:tt)*) => {
        impl Tile for $width {
            #[inline(always)]
            fn first(self, t: &mut [u64], w: &mut [u64], a: &[u64], b: &[u64], c: &[u64]) {
                let (t, w, c) = (array_mut::<$w>(t), array_mut::<$w>(w), array::<$w>(c));
                let (a, b) = (array::<$w>(a), array::<$w>(b));
                // SAFETY: self holds the proof of BMI2 and ADX; the arrays are as long as the
                // offsets reach; rbx and the stack are as they were at the end.
                unsafe {
                    asm!(
                        "push rbx",
                        concat!("mov ", $x0, ", [rax]"),
                        $(concat!("mov ", $x, ", [rax + 8*", $j, "]"),)*
                        "push rdx", // w
                        $rows!(mul_row),
                        "pop rdx",
                        $(concat!("mov [rdx + 8*", $i, "], ", $y),)*
                        "pop rbx",
                        in("rdi") t.as_mut_ptr(), inout("rax") c.as_ptr() => _,
                        in("rsi") a.as_ptr(), in("rcx") b.as_ptr(),
                        inout("rdx") w.as_mut_ptr() => _,
                        $(out($name) _,)*
                    );
                }
            }

            #[inline(always)]
            fn next(self, t: &mut [u64], w: &mut [u64], a: &[u64], b: &[u64]) {
                let (t, w) = (array_mut::<$w>(t), array_mut::<$w>(w));
                let (a, b) = (array::<$w>(a), array::<$w>(b));
                // SAFETY: as for `first`.
                unsafe {
                    asm!(
                        "push rbx",
                        concat!("mov ", $x0, ", [rdi]\n", "add ", $x0, ", [rax]"),
                        $(concat!("mov ", $x, ", [rdi + 8*", $j, "]\n",
                                  "adc ", $x, ", [rax + 8*", $j, "]"),)*
                        "push rax",
                        "sbb rax, rax", // the carry of t + w, as a mask
                        "push rax",
                        $rows!(mul_row),
                        "pop rdx",
                        "pop rax",
                        "add rdx, 1", // the mask, back in CF; it belongs to column W
                        $(concat!("adc ", $y, ", 0\n", "mov [rax + 8*", $i, "], ", $y),)*
                        "pop rbx",
                        in("rdi") t.as_mut_ptr(), inout("rax") w.as_mut_ptr() => _,
                        in("rsi") a.as_ptr(), in("rcx") b.as_ptr(), out("rdx") _,
                        $(out($name) _,)*
                    );
                }
            }

            #[inline(always)]
            fn redc(self, q: &mut [u64], w: &mut [u64], t: &[u64], m: &[u64], k0: u64) {
                let (q, w) = (array_mut::<$w>(q), array_mut::<$w>(w));
                let (t, m) = (array::<$w>(t), array::<$w>(m));
                // SAFETY: as for `first`.
                unsafe {
                    asm!(
                        "push rbx",
                        concat!("mov ", $x0, ", [rax]"),
                        $(concat!("mov ", $x, ", [rax + 8*", $j, "]"),)*
                        "push rdx", // w
                        "push rdi",
                        $rows!(redc_row),
                        "pop rdi",
                        "pop rdx",
                        $(concat!("mov [rdx + 8*", $i, "], ", $y),)*
                        "pop rbx",
                        inout("rax") t.as_ptr() => _, in("rsi") q.as_mut_ptr(),
                        in("rcx") m.as_ptr(), in("rdi") k0, inout("rdx") w.as_mut_ptr() => _,
                        $(out($name) _,)*
                    );
                }
            }

            #[inline(always)]
            fn triangle(self, t: &mut [u64], a: &[u64]) {
                let (t, a) = (array_mut::<{ 2 * $w }>(t), array::<$w>(a));
                // SAFETY: as for `first`.
                unsafe {
                    asm!(
                        "push rbx",
                        $triangle!(),
                        "pop rbx",
                        in("rdi") t.as_mut_ptr(), in("rsi") a.as_ptr(), out("rax") _,
                        out("rdx") _,
                        $(out($name) _,)*
                    );
                }
            }
        }
    };
}

tile!(Eight, 8, rows8, triangle8,
    first: "r8", 1 "r9", 2 "r10", 3 "r11", 4 "r12", 5 "r13", 6 "r14", 7 "r15";
    after: 0 "rbx", 1 "r8", 2 "r9", 3 "r10", 4 "r11", 5 "r12", 6 "r13", 7 "r14";
    registers: "r8" "r9" "r10" "r11" "r12" "r13" "r14" "r15");
tile!(Four, 4, rows4, triangle4,
    first: "r8", 1 "r9", 2 "r10", 3 "r11";
    after: 0 "rbx", 1 "r8", 2 "r9", 3 "r10";
    registers: "r8" "r9" "r10" "r11");

pub(super) fn array<const W: usize>(x: &[u64]) -> &[u64; W] {
    x.first_chunk().expect("a tile is as long as its operands")
}

pub(super) fn array_mut<const W: usize>(x: &mut [u64]) -> &mut [u64; W] {
    x.first_chunk_mut().expect("a tile is as long as its operands")
}
