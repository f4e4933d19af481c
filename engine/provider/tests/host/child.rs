//! Forks this process, as servers do.

use core::ffi::{c_int, c_uint};

unsafe extern "C" {
    fn fork() -> c_int;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn alarm(seconds: c_uint) -> c_uint;
    fn _exit(status: c_int) -> !;
}

/// Returns whether `run` is true in a child. Other threads of this process must not hold a lock
/// that it needs.
pub(crate) fn in_child(run: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child touches this thread's data only, and ends without unwinding.
    let pid = unsafe { fork() };
    if pid == 0 {
        // SAFETY: ends a child that hangs.
        unsafe { alarm(60) };
        let status = if run() { 42 } else { 1 };
        // SAFETY: ends the child.
        unsafe { _exit(status) };
    }
    let mut status = 0;
    // SAFETY: a child of this process, and a buffer for its status.
    assert_eq!(unsafe { waitpid(pid, &mut status, 0) }, pid);
    status >> 8 == 42
}
