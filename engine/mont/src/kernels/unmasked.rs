//! Loads and stores that access memory whatever a mask selects.
//!
//! A masked load whose mask is empty does not set the accessed bit of its page. While the bit is
//! clear, such a load takes some 60 cycles longer on Intel's processors, each time; a load that
//! selects anything sets the bit. Operating systems clear accessed bits to find pages that no one
//! uses. A select by masked loads would then take a time that depends on which entries it has
//! selected so far. A load of what a masked store has just written also takes longer for some masks
//! than for others.
//!
//! `xtask audit` therefore refuses vector operations with a mask and a memory operand. It is also
//! what shows that the compiler has not spilled a vector and used the copy as such an operand.
#![allow(unsafe_code, reason = "inline assembly")]

use core::arch::asm;
use core::arch::x86_64::*;

/// Returns x in a register. Otherwise LLVM would make a load the operand of a masked operation, or
/// make one masked store of a masked operation and a store.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn unmasked(x: &__m512i) -> __m512i {
    let mut x = *x;
    // SAFETY: SOUNDNESS.md#inline-assembly; there is no instruction.
    unsafe { asm!("/* {} */", inout(zmm_reg) x, options(pure, nomem, nostack, preserves_flags)) };
    x
}
