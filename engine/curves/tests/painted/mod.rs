//! Paints the stack, runs an operation, and looks at it. The crate `rsa` uses this file too.
#![allow(unsafe_code, clippy::unwrap_used, reason = "tests paint the stack and read it")]

use core::hint::black_box;
use core::ptr;
use std::thread;

/// The painted part of the stack.
const PAINTED_BYTES: usize = 128 << 10;
/// The part above it: frames of [`left_by`] and of functions that it calls.
const OWN_BYTES: usize = 256;
const PAINT: u8 = 0xa5;
/// The frame of an operation above the part that is wiped: pointers, and the result.
const FRAME_BYTES: usize = 1 << 10;
/// The frames of the function that wipes, at the other end.
const WIPE_BYTES: usize = 64;

/// Returns the bytes of the stack that `operation` used, the deepest one last. Runs it twice: the
/// first time may build tables. A `dyn Fn` has a frame of its own.
pub(crate) fn left_by(operation: &(dyn Fn() + Sync)) -> Vec<u8> {
    let painted = || {
        operation();
        let here = 0_u8;
        // keeps the compiler from assuming that nothing writes below this address
        let top = black_box(ptr::from_ref(&here).cast_mut());
        for depth in OWN_BYTES..PAINTED_BYTES {
            // SAFETY: this stack, below all frames on it.
            unsafe { top.wrapping_sub(depth).write_volatile(PAINT) };
        }
        operation();
        let byte = |depth| {
            // SAFETY: as above.
            unsafe { top.wrapping_sub(depth).read_volatile() }
        };
        let mut left: Vec<u8> = (OWN_BYTES..PAINTED_BYTES).map(byte).collect();
        let used = left.iter().rposition(|byte| *byte != PAINT).map_or(0, |last| last + 1);
        left.truncate(used);
        left
    };
    // a stack of its own, on which nothing else runs
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(4 * PAINTED_BYTES);
        thread.spawn_scoped(scope, painted).unwrap().join().unwrap()
    })
}

/// Returns how many bytes below the frame of the operation are neither zero nor paint.
pub(crate) fn not_wiped(left: &[u8]) -> usize {
    let wiped = left.get(FRAME_BYTES..left.len().saturating_sub(WIPE_BYTES)).unwrap_or(&[]);
    wiped.iter().filter(|byte| ![0, PAINT].contains(byte)).count()
}

/// Runs the operation and checks that it leaves nothing.
pub(crate) fn check(name: &str, operation: impl Fn() + Sync) {
    let left = left_by(&operation);
    assert!(left.len() > FRAME_BYTES, "{name} uses {} bytes of stack", left.len());
    assert_eq!(not_wiped(&left), 0, "{name} leaves bytes of {}", left.len());
}
