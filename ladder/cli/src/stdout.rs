//! Detects a standard output that was closed before the program started.
//!
//! Rust's runtime opens `/dev/null` in its place, so writes would succeed and their text be lost.
#![allow(unsafe_code, reason = "a function that runs before Rust's runtime")]

use core::sync::atomic::{AtomicBool, Ordering};
use std::os::fd::BorrowedFd;

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

// Sound: this is the linker's table of functions without arguments that the C library calls before `main`.
// This one makes a system call and writes an atomic variable.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: the number is used for one system call, which refuses it if it is not open.
    let stdout = unsafe { BorrowedFd::borrow_raw(1) };
    WAS_CLOSED.store(rustix::io::fcntl_getfd(stdout).is_err(), Ordering::Relaxed);
}

/// Returns whether standard output was closed when the program started.
pub(crate) fn was_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}
