//! Masks whose origin the compiler does not know.
#![allow(unsafe_code, reason = "inline assembly")]

/// Returns the same word. The compiler cannot know that a mask is all ones or 0, and so it does not
/// turn a choice by the mask into a branch, which it otherwise does.
#[inline(always)]
pub(crate) fn hidden(mut mask: u64) -> u64 {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    // SAFETY: the template has no instruction. `core::hint::black_box` would store the word.
    unsafe {
        core::arch::asm!(
        "/* {0} */",
        inout(reg) mask,
                options(pure, nomem, nostack, preserves_flags),
            );
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        mask = core::hint::black_box(mask);
    }
    mask
}
