//! Measures the use of a stack, also for a unit test of `src/alt_stack.rs`.

use core::hint::black_box;
use core::ptr;

/// `TOP_BYTES` may be in use above this frame. The measurement itself uses `OWN_BYTES`.
const TOP_BYTES: usize = 3 << 10;
const OWN_BYTES: usize = 256;
const PAINT: u8 = 0xa5;

/// Returns the largest number of bytes of stack that `run` uses. Call this near the top of a stack
/// of `stack_bytes`.
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
