//! The queue: threads and event loops share lanes.

use core::ffi::c_int;
use core::time::Duration;

use ::tollgate_queue::{Caller, Config, PrivateError, PrivateJob, Queue, Ticket};

use crate::arguments::Place;
use crate::border::enter;
use crate::code::Failure;
use crate::code::tollgate_code::TOLLGATE_PENDING;
use crate::handle::{self, Handle};
use crate::operation::{Asked, Target, tollgate_operation};

/// A queue of operations, with one unit of lanes for each core that the process may use. Threads
/// may share it. A forked child cannot use its parent's queue: it gets TOLLGATE_FORKED.
pub struct tollgate_queue {
    queue: Queue<PrivateJob>,
    /// The caller of all operations that do not come from an event loop.
    caller: Caller<PrivateJob>,
}

impl tollgate_queue {
    pub(crate) fn add_caller(&self) -> Result<Caller<PrivateJob>, Failure> {
        Ok(self.queue.caller()?)
    }
}

/// Submits an operation.
///
/// # Safety
///
/// As [`Asked::read`].
pub(crate) unsafe fn submit(
    caller: &Caller<PrivateJob>,
    operation: *mut tollgate_operation,
) -> Result<(Ticket<PrivateJob>, Target), Failure> {
    // SAFETY: the caller's promise.
    let asked = unsafe { Asked::read(operation) }?;
    Ok((caller.submit(|job| asked.load(job))?, asked.target))
}

impl Handle for tollgate_queue {
    const NAME: &str = "tollgate_queue";
    const MAGIC: &[u8; 8] = b"tollqueu";
}

/// Starts a queue. capacity is the number of operations that may wait or run, 0 for 256. One caller
/// may have half of them: a tollgate_loop is a caller, and so are all other operations together.
///
/// The queue has no threads: those that wait or run a loop do the work. linger_us_max is the
/// longest time in microseconds that a batch waits for more operations, at most 10000; 0 is usual.
/// Free the queue with tollgate_queue_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_queue_start(
    capacity: usize,
    linger_us_max: u32,
    queue: *mut *mut tollgate_queue,
) -> c_int {
    enter(|| {
        // SAFETY: the caller's promise.
        let queue = unsafe { Place::new("queue", queue) }?;
        handle::create(queue, || {
            let config =
                if capacity == 0 { Config::default() } else { Config::with_capacity(capacity) };
            let queue = Queue::of_this_processor(Config { linger_us_max, ..config })?;
            Ok(tollgate_queue { caller: queue.caller()?, queue })
        })
    })
}

/// Runs an operation and waits for it. Threads that wait at the same time share lanes. Returns the
/// operation's code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_queue_run(
    queue: *const tollgate_queue,
    operation: *mut tollgate_operation,
) -> c_int {
    enter(|| {
        // SAFETY: the caller's promise.
        let queue = unsafe { handle::borrow("queue", queue) }?;
        // SAFETY: the caller's promise.
        let (ticket, target) = unsafe { submit(&queue.caller, operation) }?;
        target.finish(ticket.wait().as_deref().map_err(Clone::clone))
    })
}

/// Sets requests to the number of operations that the queue has run, and batches to the number of
/// calls that ran them. Their ratio is the mean number of lanes in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_queue_counts(
    queue: *const tollgate_queue,
    requests: *mut u64,
    batches: *mut u64,
) -> c_int {
    enter(|| {
        // SAFETY: the caller's promise.
        let queue = unsafe { handle::borrow("queue", queue) }?;
        // SAFETY: the caller's promise.
        let requests = unsafe { Place::new("requests", requests) }?;
        // SAFETY: the caller's promise.
        let batches = unsafe { Place::new("batches", batches) }?;
        let stats = queue.queue.stats()?;
        requests.set((0..).zip(&stats.fill).map(|(size, calls)| size * calls).sum());
        batches.set(stats.batches());
        Ok(())
    })
}

/// Closes a queue: waits until all submitted operations have ended, at most a minute, and frees it.
/// If some have not ended then, returns TOLLGATE_PENDING, and the queue stays: their memory is
/// still in use, so call this function again. No other thread may be in a call with this queue.
/// Loops stay valid, but accept no new operations. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_queue_free(queue: *mut tollgate_queue) -> c_int {
    enter(|| {
        if !queue.is_null() {
            // SAFETY: the caller's promise.
            let queue = unsafe { handle::borrow("queue", queue) }?;
            match queue.queue.shut_down(Duration::from_secs(60)) {
                Ok(report) if report.still_running => {
                    let text = "operations of the queue still run: call again later";
                    return Err(Failure::new(TOLLGATE_PENDING, text));
                }
                Ok(_) | Err(PrivateError::Forked) => {}
                Err(error) => return Err(error.into()),
            }
        }
        // SAFETY: the caller's promise.
        unsafe { handle::free("queue", queue) }
    })
}
