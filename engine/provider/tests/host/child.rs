//! Forks of this process, as servers make them.

use core::ffi::{c_int, c_uint};

unsafe extern "C" {
    fn fork() -> c_int;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn alarm(seconds: c_uint) -> c_uint;
    fn _exit(status: c_int) -> !;
}

/// Whether `run` is true in a child. No other thread of this process may hold a lock that it needs.
pub(crate) fn in_child(run: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child touches this thread's data only, and ends without unwinding.
    let pid = unsafe { fork() };
    if pid == 0 {
        // SAFETY: one that waits for ever is ended.
        unsafe { alarm(60) };
        let status = if run() { 42 } else { 1 };
        // SAFETY: ends the child.
        unsafe { _exit(status) };
    }
    let mut status = 0;
    // SAFETY: a child of this process, and a place for its status.
    assert_eq!(unsafe { waitpid(pid, &mut status, 0) }, pid);
    status >> 8 == 42
}
