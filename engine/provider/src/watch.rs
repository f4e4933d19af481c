//! Wakes the owner of a job that is paused for an answer of the signer.
//!
//! A wait context of libcrypto has one descriptor for all its life: HAProxy keeps it in its table
//! until it closes the client's connection. Connections to the signer outlive the client's, and
//! serve many of them. So the descriptor is an epoll instance. While the job is paused, it contains
//! the connection and a timer, and is readable when the answer comes, or at the deadline.
#![forbid(unsafe_code)]

use core::any::Any;
use core::ffi::c_int;
use core::mem;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::event::epoll;
use rustix::io::Errno;
use tollgate_cpu::process;

use crate::connections::Flight;
use crate::counters::{Counters, Event};
use crate::jobs::{OfJob, key_of};

/// The key of an operation, of any type.
pub(crate) type Key = Arc<dyn Any + Send + Sync>;

/// The epoll instance of a wait context, and the state of its paused job.
pub(crate) struct Watch {
    /// The fork generation of the process that made the watch.
    process: u64,
    epoll: OwnedFd,
    /// A job that would be the second one waits without a pause.
    paused: Mutex<Option<(Option<Key>, Flight)>>,
    counters: Arc<Counters>,
}

impl Watch {
    /// Makes the descriptor readable when the request can go on. Returns false if its job cannot be
    /// paused.
    pub(crate) fn begin(&self, flight: &mut Flight) -> bool {
        if self.paused().is_some() {
            return false;
        }
        let is_watched = flight.watch(&self.epoll).is_ok();
        if !is_watched {
            flight.unwatch(&self.epoll);
        }
        is_watched
    }

    /// Stores the state of a job that is about to be paused, after [`begin`](Self::begin).
    pub(crate) fn store(&self, key: Option<Key>, flight: Flight) {
        *self.paused() = Some((key, flight));
    }

    /// Removes and returns the state of the job that continues. In a child that was forked, the
    /// epoll instance stays as it is: it is the parent's too.
    pub(crate) fn take(&self) -> Option<(Option<Key>, Flight)> {
        let (key, flight) = self.paused().take()?;
        if self.is_of_this_process() {
            flight.unwatch(&self.epoll);
        }
        Some((key, flight))
    }

    fn paused(&self) -> MutexGuard<'_, Option<(Option<Key>, Flight)>> {
        self.paused.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OfJob for Watch {
    key_of!();

    fn new(counters: &Arc<Counters>) -> Result<Self, Errno> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let (process, counters) = (process::fork_generation(), Arc::clone(counters));
        Ok(Self { process, epoll, paused: Mutex::default(), counters })
    }

    fn descriptor(&self) -> c_int {
        self.epoll.as_raw_fd()
    }

    fn is_of_this_process(&self) -> bool {
        self.process == process::fork_generation()
    }

    /// Closes the connection of a job that is still paused: the job is never started again.
    fn close(self) {
        self.counters.add(Event::Abandoned, self.paused().iter().len());
    }

    fn close_in_child(self: Box<Self>) {
        let Self { epoll, paused, counters, .. } = *self;
        drop(epoll);
        mem::forget((paused, counters));
    }
}
