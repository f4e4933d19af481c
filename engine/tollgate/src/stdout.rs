//! Detects a standard output that was closed before the program started.
//!
//! Rust's runtime opens `/dev/null` in place of a closed standard output. Writes would then
//! succeed, and their text would be lost.
#![allow(unsafe_code, reason = "a function that runs before Rust's runtime")]

use core::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::lstat;

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

// This is safe: the C library calls the functions of this linker table, which have no arguments,
// before `main`. This function makes system calls and writes an atomic variable.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = look;

extern "C" fn look() {
    // Looks in /proc, if it is mounted, because a `BorrowedFd` requires an open descriptor.
    let is_closed = lstat(c"/proc/self/fd").is_ok() && lstat(c"/proc/self/fd/1").is_err();
    WAS_CLOSED.store(is_closed, Ordering::Relaxed);
}

/// Returns whether standard output was closed when the program started.
pub(crate) fn was_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}
