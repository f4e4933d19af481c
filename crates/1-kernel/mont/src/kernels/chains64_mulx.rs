// Sums and differences of one tile, as unbroken carry chains.
//
//   diagonal    t := 2t + sum of a_i^2 * 2^{128i} + carries, t of two tiles
//   add         t := t + w + carry
//   sub         z := t - c * m - borrow, c = 0 or 1
//
// A carry is 0 or 1 on both sides, so longer numbers go tile by tile.
// Soundness: SOUNDNESS.md#inline-assembly.
//! Carry chains of the limb kernels.

use core::arch::asm;

use super::tiles64_mulx::{Eight, Four, array, array_mut};

/// The first W limbs of each operand, W as for [`super::tiles64_mulx::Tile`].
pub(super) trait Chains: Copy {
    fn diagonal(self, t: &mut [u64], a: &[u64], carries: &mut [u64; 2]);
    fn add(self, t: &mut [u64], w: &[u64], carry: &mut u64);
    fn sub(self, z: &mut [u64], t: &[u64], c: u64, m: &[u64], borrow: &mut u64);
}

// Columns 2i, 2i+1: twice the products above the diagonal (chain OF), and a_i^2 (chain CF).
macro_rules! diagonal {
    ($i:literal $c:literal $d:literal) => {
        concat!(
            "mov rdx, [rsi + 8*",
            $i,
            "]\n",
            "mulx r9, r8, rdx\n",
            "mov r10, [rdi + 8*",
            $c,
            "]\n",
            "adox r10, r10\n",
            "adcx r10, r8\n",
            "mov [rdi + 8*",
            $c,
            "], r10\n",
            "mov r11, [rdi + 8*",
            $d,
            "]\n",
            "adox r11, r11\n",
            "adcx r11, r9\n",
            "mov [rdi + 8*",
            $d,
            "], r11\n",
        )
    };
}
macro_rules! chains {
    ($width:ident, $w:literal, $($d:literal)*; $($i:literal $x:literal $y:literal),*) => {
        impl Chains for $width {
            #[inline(always)]
            fn diagonal(self, t: &mut [u64], a: &[u64], carries: &mut [u64; 2]) {
                let (t, a) = (array_mut::<{ 2 * $w }>(t), array::<$w>(a));
                // SAFETY: self holds the proof of BMI2 and ADX; the arrays are as long as the
                // offsets reach; the stack is not used.
                unsafe {
                    asm!(
                        "xor eax, eax", // CF = OF = 0
                        "mov rax, -1",
                        "adcx rcx, rax", // CF := the first carry
                        "adox rdx, rax", // OF := the second
                        "mov ecx, 0",
                        $(diagonal!($i $x $y),)*
                        "mov eax, 0",
                        "adcx rcx, rax",
                        "adox rax, rax",
                        in("rdi") t.as_mut_ptr(), in("rsi") a.as_ptr(), out("rax") carries[1],
                        inout("rcx") carries[0], inout("rdx") carries[1] => _,
                        out("r8") _, out("r9") _, out("r10") _, out("r11") _,
                        options(nostack),
                    );
                }
            }

            #[inline(always)]
            fn add(self, t: &mut [u64], w: &[u64], carry: &mut u64) {
                let (t, w) = (array_mut::<$w>(t), array::<$w>(w));
                // SAFETY: as for `diagonal`.
                unsafe {
                    asm!(
                        "add {c}, -1", // CF := c
                        $(concat!("mov {x}, [{t} + 8*", $d, "]\n", "adc {x}, [{w} + 8*", $d, "]\n",
                                  "mov [{t} + 8*", $d, "], {x}"),)*
                        "mov {c:e}, 0",
                        "adc {c}, 0",
                        t = in(reg) t.as_mut_ptr(), w = in(reg) w.as_ptr(), x = out(reg) _,
                        c = inout(reg) *carry,
                        options(nostack),
                    );
                }
            }

            #[inline(always)]
            fn sub(self, z: &mut [u64], t: &[u64], c: u64, m: &[u64], borrow: &mut u64) {
                let (z, t, m) = (array_mut::<$w>(z), array::<$w>(t), array::<$w>(m));
                // SAFETY: as for `diagonal`.
                unsafe {
                    asm!(
                        "add {b}, -1", // CF := b
                        // a mask would take an AND, which clears the borrow; MULX keeps it
                        $(concat!("mulx {h}, {l}, [{m} + 8*", $d, "]\n",
                                  "mov {x}, [{t} + 8*", $d, "]\n", "sbb {x}, {l}\n",
                                  "mov [{z} + 8*", $d, "], {x}"),)*
                        "mov {b:e}, 0",
                        "adc {b}, 0",
                        z = in(reg) z.as_mut_ptr(), t = in(reg) t.as_ptr(), m = in(reg) m.as_ptr(),
                        x = out(reg) _, l = out(reg) _, h = out(reg) _, b = inout(reg) *borrow,
                        in("rdx") c,
                        options(nostack),
                    );
                }
            }
        }
    };
}

chains!(Eight, 8, 0 1 2 3 4 5 6 7;
    0 0 1, 1 2 3, 2 4 5, 3 6 7, 4 8 9, 5 10 11, 6 12 13, 7 14 15);
chains!(Four, 4, 0 1 2 3; 0 0 1, 1 2 3, 2 4 5, 3 6 7);
