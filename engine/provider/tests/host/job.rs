//! Jobs of libcrypto, as a server with many connections and one thread starts them.
#![allow(non_camel_case_types, non_snake_case, reason = "C names")]

use core::ffi::{c_int, c_short, c_ulong, c_void};
use core::ptr;

#[repr(C)]
struct ASYNC_JOB {
    _opaque: [u8; 0],
}

#[repr(C)]
pub(crate) struct ASYNC_WAIT_CTX {
    _opaque: [u8; 0],
}

#[repr(C)]
struct PollFd {
    fd: c_int,
    events: c_short,
    revents: c_short,
}

type Callback = unsafe extern "C" fn(*mut c_void) -> c_int;

#[link(name = "crypto")]
unsafe extern "C" {
    fn ASYNC_WAIT_CTX_new() -> *mut ASYNC_WAIT_CTX;
    fn ASYNC_WAIT_CTX_free(context: *mut ASYNC_WAIT_CTX);
    fn ASYNC_WAIT_CTX_get_all_fds(
        context: *mut ASYNC_WAIT_CTX,
        fds: *mut c_int,
        count: *mut usize,
    ) -> c_int;
    fn ASYNC_WAIT_CTX_set_callback(
        context: *mut ASYNC_WAIT_CTX,
        callback: Callback,
        argument: *mut c_void,
    ) -> c_int;
    fn ASYNC_start_job(
        job: *mut *mut ASYNC_JOB,
        context: *mut ASYNC_WAIT_CTX,
        result: *mut c_int,
        run: unsafe extern "C" fn(*mut c_void) -> c_int,
        argument: *mut c_void,
        size: usize,
    ) -> c_int;
    pub(crate) fn ASYNC_block_pause();
    pub(crate) fn ASYNC_unblock_pause();
    fn poll(fds: *mut PollFd, count: c_ulong, timeout_ms: c_int) -> c_int;
}

/// `STACKSIZE` of libcrypto's `async_posix.h`.
pub(crate) const STACK_BYTES: usize = 32 * 1024;

/// `ASYNC_PAUSE` and `ASYNC_FINISH` of `openssl/async.h`, `POLLIN` of `poll.h`.
const PAUSED: c_int = 2;
const FINISHED: c_int = 3;
const POLLIN: c_short = 1;

/// A job and its wait context.
pub(crate) struct Job<'a> {
    handle: *mut ASYNC_JOB,
    context: *mut ASYNC_WAIT_CTX,
    operation: Box<Box<dyn FnMut() + 'a>>,
}

unsafe extern "C" fn run(argument: *mut c_void) -> c_int {
    // SAFETY: libcrypto passes a copy of the pointer that it was given.
    let operation = unsafe { argument.cast::<*mut Box<dyn FnMut()>>().read() };
    // SAFETY: the job's operation; no other code accesses it meanwhile.
    unsafe { (*operation)() };
    1
}

impl<'a> Job<'a> {
    pub(crate) fn new(operation: impl FnMut() + 'a) -> Self {
        // SAFETY: no arguments.
        let context = unsafe { ASYNC_WAIT_CTX_new() };
        Self { handle: ptr::null_mut(), context, operation: Box::new(Box::new(operation)) }
    }

    /// Creates a job whose owner is notified by a callback, and so waits for no descriptor.
    pub(crate) fn with_callback(operation: impl FnMut() + 'a) -> Self {
        unsafe extern "C" fn ignore(_: *mut c_void) -> c_int {
            1
        }
        let job = Self::new(operation);
        // SAFETY: the function reads no argument.
        unsafe { job.call(ignore, ptr::null_mut()) };
        job
    }

    /// Creates a job without a wait context, which cannot be notified.
    pub(crate) fn without_context(operation: impl FnMut() + 'a) -> Self {
        let context = ptr::null_mut();
        Self { handle: ptr::null_mut(), context, operation: Box::new(Box::new(operation)) }
    }

    /// Starts or resumes the job; returns whether it has finished.
    pub(crate) fn resume(&mut self) -> bool {
        let mut argument = ptr::from_mut(&mut *self.operation).cast::<c_void>();
        let mut result = 0;
        // SAFETY: buffers for the results; the argument is copied, and the value that it points to
        // lives as long as the job may be resumed.
        let status = unsafe {
            ASYNC_start_job(
                &mut self.handle,
                self.context,
                &mut result,
                run,
                ptr::from_mut(&mut argument).cast(),
                size_of::<*mut c_void>(),
            )
        };
        assert!(status == PAUSED || (status, result) == (FINISHED, 1), "{status}");
        status == FINISHED
    }

    /// Resumes the job whenever it is ready, until it has finished.
    pub(crate) fn finish(mut self) {
        while !self.resume() {
            self.wait(-1);
        }
    }

    /// Waits for a limited time until the job is ready. Returns whether the job is ready.
    pub(crate) fn wait(&self, timeout_ms: c_int) -> bool {
        let fds = self.fds();
        assert!(!fds.is_empty(), "a paused job has a descriptor");
        let mut fds: Vec<_> =
            fds.into_iter().map(|fd| PollFd { fd, events: POLLIN, revents: 0 }).collect();
        // SAFETY: an array and its length.
        unsafe { poll(fds.as_mut_ptr(), fds.len() as c_ulong, timeout_ms) > 0 }
    }

    pub(crate) fn fds(&self) -> Vec<c_int> {
        let mut count = 0;
        // SAFETY: a context; asks for the count.
        unsafe { ASYNC_WAIT_CTX_get_all_fds(self.context, ptr::null_mut(), &mut count) };
        let mut fds = vec![-1; count];
        // SAFETY: a context, and an array of the length that libcrypto returned.
        unsafe { ASYNC_WAIT_CTX_get_all_fds(self.context, fds.as_mut_ptr(), &mut count) };
        fds
    }

    /// Requests a callback with `argument` instead of a descriptor.
    ///
    /// # Safety
    ///
    /// `callback` may be called with `argument`, by any thread, while the job lives.
    pub(crate) unsafe fn call(&self, callback: Callback, argument: *mut c_void) {
        // SAFETY: a context, and the caller's promise.
        assert_eq!(unsafe { ASYNC_WAIT_CTX_set_callback(self.context, callback, argument) }, 1);
    }
}

impl Drop for Job<'_> {
    /// Forgets a paused job, as `SSL_free` does in the middle of a handshake.
    fn drop(&mut self) {
        if !self.context.is_null() {
            // SAFETY: freed once.
            unsafe { ASYNC_WAIT_CTX_free(self.context) };
        }
    }
}
