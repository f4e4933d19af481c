//! A server that signs, and then forks workers. One test: no other thread may hold a lock then.
#![allow(clippy::unwrap_used, reason = "tests")]

mod host;

use core::ffi::c_int;

use host::{DEMAND, Host, pem};

unsafe extern "C" {
    fn fork() -> c_int;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn _exit(status: c_int) -> !;
}

#[test]
fn a_forked_child_signs() {
    let host = Host::module();
    let key = host.key(&pem("rsa-2048.pem"));
    let sign = || host.sign(&key, DEMAND, c"SHA256", &[], b"a message");
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    let before = threads();
    let expected = sign().unwrap();
    assert_eq!(threads(), before, "a thread that has a core needs no other");
    // SAFETY: the child touches this thread's data only, and ends without unwinding.
    let pid = unsafe { fork() };
    if pid == 0 {
        let good = sign().is_ok_and(|signature| signature == expected);
        // SAFETY: ends the child.
        unsafe { _exit(if good { 42 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: a child of this process, and a place for its status.
    assert_eq!(unsafe { waitpid(pid, &mut status, 0) }, pid);
    assert_eq!(status >> 8, 42);
    assert_eq!(sign().unwrap(), expected);
}
