//! Registers are cleared after an operation. That its stack is overwritten too is tested by the
//! crates `curves` and `rsa`.
#![cfg(target_arch = "x86_64")]
#![allow(unsafe_code, reason = "memory that was wiped is read")]

use core::arch::asm;
use std::is_x86_feature_detected as has;

use tollgate_cpu::wipe::wipe_stack_after;

const SECRET: u64 = 0x5ec2_e75e_c2e7_5ec3;

/// Leaves a word in registers of each kind.
#[inline(always)]
fn leave(wide: bool) {
    // SAFETY: the registers that the template changes are declared; SSE is part of x86-64.
    unsafe {
        asm!(
            "movq xmm14, rax",
            "movq xmm15, rax",
            in("rax") SECRET,
            clobber_abi("sysv64"),
            options(nomem, nostack),
        );
    }
    if wide {
        // SAFETY: as above; the processor has AVX-512F.
        unsafe {
            asm!(
                "vpbroadcastq zmm16, rax",
                "vpbroadcastq zmm31, rax",
                "kmovw k7, eax",
                in("rax") SECRET,
                clobber_abi("sysv64"),
                options(nomem, nostack),
            );
        }
    }
}

/// Returns what is in these registers.
#[inline(always)]
fn found(wide: bool) -> [u64; 5] {
    let mut words = [0; 5];
    // SAFETY: the template writes to two words of the array.
    unsafe {
        asm!(
            "movq [{0}], xmm14",
            "movq [{0} + 8], xmm15",
            in(reg) words.as_mut_ptr(),
            options(nostack),
        );
    }
    if wide {
        // SAFETY: the template writes to three words of the array; the processor has AVX-512F.
        unsafe {
            asm!(
                "vmovq [{0} + 16], xmm16",
                "vmovq [{0} + 24], xmm31",
                "kmovw {1:e}, k7",
                "mov [{0} + 32], {1}",
                in(reg) words.as_mut_ptr(),
                out(reg) _,
                options(nostack),
            );
        }
    }
    words
}

#[test]
fn registers_are_cleared() {
    let wide = has!("avx512f");
    leave(wide);
    let left = found(wide);
    assert_eq!(left.iter().filter(|word| **word == SECRET).count(), if wide { 4 } else { 2 });
    assert_eq!(left[4], if wide { SECRET & 0xffff } else { 0 });
    wipe_stack_after::<64, _>(|| leave(wide));
    assert_eq!(found(wide), [0; 5]);
}
