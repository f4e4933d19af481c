//! Calls of libcrypto as jobs (`ASYNC_start_job(3)`), as libssl runs the handshakes of a server
//! that lets them pause: an engine can pause them until it runs several private operations as one
//! batch.

use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::ptr;

use openssl::error::ErrorStack;

use super::check;

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

/// `ASYNC_PAUSE` and `ASYNC_FINISH` of `openssl/async.h`.
const PAUSE: c_int = 2;
const FINISH: c_int = 3;

unsafe extern "C" {
    fn ASYNC_WAIT_CTX_new() -> *mut WaitContext;
    fn ASYNC_WAIT_CTX_free(context: *mut WaitContext);
    fn ASYNC_WAIT_CTX_set_callback(
        context: *mut WaitContext,
        callback: extern "C" fn(*mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn ASYNC_start_job(
        job: *mut *mut AsyncJob,
        context: *mut WaitContext,
        result: *mut c_int,
        function: extern "C" fn(*mut c_void) -> c_int,
        arguments: *mut c_void,
        size: usize,
    ) -> c_int;
}

/// The number of jobs after which an engine that has not run a batch counts as one that runs none.
const JOBS_MAX: usize = 64;

/// A call as a job, with its own wait context, as each connection has one.
struct Job<'a, R> {
    context: *mut WaitContext,
    job: Cell<*mut AsyncJob>,
    call: &'a dyn Fn() -> R,
    result: Cell<Option<R>>,
    has_ended: Cell<bool>,
}

impl<'a, R> Job<'a, R> {
    fn new(call: &'a dyn Fn() -> R) -> Result<Self, ErrorStack> {
        /// The owner starts the job again anyway.
        extern "C" fn notified(_: *mut c_void) -> c_int {
            1
        }

        // SAFETY: a function without arguments.
        let context = unsafe { ASYNC_WAIT_CTX_new() };
        if context.is_null() {
            return Err(ErrorStack::get());
        }
        let (job, result) = (Cell::new(ptr::null_mut()), Cell::new(None));
        let this = Self { context, job, call, result, has_ended: Cell::new(false) };
        // SAFETY: a valid context, and a function that accepts any argument.
        check(unsafe { ASYNC_WAIT_CTX_set_callback(context, notified, ptr::null_mut()) })?;
        Ok(this)
    }

    /// Starts the job, or continues it after a pause. It must not move before it has ended.
    fn run(&self) -> Result<(), ErrorStack> {
        extern "C" fn run<R>(argument: *mut c_void) -> c_int {
            // SAFETY: libcrypto's copy of the pointer below.
            let job = unsafe { *argument.cast::<*const Job<'_, R>>() };
            // SAFETY: the owner keeps the job in its place until it has ended.
            let job = unsafe { &*job };
            job.result.set(Some((job.call)()));
            1
        }

        let (mut argument, mut returned) = (ptr::from_ref(self), 0);
        // SAFETY: valid pointers; libcrypto copies `argument`, a pointer, when it begins a job.
        let state = unsafe {
            ASYNC_start_job(
                self.job.as_ptr(),
                self.context,
                &raw mut returned,
                run::<R>,
                (&raw mut argument).cast(),
                size_of_val(&argument),
            )
        };
        self.has_ended.set(state == FINISH);
        if matches!(state, PAUSE | FINISH) { Ok(()) } else { Err(ErrorStack::get()) }
    }
}

impl<R> Drop for Job<'_, R> {
    fn drop(&mut self) {
        // SAFETY: from `ASYNC_WAIT_CTX_new`, freed once. A job that is still paused, after an error
        // of another one, is never continued: libcrypto leaks its stack.
        unsafe { ASYNC_WAIT_CTX_free(self.context) };
    }
}

/// Runs a call as `count` jobs at once, in turns, until all have ended. Returns their results.
pub(crate) fn together<R>(count: usize, call: &dyn Fn() -> R) -> Result<Vec<R>, ErrorStack> {
    let jobs = (0..count).map(|_| Job::new(call)).collect::<Result<Vec<_>, _>>()?;
    end(&jobs)?;
    Ok(jobs.iter().filter_map(|job| job.result.take()).collect())
}

/// Returns the number of calls that the engine runs as one batch, if as many come: the number of
/// jobs that it pauses before a job ends at once, and that job. 1 if it runs no batches.
pub(crate) fn batch_of<R>(call: &dyn Fn() -> R) -> Result<usize, ErrorStack> {
    let jobs = (0..JOBS_MAX).map(|_| Job::new(call)).collect::<Result<Vec<_>, _>>()?;
    for (begun, job) in (1..).zip(&jobs) {
        job.run()?;
        let paused = jobs[..begun].iter().filter(|job| !job.has_ended.get()).count();
        if job.has_ended.get() && paused > 0 {
            end(&jobs[..begun])?;
            return Ok(paused + 1);
        }
    }
    end(&jobs)?;
    Ok(1)
}

/// Runs jobs in turns until all have ended.
fn end<R>(jobs: &[Job<'_, R>]) -> Result<(), ErrorStack> {
    while jobs.iter().any(|job| !job.has_ended.get()) {
        for job in jobs.iter().filter(|job| !job.has_ended.get()) {
            job.run()?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{each_engine, sign};
    use super::*;

    #[test]
    fn jobs_end_with_their_results_whether_the_engine_pauses_them_or_not() {
        each_engine(|source, key| {
            let sign = || sign(source, key, Some(c"SHA256"), false, b"message").unwrap();
            let expected = sign();
            let batch = batch_of(&sign).unwrap();
            for count in [1, 2, batch, batch + 1] {
                assert_eq!(together(count, &sign).unwrap(), vec![expected.clone(); count]);
            }
        });
    }

    #[test]
    fn a_call_that_nothing_pauses_runs_alone() {
        assert_eq!(batch_of(&|| 7).unwrap(), 1);
        assert_eq!(together(3, &|| 7).unwrap(), [7; 3]);
    }
}
