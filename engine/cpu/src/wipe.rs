//! Overwrites what an operation on secrets leaves on the stack and in registers.
//!
//! A type can wipe itself when it is dropped, but not the copies that the compiler makes: values
//! that it moves, spills, or keeps in a register. So the whole operation runs in a frame of its
//! own, and afterwards the place of that frame and of all frames below it is overwritten.

use core::hint::black_box;

/// Runs an operation, and then overwrites the `BYTES` bytes of stack below the caller's frame, the
/// vector registers, and the other registers that a function may change; also if the operation
/// panics.
///
/// The operation should use at most `BYTES` bytes of stack: deeper frames are not overwritten. The
/// result, and whatever the operation moves into it, stays in the caller's frame.
///
/// ```
/// use tollgate_cpu::wipe::wipe_stack_after;
///
/// assert_eq!(wipe_stack_after::<4096, _>(|| 6 * 7), 42);
/// ```
#[inline(always)]
pub fn wipe_stack_after<const BYTES: usize, T>(operation: impl FnOnce() -> T) -> T {
    /// Wipes when dropped, after a panic too.
    struct Wipe<const BYTES: usize>;

    impl<const BYTES: usize> Drop for Wipe<BYTES> {
        #[inline(always)]
        fn drop(&mut self) {
            overwrite::<BYTES>();
        }
    }

    let _wipe = Wipe::<BYTES>;
    in_own_frame(operation)
}

/// The frame is where that of [`overwrite`] will be.
#[inline(never)]
fn in_own_frame<T>(operation: impl FnOnce() -> T) -> T {
    operation()
}

#[inline(never)]
fn overwrite<const BYTES: usize>() {
    // black_box: the compiler must write the zeros, which nobody reads. A shared reference could be
    // to a constant.
    black_box(&mut [0_u8; BYTES]);
    clear_registers();
}

/// Clears the registers that a function of the System V ABI may change. The others have the
/// caller's values again.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn clear_registers() {
    use core::arch::asm;
    use std::is_x86_feature_detected as has;

    if has!("avx512f") {
        // SAFETY: the instructions exist, and the registers that they change are declared.
        unsafe {
            asm!(
                ".irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31",
                "vpxorq zmm\\n, zmm\\n, zmm\\n",
                ".endr",
                ".irp n, 0, 1, 2, 3, 4, 5, 6, 7",
                "kxorw k\\n, k\\n, k\\n",
                ".endr",
                clobber_abi("sysv64"),
                options(nomem, nostack),
            );
        }
    }
    if has!("avx") {
        // SAFETY: as above.
        unsafe { asm!("vzeroall", clobber_abi("sysv64"), options(nomem, nostack)) }
    } else {
        // SAFETY: as above; SSE is part of x86-64.
        unsafe {
            asm!(
                ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
                "xorps xmm\\n, xmm\\n",
                ".endr",
                clobber_abi("sysv64"),
                options(nomem, nostack),
            );
        }
    }
    // SAFETY: as above.
    unsafe {
        asm!(
            ".irp name, eax, ecx, edx, esi, edi, r8d, r9d, r10d, r11d",
            "xor \\name, \\name",
            ".endr",
            clobber_abi("sysv64"),
            options(nomem, nostack),
        );
    }
}

/// Other architectures: registers keep what the compiler left in them.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn clear_registers() {}
