//! Tells the owner of a paused job to start it again, and owns the values that the job must not
//! own: libcrypto never unwinds the stack of an abandoned job, so values on it leak.
//!
//! A waker belongs to a wait context of libcrypto and is dropped with it. Its eventfd is readable
//! while a job is paused: the server's event loop starts the job again in its next turn, and the
//! job then performs all operations that were submitted meanwhile.

use core::any::Any;
use core::ffi::{c_int, c_void};
use core::mem::ManuallyDrop;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use tollgate_cpu::process;
use tollgate_queue::{PrivateJob, Ticket};

use crate::counters::{Counters, Event};

/// The eventfd of a wait context and the state of its paused jobs.
pub(crate) struct Waker {
    /// The fork generation of the process that made the waker. In a child of that process, the lock
    /// of `jobs` may be held for ever.
    process: u64,
    eventfd: File,
    /// Used by the thread that runs a job, and by the cleanup.
    jobs: Mutex<PausedJobs>,
    counters: Arc<Counters>,
}

#[derive(Default)]
struct PausedJobs {
    paused: Vec<(u64, PausedState)>,
    last_number: u64,
    /// The eventfd is readable.
    is_readable: bool,
}

/// The keys of an operation, of any type.
pub(crate) type Keys = Vec<Arc<dyn Any + Send + Sync>>;

/// The values that a job owns while it is paused.
pub(crate) struct PausedState {
    pub(crate) keys: Keys,
    pub(crate) ticket: Ticket<PrivateJob>,
}

/// `ASYNC_callback_fn` and its argument. An owner may set this callback instead of watching the
/// descriptor.
#[derive(Clone, Copy)]
pub(crate) struct Callback {
    function: unsafe extern "C" fn(*mut c_void) -> c_int,
    argument: *mut c_void,
}

impl Callback {
    /// # Safety
    ///
    /// `function` may be called with `argument` while the wait context lives.
    pub(crate) unsafe fn new(
        function: unsafe extern "C" fn(*mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> Self {
        Self { function, argument }
    }

    /// Returns whether the callback notified the owner.
    fn call(self) -> bool {
        // SAFETY: as the caller of `new` promised; the wait context lives as long as its job.
        unsafe { (self.function)(self.argument) != 0 }
    }
}

impl Waker {
    /// Creates a waker and its eventfd. Fails if the process or the system has no free descriptor.
    pub(crate) fn new(counters: &Arc<Counters>) -> Result<Self, Errno> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let (process, counters) = (process::fork_generation(), Arc::clone(counters));
        Ok(Self { process, eventfd: fd.into(), jobs: Mutex::default(), counters })
    }

    pub(crate) fn descriptor(&self) -> c_int {
        self.eventfd.as_raw_fd()
    }

    /// Returns whether this process made the waker, and not a parent that it was forked from.
    pub(crate) fn is_of_this_process(&self) -> bool {
        self.process == process::fork_generation()
    }

    /// Stores the state of a job that is about to be paused and returns its number. Notifies the
    /// owner at once that the job can continue, as libcrypto's own engine `dasync` does.
    pub(crate) fn store(&self, state: PausedState, callback: Option<Callback>) -> u64 {
        let mut jobs = self.jobs();
        jobs.last_number += 1;
        let number = jobs.last_number;
        jobs.paused.push((number, state));
        drop(jobs); // the callback is foreign code
        if !callback.is_some_and(Callback::call) {
            // The write fails only if the eventfd's counter is at its maximum; the descriptor is
            // readable then anyway.
            let _ = (&self.eventfd).write(&1_u64.to_ne_bytes());
            self.jobs().is_readable = true;
        }
        number
    }

    /// Removes and returns the state of a job that continues. This also works in a forked child.
    /// Resets the eventfd unless another job is paused.
    pub(crate) fn take(&self, number: u64) -> Option<PausedState> {
        let mut jobs = self.jobs();
        let index = jobs.paused.iter().position(|(other, _)| *other == number)?;
        let (_, state) = jobs.paused.swap_remove(index);
        let is_readable = jobs.is_readable && jobs.paused.is_empty();
        if is_readable && self.is_of_this_process() {
            jobs.is_readable = false;
            // The read fails if the eventfd is already reset.
            let _ = (&self.eventfd).read(&mut [0; 8]);
        }
        Some(state)
    }

    /// Drops the waker. Jobs that are still paused are never started again.
    pub(crate) fn close(self) {
        let abandoned = self.jobs().paused.len();
        self.counters.add(Event::Abandoned, abandoned);
    }

    /// Closes the descriptor in a forked child and leaks the rest of the waker, because another
    /// thread of the parent may have been changing the rest during the fork.
    pub(crate) fn close_in_child(self: Box<Self>) {
        let fd = ManuallyDrop::new(self).descriptor();
        // SAFETY: this process's copy of the descriptor, closed nowhere else.
        drop(unsafe { OwnedFd::from_raw_fd(fd) });
    }

    fn jobs(&self) -> MutexGuard<'_, PausedJobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
