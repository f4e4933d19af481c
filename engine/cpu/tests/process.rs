//! Tests of the fork generation in processes that fork. Each test runs in a child process, because
//! a test can observe the first call in a process only once per process.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(unsafe_code, reason = "system calls")]

use core::ffi::{c_int, c_uint};
use std::io::Write as _;
use std::sync::Barrier;
use std::{io, process, thread};

use tollgate_cpu::process::fork_generation;
use tollgate_rerun::alone;

unsafe extern "C" {
    fn fork() -> c_int;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn alarm(seconds: c_uint) -> c_uint;
    fn _exit(status: c_int) -> !;
}

/// Runs `run` in a child process and returns the result of `run`, 0 to 100. If the parent has other
/// threads, `run` must not allocate or lock.
fn in_child(run: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the child has a copy of this thread's data, and exits without unwinding.
    let pid = unsafe { fork() };
    assert!(pid >= 0, "{}", io::Error::last_os_error());
    if pid == 0 {
        // SAFETY: this call ends a child that hangs.
        unsafe { alarm(60) };
        let status = run();
        // SAFETY: this call ends the child.
        unsafe { _exit(status) };
    }
    let mut status = 0;
    // SAFETY: `pid` is a child of this process, and the pointer to its status is valid.
    assert_eq!(unsafe { waitpid(pid, &mut status, 0) }, pid);
    assert_eq!(status & 0x7f, 0, "a signal ended the child");
    status >> 8
}

/// Returns whether an emulator runs this program. `qemu-user` 7 ignores that a page is to be wiped;
/// the generation is then the process id, so this test cannot run. Says so.
fn is_emulated(name: &str) -> bool {
    let is_emulated = std::env::var_os("TOLLGATE_TEST_RUNNER").is_some();
    if is_emulated {
        let mut stderr = io::stderr(); // not `eprintln!`, whose output the test harness captures
        writeln!(stderr, "{name}: NOT CHECKED, emulators ignore MADV_WIPEONFORK").unwrap();
    }
    is_emulated
}

/// Returns the generations that concurrent threads get.
fn generations_at_once() -> [u64; 4] {
    let barrier = Barrier::new(4);
    thread::scope(|scope| {
        let ask = || {
            barrier.wait();
            fork_generation()
        };
        [0; 4].map(|_| scope.spawn(ask)).map(|thread| thread.join().unwrap())
    })
}

#[test]
fn children_and_grandchildren_have_new_generations() {
    if is_emulated("children_and_grandchildren_have_new_generations") {
        return;
    }
    alone("children_and_grandchildren_have_new_generations", || {
        let own = fork_generation();
        assert_eq!((own, fork_generation()), (1, 1));
        // A parent, a child and a grandchild, with and without a call in the child.
        for asks in [true, false] {
            let is_good = in_child(|| {
                let child = if asks { fork_generation() } else { own };
                let is_good = in_child(|| {
                    let grandchild = fork_generation();
                    let is_new = ![own, child].contains(&grandchild);
                    (is_new && fork_generation() == grandchild).into()
                });
                (is_good == 1 && fork_generation() != own && (!asks || fork_generation() == child))
                    .into()
            });
            assert_eq!(is_good, 1, "the child calls it: {asks}");
            assert_eq!(fork_generation(), own);
        }
    });
}

#[test]
fn concurrent_first_calls_get_one_generation() {
    if is_emulated("concurrent_first_calls_get_one_generation") {
        return;
    }
    alone("concurrent_first_calls_get_one_generation", || {
        for _ in 0..500 {
            let is_good = in_child(|| {
                // These calls are the first calls of all, or the first calls after a fork.
                let [own, others @ ..] = generations_at_once();
                let is_good = in_child(|| {
                    let [child, others @ ..] = generations_at_once();
                    (child != own && others == [child; 3] && fork_generation() == child).into()
                });
                (is_good == 1 && others == [own; 3] && fork_generation() == own).into()
            });
            assert_eq!(is_good, 1);
        }
    });
}

/// The kernel refuses the page, refuses the advice, or accepts the advice and ignores it.
#[cfg(target_arch = "x86_64")]
#[test]
fn without_a_wiped_page_the_process_id_is_used() {
    const MMAP: u32 = 9;
    const MADVISE: u32 = 28;
    alone("without_a_wiped_page_the_process_id_is_used", || {
        for (call, error) in [(MMAP, 12), (MADVISE, 22), (MADVISE, 0)] {
            let is_id = || fork_generation() == u64::from(process::id());
            let is_good = in_child(|| {
                filter::answer(call, error);
                (is_id() && in_child(|| is_id().into()) == 1 && is_id()).into()
            });
            assert_eq!(is_good, 1, "call {call}, error {error}");
        }
    });
}

/// System calls with a fixed result, by seccomp, which sandboxes use too.
#[cfg(target_arch = "x86_64")]
mod filter {
    use core::ffi::{c_int, c_ulong, c_ushort};

    unsafe extern "C" {
        fn prctl(option: c_int, ...) -> c_int;
    }

    /// `sock_filter` of linux/filter.h: one instruction of a filter program.
    #[repr(C)]
    struct Instruction {
        code: u16,
        if_true: u8,
        if_false: u8,
        k: u32,
    }

    /// `sock_fprog` of linux/filter.h: a filter program.
    #[repr(C)]
    struct Program {
        length: c_ushort,
        first: *const Instruction,
    }

    const PR_SET_SECCOMP: c_int = 22;
    const PR_SET_NO_NEW_PRIVS: c_int = 38;
    const SECCOMP_MODE_FILTER: c_ulong = 2;
    const SECCOMP_RET_ERRNO: u32 = 0x0005_0000;
    const SECCOMP_RET_ALLOW: u32 = 0x7fff_0000;
    const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
    const IF_EQUAL: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
    const RETURN: u16 = 0x06; // BPF_RET | BPF_K

    /// Makes `call` fail with `error` in this process. If `error` is 0, `call` succeeds without
    /// effect.
    pub(super) fn answer(call: u32, error: u32) {
        let step = |code, if_false, k| Instruction { code, if_true: 0, if_false, k };
        let program = [
            step(LOAD, 0, 0), // the number of the call: the first field of `seccomp_data`
            step(IF_EQUAL, 1, call),
            step(RETURN, 0, SECCOMP_RET_ERRNO | error),
            step(RETURN, 0, SECCOMP_RET_ALLOW),
        ];
        let program = Program { length: 4, first: program.as_ptr() };
        let (yes, no): (c_ulong, c_ulong) = (1, 0);
        // SAFETY: the call takes no pointers.
        assert_eq!(unsafe { prctl(PR_SET_NO_NEW_PRIVS, yes, no, no, no) }, 0);
        // SAFETY: the pointer is to a program of four steps, which the system copies.
        assert_eq!(unsafe { prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &raw const program) }, 0);
    }
}
