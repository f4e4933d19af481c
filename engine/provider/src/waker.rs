//! Tells the owner of a paused job to start it again, and owns the values that the job must not
//! own: libcrypto never unwinds the stack of an abandoned job, so values on it leak.
//!
//! A waker belongs to a wait context of libcrypto and is dropped with it. Its eventfd is readable
//! while a job is paused: the server's event loop starts the job again in its next turn, and the
//! job then performs all operations that were submitted meanwhile.
#![forbid(unsafe_code)]

use core::any::Any;
use core::ffi::c_int;
use core::mem;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use tollgate_cpu::process;
use tollgate_queue::{PrivateJob, Ticket};

use crate::counters::{Counters, Event};
use crate::jobs::{Callback, OfJob, key_of};

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

impl Waker {
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

    fn jobs(&self) -> MutexGuard<'_, PausedJobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OfJob for Waker {
    key_of!();

    fn new(counters: &Arc<Counters>) -> Result<Self, Errno> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let (process, counters) = (process::fork_generation(), Arc::clone(counters));
        Ok(Self { process, eventfd: fd.into(), jobs: Mutex::default(), counters })
    }

    fn descriptor(&self) -> c_int {
        self.eventfd.as_raw_fd()
    }

    fn is_of_this_process(&self) -> bool {
        self.process == process::fork_generation()
    }

    fn close(self) {
        let abandoned = self.jobs().paused.len();
        self.counters.add(Event::Abandoned, abandoned);
    }

    fn close_in_child(self: Box<Self>) {
        let Self { eventfd, jobs, counters, .. } = *self;
        drop(eventfd);
        mem::forget((jobs, counters));
    }
}
