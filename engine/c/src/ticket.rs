//! Tickets of submitted operations.

use core::ffi::c_int;
use core::time::Duration;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Instant;

use tollgate_queue::{Answer, PrivateError, PrivateJob, Ticket};

use crate::border::enter;
use crate::code::{Failure, tollgate_code};
use crate::handle::{self, Handle};
use crate::operation::Target;

/// An operation that was submitted. One thread at a time uses it.
pub struct tollgate_ticket(Mutex<State>);

impl Handle for tollgate_ticket {
    const NAME: &str = "tollgate_ticket";
    const MAGIC: &[u8; 8] = b"tolltick";
}

struct State {
    ticket: Ticket<PrivateJob>,
    target: Target,
    /// The operation's end, which was written.
    end: Option<Result<(), Failure>>,
}

type End = Option<Result<Answer<PrivateJob>, PrivateError>>;

impl tollgate_ticket {
    pub(crate) fn new(ticket: Ticket<PrivateJob>, target: Target) -> Self {
        Self(Mutex::new(State { ticket, target, end: None }))
    }
}

/// Returns the operation's code, and TOLLGATE_PENDING until it is done. In a queue without workers,
/// this runs waiting operations. May be called again after the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_ticket_poll(ticket: *const tollgate_ticket) -> c_int {
    // SAFETY: the caller's promise.
    enter(|| unsafe { end(ticket, Ticket::try_take) })
}

/// Waits for an operation, at most timeout_ms milliseconds, without limit if negative. Returns the
/// operation's code, or TOLLGATE_PENDING. This thread runs operations of the queue meanwhile, and
/// may return one batch late.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_ticket_wait(
    ticket: *const tollgate_ticket,
    timeout_ms: i64,
) -> c_int {
    let timeout = u64::try_from(timeout_ms).map_or(Duration::MAX, Duration::from_millis);
    let timeout = timeout.min(NO_LIMIT);
    // SAFETY: the caller's promise.
    enter(|| unsafe { end(ticket, |ticket| ticket.wait_until(Instant::now() + timeout)) })
}

/// Frees a ticket. An operation that is not done is cancelled: its structure and its output stay
/// unchanged. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_ticket_free(ticket: *mut tollgate_ticket) -> c_int {
    // SAFETY: the caller's promise.
    enter(|| unsafe { handle::free("ticket", ticket) })
}

/// A year.
const NO_LIMIT: Duration = Duration::from_secs(31_536_000);

/// Asks for the end of an operation and writes it.
///
/// # Safety
///
/// `ticket` is NULL or a handle.
unsafe fn end(
    ticket: *const tollgate_ticket,
    ask: impl FnOnce(&mut Ticket<PrivateJob>) -> End,
) -> Result<(), Failure> {
    // SAFETY: the caller's promise.
    let ticket = unsafe { handle::borrow("ticket", ticket) }?;
    let State { ticket, target, end } = &mut *exclusive("ticket", &ticket.0)?;
    if end.is_none() {
        let Some(answer) = ask(ticket) else {
            let text = "the operation is not done yet: ask again later";
            return Err(Failure::new(tollgate_code::TOLLGATE_PENDING, text));
        };
        *end = Some(target.finish(answer.as_deref().map_err(Clone::clone)));
    }
    end.clone().unwrap_or(Ok(()))
}

/// Locks an object of one thread at a time.
pub(crate) fn exclusive<'a, T>(
    name: &str,
    object: &'a Mutex<T>,
) -> Result<MutexGuard<'a, T>, Failure> {
    match object.try_lock() {
        Ok(guard) => Ok(guard),
        Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => Err(Failure::misuse(format!(
            "{name} is in use by another thread: use it from one thread at a time"
        ))),
    }
}
