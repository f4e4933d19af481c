//! Threads inside other people's programs.

use core::ffi::{c_int, c_ulong};
use core::ptr;
use std::io;
use std::thread::Builder;

/// `sigset_t` of signal.h on Linux, 128 bytes.
type SignalSet = [c_ulong; 128 / size_of::<c_ulong>()];

const SIG_SETMASK: c_int = 2;

unsafe extern "C" {
    fn sigfillset(set: *mut SignalSet) -> c_int;
    fn pthread_sigmask(how: c_int, set: *const SignalSet, old: *mut SignalSet) -> c_int;
}

/// Starts a thread that no signal reaches: a server's signal has to interrupt the server's own wait
/// for events, and would not if it were handled there.
pub(crate) fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let builder = Builder::new().name(name.into()).stack_size(256 << 10);
    let (mut all, mut before): (SignalSet, SignalSet) = ([0; _], [0; _]);
    // SAFETY: a place for a set.
    unsafe { sigfillset(&mut all) };
    // SAFETY: a set, and a place for the one before.
    let is_set = unsafe { pthread_sigmask(SIG_SETMASK, &all, &mut before) } == 0;
    // It inherits what this thread has blocked.
    let thread = builder.spawn(run);
    if is_set {
        // SAFETY: the set that was there before.
        unsafe { pthread_sigmask(SIG_SETMASK, &before, ptr::null_mut()) };
    }
    thread.map(drop)
}
