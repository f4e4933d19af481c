//! Threads inside other people's programs.

use core::ffi::c_int;
use core::ptr;
use std::io;
use std::thread::Builder;

/// The C library's `sigset_t`: 128 bytes on Linux.
type SignalSet = [u64; 16];

unsafe extern "C" {
    fn sigfillset(set: *mut SignalSet) -> c_int;
    fn pthread_sigmask(how: c_int, set: *const SignalSet, old: *mut SignalSet) -> c_int;
}

const SIG_SETMASK: c_int = 2;

/// Starts a thread that no signal reaches: a server's signal has to interrupt the server's own wait
/// for events, and would not if it were handled here.
pub(crate) fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let (mut all, mut before): (SignalSet, SignalSet) = ([0; 16], [0; 16]);
    // SAFETY: a place for a set.
    unsafe { sigfillset(&mut all) };
    // A new thread has its maker's mask.
    // SAFETY: a set, and a place for the one before.
    unsafe { pthread_sigmask(SIG_SETMASK, &all, &mut before) };
    let spawned = Builder::new().name(name.into()).stack_size(256 << 10).spawn(run);
    // SAFETY: a set; the one from now on is not asked for.
    unsafe { pthread_sigmask(SIG_SETMASK, &before, ptr::null_mut()) };
    spawned.map(drop)
}
