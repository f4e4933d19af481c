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

#[cfg(test)]
mod tests {

    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn a_thread_s_clock_is_read_from_outside_and_ends_with_it() {
        let (clock_to, clock) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let worker = thread::spawn(move || {
            let own = ThreadClock::of_this_thread().unwrap();
            while own.elapsed().unwrap() < Duration::from_millis(5) {}
            clock_to.send(own).unwrap();
            ended.recv().unwrap();
        });
        let clock = clock.recv().unwrap();
        assert!(clock.elapsed().unwrap() >= Duration::from_millis(5));
        // Once the other thread waits, its clock stops; this thread's clock continues.
        let own = ThreadClock::of_this_thread().unwrap();
        loop {
            let (theirs, ours) = (clock.elapsed().unwrap(), own.elapsed().unwrap());
            while own.elapsed().unwrap() < ours + Duration::from_millis(1) {}
            if clock.elapsed().unwrap() == theirs {
                break;
            }
        }
        end.send(()).unwrap();
        worker.join().unwrap();
        while clock.elapsed().is_some() {
            thread::yield_now(); // joined, but perhaps not yet removed by the kernel
        }
    }
}
