//! Loads that read memory whatever a mask selects.
//!
//! A masked load whose mask is empty does not set the accessed bit of its page. While the bit is
//! clear, such a load takes an assist of some 40 cycles each time; a load that selects anything sets
//! the bit, which ends it. Operating systems clear accessed bits when they look for pages that
//! nobody uses. A select by masked loads would then take a time that depends on which entries it
//! has selected so far. `xtask audit` therefore refuses vector operations with a mask and a memory
//! operand in kernels; `docs/experiments.md` has the measurement.

use core::arch::asm;
use core::arch::x86_64::*;

/// Returns x in a register. LLVM would otherwise make a load the operand of a masked operation.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn unmasked(x: &__m512i) -> __m512i {
    let mut x = *x;
    // SAFETY: SOUNDNESS.md#inline-assembly; there is no instruction.
    unsafe { asm!("/* {} */", inout(zmm_reg) x, options(pure, nomem, nostack, preserves_flags)) };
    x
}
