//! Jobs of libcrypto: `ASYNC_start_job(3)`, `ASYNC_WAIT_CTX_new(3)`.
//!
//! The functions are looked up at run time: see [`crate::library`]. If one is missing, no job is
//! ever found.

use core::ffi::{c_int, c_void};
use core::ptr;
use std::sync::Arc;

use rustix::io::Errno;

use crate::boundary::catch;
use crate::counters::Counters;
use crate::library::Library;

/// `ASYNC_JOB`.
#[repr(C)]
struct AsyncJob {
    opaque: [u8; 0],
}

/// `ASYNC_WAIT_CTX`.
#[repr(C)]
struct WaitContext {
    opaque: [u8; 0],
}

type Cleanup = unsafe extern "C" fn(*mut WaitContext, *const c_void, c_int, *mut c_void);
type CurrentJob = unsafe extern "C" fn() -> *mut AsyncJob;
type WaitContextOf = unsafe extern "C" fn(*mut AsyncJob) -> *mut WaitContext;
type PauseJob = unsafe extern "C" fn() -> c_int;
type WaitFd =
    unsafe extern "C" fn(*mut WaitContext, *const c_void, *mut c_int, *mut *mut c_void) -> c_int;
type SetWaitFd =
    unsafe extern "C" fn(*mut WaitContext, *const c_void, c_int, *mut c_void, Cleanup) -> c_int;
type CallbackOf = unsafe extern "C" fn(
    *mut WaitContext,
    *mut Option<unsafe extern "C" fn(*mut c_void) -> c_int>,
    *mut *mut c_void,
) -> c_int;

/// The functions of libcrypto that work on jobs.
pub(crate) struct Jobs {
    current_job: CurrentJob,
    wait_context: WaitContextOf,
    pause_job: PauseJob,
    wait_fd: WaitFd,
    set_wait_fd: SetWaitFd,
    /// libcrypto has this function since 3.0; forks of libcrypto may lack it.
    callback: Option<CallbackOf>,
}

/// The job on whose stack the caller runs.
pub(crate) struct RunningJob<'a> {
    jobs: &'a Jobs,
    job: *mut AsyncJob,
}

impl Jobs {
    /// Looks up the functions in the library that contains `function`.
    ///
    /// # Safety
    ///
    /// libcrypto passed `function` to the provider, and outlives the value.
    pub(crate) unsafe fn of_library(function: *const ()) -> Option<Self> {
        let library = Library::new(function)?;
        Some(Self {
            // SAFETY: libcrypto's function of this name has this type: async.h.
            current_job: unsafe { library.find(c"ASYNC_get_current_job") }?,
            // SAFETY: as above.
            wait_context: unsafe { library.find(c"ASYNC_get_wait_ctx") }?,
            // SAFETY: as above.
            pause_job: unsafe { library.find(c"ASYNC_pause_job") }?,
            // SAFETY: as above.
            wait_fd: unsafe { library.find(c"ASYNC_WAIT_CTX_get_fd") }?,
            // SAFETY: as above.
            set_wait_fd: unsafe { library.find(c"ASYNC_WAIT_CTX_set_wait_fd") }?,
            // SAFETY: as above.
            callback: unsafe { library.find(c"ASYNC_WAIT_CTX_get_callback") },
        })
    }

    pub(crate) fn running(&self) -> Option<RunningJob<'_>> {
        // SAFETY: a function without arguments.
        let job = unsafe { (self.current_job)() };
        (!job.is_null()).then_some(RunningJob { jobs: self, job })
    }
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
    pub(crate) fn call(self) -> bool {
        // SAFETY: as the caller of `new` promised; the wait context lives as long as its job.
        unsafe { (self.function)(self.argument) != 0 }
    }
}

/// A value that a wait context owns, with the descriptor that its owner waits for.
pub(crate) trait OfJob: Sized {
    /// Returns the key of the value in a wait context: [`key_of`].
    fn key() -> *const c_void;

    /// Fails if the process or the system has no free descriptor.
    fn new(counters: &Arc<Counters>) -> Result<Self, Errno>;

    fn descriptor(&self) -> c_int;

    /// Returns whether this process made the value, and not a parent that it was forked from.
    fn is_of_this_process(&self) -> bool;

    /// Drops the value. Jobs that are still paused are never started again.
    fn close(self);

    /// Closes the descriptor in a forked child and leaks the rest of the value, because another
    /// thread of the parent may have been changing the rest during the fork.
    fn close_in_child(self: Box<Self>);
}

/// Defines [`OfJob::key`]: the address of a static of this type.
macro_rules! key_of {
    () => {
        fn key() -> *const core::ffi::c_void {
            static KEY: core::sync::atomic::AtomicU8 = core::sync::atomic::AtomicU8::new(0);
            core::ptr::from_ref(&KEY).cast()
        }
    };
}
pub(crate) use key_of;

impl RunningJob<'_> {
    /// Returns the value of the job's wait context, if it is ready for a pause. The first call
    /// creates it.
    ///
    /// Returns `None` if the owner cannot be notified. That is the case if the job has no wait
    /// context, if no descriptor is free, and in a child of the process that made the value. A
    /// value that is not ready is not stored: HAProxy crashes when it closes a connection that has
    /// a descriptor but was never paused.
    pub(crate) fn own<T: OfJob>(
        &self,
        counters: &Arc<Counters>,
        is_ready: impl FnOnce(&T) -> bool,
    ) -> Option<&T> {
        // SAFETY: the running job.
        let context = unsafe { (self.jobs.wait_context)(self.job) };
        if context.is_null() {
            return None;
        }
        let key = T::key();
        let (mut fd, mut value) = (-1, ptr::null_mut());
        // SAFETY: a wait context, which lives while its job runs, and variables to fill.
        let found = unsafe { (self.jobs.wait_fd)(context, key, &mut fd, &mut value) };
        if found == 1 {
            // SAFETY: the value was stored below with the key of its type, and lives until the
            // cleanup.
            let value = unsafe { &*value.cast::<T>() };
            return (value.is_of_this_process() && is_ready(value)).then_some(value);
        }
        let value = Box::new(T::new(counters).ok().filter(is_ready)?);
        let fd = value.descriptor();
        let value = Box::into_raw(value);
        let (set, owned) = (self.jobs.set_wait_fd, value.cast());
        // SAFETY: as above; the cleanup takes ownership, once.
        let stored = unsafe { set(context, key, fd, owned, clean_up::<T>) };
        if stored != 1 {
            // SAFETY: from the box above, and not stored.
            drop(unsafe { Box::from_raw(value) });
            return None;
        }
        // SAFETY: it lives until the cleanup, which does not happen while the job runs.
        Some(unsafe { &*value })
    }

    /// Returns the callback that the job's owner has set.
    pub(crate) fn callback(&self) -> Option<Callback> {
        let ask = self.jobs.callback?;
        // SAFETY: the running job.
        let context = unsafe { (self.jobs.wait_context)(self.job) };
        if context.is_null() {
            return None;
        }
        let (mut function, mut argument) = (None, ptr::null_mut());
        // SAFETY: a wait context, which lives while its job runs, and variables to fill.
        let is_set = unsafe { ask(context, &mut function, &mut argument) } == 1;
        // SAFETY: the owner set function and argument, to be called while the wait context lives.
        function.filter(|_| is_set).map(|function| unsafe { Callback::new(function, argument) })
    }

    /// Returns control to the owner until it starts the job again. Returns false if that is
    /// impossible, and true at once if pauses are blocked.
    pub(crate) fn pause(&self) -> bool {
        // SAFETY: called on the stack of the job. If the job is never started again, the stack
        // leaks.
        unsafe { (self.jobs.pause_job)() == 1 }
    }
}

/// libcrypto calls this function when it frees the wait context. The paused jobs of that context
/// are never started again.
unsafe extern "C" fn clean_up<T: OfJob>(
    _context: *mut WaitContext,
    _key: *const c_void,
    _fd: c_int,
    value: *mut c_void,
) {
    catch((), || {
        // SAFETY: the box that was stored; libcrypto calls this once.
        let value = unsafe { Box::from_raw(value.cast::<T>()) };
        if value.is_of_this_process() { value.close() } else { value.close_in_child() }
    });
}
