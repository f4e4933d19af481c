// Sums and differences of one tile, as unbroken carry chains. `tiles64.rs` says what each operation
// computes.
// Soundness: SOUNDNESS.md#inline-assembly.
//! Carry chains of the limb kernels.
#![allow(unsafe_code, reason = "inline assembly")]

use core::arch::asm;

use tollgate_cpu::HaveAdxBmi2;

use super::tiles64::{Chains, array, array_mut};

/// Chains of eight limbs.
#[derive(Clone, Copy)]
pub(super) struct Eight(pub(super) HaveAdxBmi2);

/// Chains of four limbs.
#[derive(Clone, Copy)]
pub(super) struct Four(pub(super) HaveAdxBmi2);

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
    ($width:ident, $w:literal, $($d:literal $r:tt),*; $($i:literal $x:literal $y:literal),*) => {
        impl Chains<$w> for $width {
            #[inline(always)]
            fn diagonal(self, t: &mut [u64], a: &[u64], carries: &mut [u64; 2]) {
                let (t, a) = (array_mut::<{ 2 * $w }>(t), array::<$w>(a));
                // SAFETY: self contains the proof of BMI2 and ADX; all offsets are inside the
                // arrays; the stack is not used.
                unsafe {
                    asm!(
                        "xor eax, eax", // CF = OF = 0
                        "mov rax, -1",
                        "adcx rcx, rax", // CF := the first carry
                        "adox rdx, rax", // OF := the second carry
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
            fn put(self, t: &mut [u64], w: &[u64; $w], carry: u64) {
                let t = array_mut::<$w>(t);
                // SAFETY: as for `diagonal`.
                unsafe {
                    asm!(
                        "add {c}, -1", // CF := the carry
                        $(concat!("adc ", $r, ", 0\n", "mov [{t} + 8*", $d, "], ", $r),)*
                        t = in(reg) t.as_mut_ptr(), c = inout(reg) carry => _,
                        $(inout($r) w[$d] => _,)*
                        options(nostack),
                    );
                }
            }

            #[inline(always)]
            fn add(self, t: &mut [u64], w: &mut [u64; $w], carry: u64, over: &mut u64) {
                let t = array_mut::<$w>(t);
                // SAFETY: as for `diagonal`.
                unsafe {
                    asm!(
                        "xor eax, eax", // CF = OF = 0
                        "mov rax, -1",
                        "adcx {c}, rax", // CF := carry
                        "adox {o}, rax", // OF := over
                        "mov eax, 0",
                        $(concat!("adcx ", $r, ", [{t} + 8*", $d, "]\n", "adox ", $r, ", rax\n",
                                  "mov [{t} + 8*", $d, "], ", $r),)*
                        "mov {o:e}, 0",
                        "adcx {o}, rax",
                        "adox {o}, rax",
                        t = in(reg) t.as_mut_ptr(), c = inout(reg) carry => _,
                        o = inout(reg) *over, out("rax") _,
                        $(inout($r) w[$d],)*
                        options(nostack),
                    );
                }
            }

            #[inline(always)]
            fn sub(self, z: &mut [u64], t: [u64; $w], c: u64, m: &[u64], borrow: &mut u64) {
                let (z, m) = (array_mut::<$w>(z), array::<$w>(m));
                // SAFETY: as for `diagonal`.
                unsafe {
                    asm!(
                        "add {b}, -1", // CF := b
                        // a mask would need AND, which clears the borrow; MULX changes no flags
                        $(concat!("mulx rax, {l}, [{m} + 8*", $d, "]\n", "sbb ", $r, ", {l}\n",
                                  "mov [{z} + 8*", $d, "], ", $r),)*
                        "mov {b:e}, 0",
                        "adc {b}, 0",
                        z = in(reg) z.as_mut_ptr(), m = in(reg) m.as_ptr(),
                        l = out(reg) _, out("rax") _, b = inout(reg) *borrow,
                        in("rdx") c,
                        $(inout($r) t[$d] => _,)*
                        options(nostack),
                    );
                }
            }
        }
    };
}

chains!(Eight, 8, 0 "r8", 1 "r9", 2 "r10", 3 "r11", 4 "r12", 5 "r13", 6 "r14", 7 "r15";
    0 0 1, 1 2 3, 2 4 5, 3 6 7, 4 8 9, 5 10 11, 6 12 13, 7 14 15);
chains!(Four, 4, 0 "r8", 1 "r9", 2 "r10", 3 "r11"; 0 0 1, 1 2 3, 2 4 5, 3 6 7);
