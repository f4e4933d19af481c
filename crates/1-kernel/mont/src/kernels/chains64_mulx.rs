// Sums and differences of one tile, as unbroken carry chains.
//
//   double_add  t := 2t + u + carries
//   add         t := t + w + carry
//   sub         z := t - m - borrow
//
// A carry is 0 or 1 on both sides, so longer numbers go tile by tile.
// Soundness: SOUNDNESS.md#inline-assembly.
//! Carry chains of the limb kernels.

use core::arch::asm;

use super::tiles64_mulx::{Eight, Four, array, array_mut};

/// The first W limbs of each operand, W as for [`super::tiles64_mulx::Tile`].
pub(super) trait Chains: Copy {
    fn double_add(self, t: &mut [u64], u: &[u64], carries: &mut [u64; 2]);
    fn add(self, t: &mut [u64], w: &[u64], carry: &mut u64);
    fn sub(self, z: &mut [u64], t: &[u64], m: &[u64], borrow: &mut u64);
}

// One limb of t := 2t + u: chains OF and CF.
macro_rules! double_add_step {
    ($($j:literal)*) => {
        concat!($(
            "mov {x}, [{t} + 8*", $j, "]\n",
            "adox {x}, {x}\n",
            "adcx {x}, [{u} + 8*", $j, "]\n",
            "mov [{t} + 8*", $j, "], {x}\n",
        )*)
    };
}

macro_rules! chains {
    ($width:ident, $w:literal, $($d:literal)*) => {
        impl Chains for $width {
            #[inline(always)]
            fn double_add(self, t: &mut [u64], u: &[u64], carries: &mut [u64; 2]) {
                let (t, u) = (array_mut::<$w>(t), array::<$w>(u));
                // SAFETY: self holds the proof of BMI2 and ADX; the arrays are as long as the
                // offsets reach; the stack is not used.
                unsafe {
                    asm!(
                        "xor {x:e}, {x:e}", // CF = OF = 0
                        "mov {x}, -1",
                        "adcx {c}, {x}", // CF := c
                        "adox {o}, {x}", // OF := o
                        double_add_step!($($d)*),
                        "mov {c}, 0",
                        "mov {o}, 0",
                        "adcx {c}, {c}",
                        "adox {o}, {o}",
                        t = in(reg) t.as_mut_ptr(), u = in(reg) u.as_ptr(), x = out(reg) _,
                        c = inout(reg) carries[0], o = inout(reg) carries[1],
                        options(nostack),
                    );
                }
            }

            #[inline(always)]
            fn add(self, t: &mut [u64], w: &[u64], carry: &mut u64) {
                let (t, w) = (array_mut::<$w>(t), array::<$w>(w));
                // SAFETY: as for `double_add`; the stack is not used.
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
            fn sub(self, z: &mut [u64], t: &[u64], m: &[u64], borrow: &mut u64) {
                let (z, t, m) = (array_mut::<$w>(z), array::<$w>(t), array::<$w>(m));
                // SAFETY: as for `double_add`; the stack is not used.
                unsafe {
                    asm!(
                        "add {c}, -1",
                        $(concat!("mov {x}, [{t} + 8*", $d, "]\n", "sbb {x}, [{m} + 8*", $d, "]\n",
                                  "mov [{z} + 8*", $d, "], {x}"),)*
                        "mov {c:e}, 0",
                        "adc {c}, 0",
                        z = in(reg) z.as_mut_ptr(), t = in(reg) t.as_ptr(), m = in(reg) m.as_ptr(),
                        x = out(reg) _, c = inout(reg) *borrow,
                        options(nostack),
                    );
                }
            }
        }
    };
}

chains!(Eight, 8, 0 1 2 3 4 5 6 7);
chains!(Four, 4, 0 1 2 3);
