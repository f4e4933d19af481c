//! Measures the use of a stack, also for a unit test of `src/alt_stack.rs`.

use core::hint::black_box;
use core::ptr;

/// Bytes above the caller's frame that may be in use, and bytes that the measurement itself uses.
const TOP_BYTES: usize = 3 << 10;
const OWN_BYTES: usize = 256;
const PAINT: u8 = 0xa5;

/// Returns the bytes that `run` uses at most, called near the top of a stack of this size.
pub(crate) fn depth(stack_bytes: usize, run: impl FnOnce()) -> usize {
    let here = 0_u8;
    // Keeps the compiler from assuming that nothing writes below this address.
    let top = black_box(ptr::from_ref(&here).cast_mut());
    let span = OWN_BYTES..stack_bytes - TOP_BYTES;
    for depth in span.clone() {
        // SAFETY: this stack, below all frames on it.
        unsafe { top.wrapping_sub(depth).write_volatile(PAINT) };
    }
    run();
    let untouched = span.clone().rev().take_while(|&depth| {
        // SAFETY: as above.
        let byte = unsafe { top.wrapping_sub(depth).read_volatile() };
        byte == PAINT
    });
    span.end - untouched.count()
}
