//! The CPU clock of a thread, readable by other threads.
#![allow(unsafe_code, reason = "declarations of libc")]

use core::ffi::c_int;
use core::time::Duration;

unsafe extern "C" {
    fn pthread_self() -> usize;
    fn pthread_getcpuclockid(thread: usize, clock: *mut c_int) -> c_int;
    fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
}

/// `struct timespec` of 64-bit Linux.
#[repr(C)]
#[derive(Default)]
struct Timespec {
    seconds: i64,
    nanos: i64,
}

/// The CPU clock of a thread. All threads of the process can read it while the thread lives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadClock(c_int);

impl ThreadClock {
    /// Returns the clock of the calling thread.
    pub(crate) fn of_this_thread() -> Option<Self> {
        // SAFETY: no conditions.
        let thread = unsafe { pthread_self() };
        let mut clock = 0;
        // SAFETY: the calling thread lives; `clock` is writable.
        let result = unsafe { pthread_getcpuclockid(thread, &raw mut clock) };
        (result == 0).then_some(Self(clock))
    }

    /// Returns the CPU time so far; `None` if the thread has ended.
    pub(crate) fn elapsed(self) -> Option<Duration> {
        let mut time = Timespec::default();
        // SAFETY: `time` is writable; the kernel refuses the clock of a thread that has ended.
        if unsafe { clock_gettime(self.0, &raw mut time) } != 0 {
            return None;
        }
        Some(Duration::new(time.seconds.try_into().ok()?, time.nanos.try_into().ok()?))
    }
}
