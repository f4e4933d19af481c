//! Operations of an event loop: a descriptor is readable while there is something to do.
//!
//! A loop is an executor of the queue's futures. The waker of an operation puts its number on a
//! list, and the first number makes the descriptor readable. As in every executor, a new operation
//! is on the list at once. So the loop runs the batch itself, in its next iteration: all operations
//! of one iteration share lanes.

use core::ffi::c_int;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::task::Wake;

use ::tollgate_queue::{Answer, Caller, PrivateError, PrivateJob, Ticket};
use rustix::event::{EventfdFlags, eventfd};
use tollgate_cpu::process;

use crate::arguments::Place;
use crate::border::enter;
use crate::code::{Failure, tollgate_code};
use crate::handle::{self, Handle};
use crate::operation::{Target, tollgate_operation};
use crate::queue::{submit, tollgate_queue};

/// The operations of an event loop. One thread at a time uses it; several loops may share a queue.
pub struct tollgate_loop {
    caller: Caller<PrivateJob>,
    /// The fork generation of the process that made the loop. A child shares the descriptor with
    /// its parent, so it must not read or write it.
    process: u64,
    woken: Arc<Woken>,
    slots: Mutex<Slots>,
}

impl Handle for tollgate_loop {
    const NAME: &str = "tollgate_loop";
    const MAGIC: &[u8; 8] = b"tollloop";
}

/// Operations whose state may have changed.
struct Woken {
    eventfd: File,
    numbers: Mutex<VecDeque<usize>>,
}

#[derive(Default)]
struct Slots {
    slots: Vec<Slot>,
    free: Vec<usize>,
}

struct Slot {
    waker: Waker,
    running: Option<(Ticket<PrivateJob>, Target)>,
}

struct SlotWaker {
    woken: Arc<Woken>,
    number: usize,
}

impl Wake for SlotWaker {
    fn wake(self: Arc<Self>) {
        self.woken.push(self.number);
    }
}

/// Creates the operations of an event loop on a queue. Free it with tollgate_loop_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_loop_new(
    queue: *const tollgate_queue,
    event_loop: *mut *mut tollgate_loop,
) -> c_int {
    enter(|| {
        // SAFETY: the caller's promise.
        let place = unsafe { Place::new("event_loop", event_loop) }?;
        handle::create(place, || {
            // SAFETY: the caller's promise.
            let queue = unsafe { handle::borrow("queue", queue) }?;
            let eventfd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
            let eventfd = eventfd.map_err(|error| {
                let text = format!("no descriptor for the loop: {error}; raise ulimit -n");
                Failure::new(tollgate_code::TOLLGATE_UNAVAILABLE, text)
            })?;
            Ok(tollgate_loop {
                caller: queue.add_caller()?,
                process: process::fork_generation(),
                woken: Arc::new(Woken { eventfd: eventfd.into(), numbers: Mutex::default() }),
                slots: Mutex::default(),
            })
        })
    })
}

/// Returns a descriptor that is readable while tollgate_loop_next() has something to do. Watch it
/// for input with epoll or poll, and neither read nor close it. Returns -1 if event_loop is no
/// loop.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_loop_fd(event_loop: *const tollgate_loop) -> c_int {
    let mut descriptor = -1;
    enter(|| {
        // SAFETY: the caller's promise.
        descriptor = unsafe { handle::borrow("event_loop", event_loop) }?.woken.eventfd.as_raw_fd();
        Ok(())
    });
    descriptor
}

/// Submits an operation and returns at once; tollgate_loop_next() returns it at its end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_loop_submit(
    event_loop: *const tollgate_loop,
    operation: *mut tollgate_operation,
) -> c_int {
    enter(|| {
        // SAFETY: the caller's promise.
        let event_loop = unsafe { handle::borrow("event_loop", event_loop) }?;
        event_loop.check_process()?;
        let mut slots = exclusive("event_loop", &event_loop.slots)?;
        // SAFETY: the caller's promise.
        let running = unsafe { submit(&event_loop.caller, operation) }?;
        slots.add(&event_loop.woken, running);
        Ok(())
    })
}

/// Sets operation to one that is done, with its code and output_len set, or to NULL if there is
/// none now: call it until then. This runs the operations that wait.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_loop_next(
    event_loop: *const tollgate_loop,
    operation: *mut *mut tollgate_operation,
) -> c_int {
    enter(|| {
        // SAFETY: the caller's promise.
        let place = unsafe { Place::new("operation", operation) }?;
        place.set(core::ptr::null_mut());
        // SAFETY: the caller's promise.
        let event_loop = unsafe { handle::borrow("event_loop", event_loop) }?;
        event_loop.check_process()?;
        let mut slots = exclusive("event_loop", &event_loop.slots)?;
        while let Some(number) = event_loop.woken.pop() {
            if let Some((target, end)) = slots.poll(number) {
                // The code of the operation says whether it failed.
                if let Err(failure) = target.finish(end.as_deref().map_err(Clone::clone)) {
                    failure.report();
                }
                place.set(target.operation());
                break;
            }
        }
        Ok(())
    })
}

/// Frees the operations of a loop. Those that are not done are cancelled: their structures and
/// outputs stay unchanged. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_loop_free(event_loop: *mut tollgate_loop) -> c_int {
    // SAFETY: the caller's promise.
    enter(|| unsafe { handle::free("event_loop", event_loop) })
}

impl tollgate_loop {
    fn check_process(&self) -> Result<(), Failure> {
        if self.process == process::fork_generation() {
            return Ok(());
        }
        Err(PrivateError::Forked.into())
    }
}

impl Woken {
    fn push(&self, number: usize) {
        let mut numbers = self.numbers();
        numbers.push_back(number);
        if numbers.len() == 1 {
            // The write fails only if the counter is at its maximum, and thus readable anyway.
            let _ = (&self.eventfd).write(&1_u64.to_ne_bytes());
        }
    }

    fn pop(&self) -> Option<usize> {
        let mut numbers = self.numbers();
        let number = numbers.pop_front()?;
        if numbers.is_empty() {
            let _ = (&self.eventfd).read(&mut [0; 8]); // resets the counter
        }
        Some(number)
    }

    fn numbers(&self) -> MutexGuard<'_, VecDeque<usize>> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slots {
    /// Stores a submitted operation and wakes it.
    fn add(&mut self, woken: &Arc<Woken>, running: (Ticket<PrivateJob>, Target)) {
        let number = self.free.pop().unwrap_or_else(|| {
            let number = self.slots.len();
            let waker = Waker::from(Arc::new(SlotWaker { woken: Arc::clone(woken), number }));
            self.slots.push(Slot { waker, running: None });
            number
        });
        self.slots[number].running = Some(running);
        woken.push(number);
    }

    /// Polls an operation, and returns its end. A number may be woken without reason.
    fn poll(
        &mut self,
        number: usize,
    ) -> Option<(Target, Result<Answer<PrivateJob>, PrivateError>)> {
        let Slot { waker, running } = &mut self.slots[number];
        let (ticket, target) = running.as_mut()?;
        let Poll::Ready(end) = Pin::new(ticket).poll(&mut Context::from_waker(waker)) else {
            return None;
        };
        let target = *target;
        *running = None;
        self.free.push(number);
        Some((target, end))
    }
}

/// Locks an object of one thread at a time.
fn exclusive<'a, T>(name: &str, object: &'a Mutex<T>) -> Result<MutexGuard<'a, T>, Failure> {
    match object.try_lock() {
        Ok(guard) => Ok(guard),
        Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => Err(Failure::misuse(format!(
            "{name} is in use by another thread: use it from one thread at a time"
        ))),
    }
}
