//! Detects a standard output that was closed before the program started.
//!
//! Rust's runtime opens `/dev/null` in its place, so writes would succeed and their text be lost.
#![allow(unsafe_code, reason = "a function that runs before Rust's runtime")]

use core::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::lstat;

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

// Sound: the linker's table holds functions without arguments that the C library calls before
// `main`. This function makes system calls and writes an atomic variable.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = look;

extern "C" fn look() {
    // A `BorrowedFd` requires an open descriptor, so the check uses /proc, if it is mounted.
    let is_closed = lstat(c"/proc/self/fd").is_ok() && lstat(c"/proc/self/fd/1").is_err();
    WAS_CLOSED.store(is_closed, Ordering::Relaxed);
}

/// Returns whether standard output was closed when the program started.
pub(crate) fn was_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}
