//! What wakes the owner of a paused job, and keeps what the job must not: whoever abandons a job
//! leaks its stack, with all that lies on it.
//!
//! A bell belongs to a wait context of libcrypto and ends with it. Meanwhile it holds the keys of
//! the jobs that are paused, and their results until they are taken. Who finishes an operation has
//! a count of the bell, and finds it closed if nobody waits any more.

use core::ffi::{c_int, c_uint, c_void};
use std::fs::File;
use std::io::{Error, Read as _, Write as _};
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use tollgate_engine::PrivateError;
use zeroize::Zeroizing;

use crate::key::Key;

/// How an operation ended.
pub(crate) type End = Result<Zeroizing<Vec<u8>>, PrivateError>;

/// See the module.
pub(crate) struct Bell {
    /// The process that made it. A child has its memory, and may find its locks held for ever.
    process: u32,
    /// Keys of paused jobs, by number; the thread that runs the job is at them, or the cleanup.
    keys: Mutex<Vec<(u64, Arc<Key>)>>,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// None before it is hung up, and after it is closed.
    fd: Option<File>,
    paused: Vec<Paused>,
    last: u64,
    /// Threads that call back.
    calling: Vec<ThreadId>,
}

struct Paused {
    number: u64,
    callback: Option<Callback>,
    end: Option<End>,
}

/// `ASYNC_callback_fn` and its argument: what an owner would rather have called.
#[derive(Clone, Copy)]
pub(crate) struct Callback {
    function: unsafe extern "C" fn(*mut c_void) -> c_int,
    argument: *mut c_void,
}

// SAFETY: it is made to be called from any thread: ASYNC_WAIT_CTX_new(3).
unsafe impl Send for Callback {}

impl Callback {
    /// # Safety
    ///
    /// `function` may be called with `argument`, by any thread, while the wait context lives.
    pub(crate) unsafe fn new(
        function: unsafe extern "C" fn(*mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> Self {
        Self { function, argument }
    }

    /// Whether the owner was told.
    fn call(self) -> bool {
        // SAFETY: as `new` was promised; the bell that calls is not closed meanwhile.
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
    /// With a descriptor that becomes readable when it rings.
    ///
    /// # Errors
    ///
    /// The system gives no descriptor.
    pub(crate) fn new() -> Result<(Self, OwnedFd), Error> {
        // SAFETY: no pointers.
        let fd = unsafe { eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
        if fd < 0 {
            return Err(Error::last_os_error());
        }
        // SAFETY: a fresh descriptor, owned by nobody else.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let state = State { fd: None, paused: Vec::new(), last: 0, calling: Vec::new() };
        let bell = Self {
            process: std::process::id(),
            keys: Mutex::default(),
            state: Mutex::new(state),
            changed: Condvar::new(),
        };
        Ok((bell, fd))
    }

    /// Takes the descriptor: the owner knows it.
    pub(crate) fn hang(&self, fd: OwnedFd) {
        self.lock().fd = Some(fd.into());
    }

    /// Whether this is the process that made it.
    pub(crate) fn is_here(&self) -> bool {
        self.process == std::process::id()
    }

    /// A job is about to be paused; its number.
    pub(crate) fn begin(&self, key: Arc<Key>, callback: Option<Callback>) -> u64 {
        let mut state = self.lock();
        state.last += 1;
        let number = state.last;
        state.paused.push(Paused { number, callback, end: None });
        drop(state);
        self.keys().push((number, key));
        number
    }

    /// Gives the key back. A child has it too.
    pub(crate) fn take_key(&self, number: u64) -> Option<Arc<Key>> {
        let mut keys = self.keys();
        let index = keys.iter().position(|(other, _)| *other == number)?;
        Some(keys.swap_remove(index).1)
    }

    /// Tells the owner to start the job again.
    pub(crate) fn ring(&self) {
        self.lock().ring();
    }

    /// The job goes on without a result.
    pub(crate) fn withdraw(&self, number: u64) {
        self.lock().paused.retain(|paused| paused.number != number);
    }

    /// The end of a job's operation, once there is one.
    pub(crate) fn take(&self, number: u64) -> Option<End> {
        self.lock().take(number)
    }

    /// Sleeps until there is one; none if it is not to come.
    pub(crate) fn wait(&self, number: u64) -> Option<End> {
        let mut state = self.lock();
        loop {
            if let Some(end) = state.take(number) {
                return Some(end);
            }
            state.paused.iter().find(|paused| paused.number == number)?;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// An operation ended: keeps how, and tells the owner. If nobody waits any more, that is
    /// dropped, and so wiped.
    pub(crate) fn finish(&self, number: u64, end: End) {
        let mut state = self.lock();
        let Some(paused) = state.paused.iter_mut().find(|paused| paused.number == number) else {
            return;
        };
        paused.end = Some(end);
        let callback = paused.callback;
        self.changed.notify_all();
        let Some(callback) = callback else {
            return state.ring();
        };
        // A stranger's: outside of the lock, which it may want.
        let thread = thread::current().id();
        state.calling.push(thread);
        drop(state);
        let is_told = callback.call();
        let mut state = self.lock();
        state.calling.retain(|other| *other != thread);
        if !is_told {
            state.ring();
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Nobody waits any more: lets go of keys, results and the descriptor. Comes back when no other
    /// thread calls the owner.
    pub(crate) fn close(&self) {
        let keys = core::mem::take(&mut *self.keys());
        let mut state = self.lock();
        let (fd, paused) = (state.fd.take(), core::mem::take(&mut state.paused));
        let own = thread::current().id();
        while state.calling.iter().any(|thread| *thread != own) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        drop((keys, fd, paused));
    }

    /// The same in a child, without a look at what another thread may have left half done.
    ///
    /// # Safety
    ///
    /// `fd` is the bell's, and closed nowhere else in this process.
    pub(crate) unsafe fn close_elsewhere(bell: Arc<Self>, fd: c_int) {
        core::mem::forget(bell);
        // SAFETY: the caller's promise.
        drop(unsafe { OwnedFd::from_raw_fd(fd) });
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keys(&self) -> MutexGuard<'_, Vec<(u64, Arc<Key>)>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes an end, and silences the bell unless there is another.
    fn take(&mut self, number: u64) -> Option<End> {
        let ended = |paused: &Paused| paused.number == number && paused.end.is_some();
        let index = self.paused.iter().position(ended)?;
        let paused = self.paused.swap_remove(index);
        if let Some(mut fd) = self.fd.as_ref() {
            // Nothing to read is as good.
            let _ = fd.read(&mut [0; 8]);
        }
        if self.paused.iter().any(|paused| paused.end.is_some()) {
            self.ring();
        }
        paused.end
    }

    fn ring(&self) {
        if let Some(mut fd) = self.fd.as_ref() {
            // It fails if it rings as loud as it can.
            let _ = fd.write(&1_u64.to_ne_bytes());
        }
    }
}
