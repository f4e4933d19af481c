//! Threads in a host program.

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

/// Starts a thread that blocks all signals: a signal must interrupt the server's own wait for
/// events, so no other thread may receive it.
pub(crate) fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let builder = Builder::new().name(name.into()).stack_size(256 << 10);
    let (mut all, mut before): (SignalSet, SignalSet) = ([0; _], [0; _]);
    // SAFETY: a variable for a set.
    unsafe { sigfillset(&mut all) };
    // SAFETY: a set, and a variable for the previous one.
    let is_set = unsafe { pthread_sigmask(SIG_SETMASK, &all, &mut before) } == 0;
    // A thread inherits the signal mask of its creator.
    let thread = builder.spawn(run);
    if is_set {
        // SAFETY: the set from the call above.
        unsafe { pthread_sigmask(SIG_SETMASK, &before, ptr::null_mut()) };
    }
    thread.map(drop)
}
