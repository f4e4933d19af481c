//! What tells the owner of a paused job to start it again, and keeps what the job must not: whoever
//! abandons a job leaks its stack, with all that lies on it.
//!
//! A bell belongs to a wait context of libcrypto and ends with it. It rings while a job is paused:
//! the loop of a server starts the job again when it next comes round, and the job then does what
//! has come together.

use core::ffi::{c_int, c_uint, c_void};
use core::mem::ManuallyDrop;
use std::fs::File;
use std::io::{Error, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tollgate_cpu::process;
use tollgate_queue::{PrivateJob, Ticket};

use crate::counters::{Counters, Event};
use crate::key::Key;

/// See the module.
pub(crate) struct Bell {
    /// The process that made it. A child has its memory, and may find its lock held for ever.
    process: u64,
    fd: File,
    /// The thread that runs the job is at it, or the cleanup.
    line: Mutex<Line>,
    counters: Arc<Counters>,
}

#[derive(Default)]
struct Line {
    paused: Vec<(u64, Kept)>,
    last: u64,
}

/// What a job owns while it is paused.
pub(crate) struct Kept {
    pub(crate) key: Arc<Key>,
    pub(crate) ticket: Ticket<PrivateJob>,
}

/// `ASYNC_callback_fn` and its argument: what an owner would rather have called.
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

    /// Whether the owner was told.
    fn call(self) -> bool {
        // SAFETY: as `new` was promised; the job that is about to be paused has its wait context.
        unsafe { (self.function)(self.argument) != 0 }
    }
}

unsafe extern "C" {
    fn eventfd(initial: c_uint, flags: c_int) -> c_int;
}

/// `EFD_CLOEXEC` and `EFD_NONBLOCK` of sys/eventfd.h.
const EFD_CLOEXEC: c_int = 0o2_000_000;
const EFD_NONBLOCK: c_int = 0o4_000;

impl Bell {
    /// With a descriptor that is readable while it rings.
    ///
    /// # Errors
    ///
    /// The system gives no descriptor.
    pub(crate) fn new(counters: &Arc<Counters>) -> Result<Self, Error> {
        // SAFETY: no pointers.
        let fd = unsafe { eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
        if fd < 0 {
            return Err(Error::last_os_error());
        }
        // SAFETY: a fresh descriptor, owned by nobody else.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let (process, counters) = (process::fork_generation(), Arc::clone(counters));
        Ok(Self { process, fd: fd.into(), line: Mutex::default(), counters })
    }

    pub(crate) fn descriptor(&self) -> c_int {
        self.fd.as_raw_fd()
    }

    /// Whether this is the process that made it.
    pub(crate) fn is_here(&self) -> bool {
        self.process == process::fork_generation()
    }

    /// A job is about to be paused, and leaves this here; its number. The owner is told at once
    /// that the job may go on, as libcrypto's own `dasync` does.
    pub(crate) fn keep(&self, kept: Kept, callback: Option<Callback>) -> u64 {
        let mut line = self.line();
        line.last += 1;
        let number = line.last;
        line.paused.push((number, kept));
        drop(line);
        // A stranger's: outside of the lock.
        if !callback.is_some_and(Callback::call) {
            // It fails if it rings as loud as it can.
            let _ = (&self.fd).write(&1_u64.to_ne_bytes());
        }
        number
    }

    /// The job goes on; a child has what it kept too. The bell is silent unless there is another.
    pub(crate) fn give_back(&self, number: u64) -> Option<Kept> {
        let mut line = self.line();
        let index = line.paused.iter().position(|(other, _)| *other == number)?;
        let (_, kept) = line.paused.swap_remove(index);
        if line.paused.is_empty() && self.is_here() {
            // Nothing to read is as good.
            let _ = (&self.fd).read(&mut [0; 8]);
        }
        Some(kept)
    }

    /// The end: nobody comes back to what is paused.
    pub(crate) fn close(self) {
        let abandoned = self.line().paused.len();
        self.counters.add(Event::Abandoned, abandoned);
    }

    /// The end in a child, without a look at what another thread may have left half done.
    pub(crate) fn close_elsewhere(self: Box<Self>) {
        let fd = ManuallyDrop::new(self).descriptor();
        // SAFETY: this process's copy of the descriptor, closed nowhere else.
        drop(unsafe { OwnedFd::from_raw_fd(fd) });
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
