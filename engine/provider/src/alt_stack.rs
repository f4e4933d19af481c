//! A larger stack for code that runs in a job of libcrypto. A job has a stack of 32 KiB without a
//! guard page; calls that may need more run on an alternative stack that belongs to the thread.

use core::cell::RefCell;
use core::ffi::{c_int, c_uint, c_ulong, c_void};
use core::mem::MaybeUninit;
use core::panic::AssertUnwindSafe;
use core::ptr;
use std::panic::{catch_unwind, resume_unwind};

/// The size is eight times what is needed to start an engine, to test its units and to run a batch.
const STACK_BYTES: usize = 256 << 10;

/// `ucontext_t` of ucontext.h: the fields that are written here, and enough space for the
/// other fields on any processor.
#[repr(C, align(64))]
struct Context {
    flags: c_ulong,
    link: *mut Self,
    stack: *mut c_void,
    stack_flags: c_int,
    stack_size: usize,
    registers: [u8; 8 << 10],
}

/// A stack, the context of its caller, and the context that runs on it.
#[repr(C, align(64))]
struct AltStack {
    outside: Context,
    inside: Context,
    stack: [u8; STACK_BYTES],
}

/// The function that runs on the stack.
type Task<'a> = &'a mut dyn FnMut();

unsafe extern "C" {
    fn getcontext(context: *mut Context) -> c_int;
    fn makecontext(context: *mut Context, run: unsafe extern "C" fn(), count: c_int, ...);
    fn swapcontext(old: *mut Context, new: *const Context) -> c_int;
}

/// Calls `run` on the alternative stack and returns its result. This function may be called on any
/// stack, but only jobs need it. `run` must not pause the job.
pub(crate) fn on_alt_stack<T>(run: impl FnOnce() -> T) -> T {
    thread_local! {
        static STACK: RefCell<Option<Box<MaybeUninit<AltStack>>>> = const { RefCell::new(None) };
    }
    // The stack is taken out and put back, because a nested call needs another one. If the thread
    // is ending, `try_with` fails, because there is no thread-local value any more.
    let taken = STACK.try_with(|cell| cell.take()).ok().flatten();
    let mut stack = taken.unwrap_or_else(Box::new_uninit);
    let (mut run, mut result) = (Some(run), None);
    let mut task = || {
        if let Some(run) = run.take() {
            // A panic must not unwind past the start of the stack.
            result = Some(catch_unwind(AssertUnwindSafe(run)));
        }
    };
    if !enter(&mut stack, &mut task) {
        task();
    }
    // If the thread is ending, `try_with` fails and drops the stack.
    let _ = STACK.try_with(|cell| cell.replace(Some(stack)));
    match result.expect("the task has run") {
        Ok(value) => value,
        Err(payload) => resume_unwind(payload),
    }
}

/// Runs a task, which must not panic, on the stack. Returns false if the context cannot be
/// switched.
fn enter(alt: &mut MaybeUninit<AltStack>, mut task: Task<'_>) -> bool {
    let alt = alt.as_mut_ptr();
    // SAFETY: a field of an allocated value.
    let outside = unsafe { &raw mut (*alt).outside };
    // SAFETY: as above.
    let inside = unsafe { &raw mut (*alt).inside };
    // SAFETY: as above.
    let stack = unsafe { &raw mut (*alt).stack };
    // SAFETY: memory that is larger than a context.
    if unsafe { getcontext(inside) } != 0 {
        return false;
    }
    // Raw pointers, because the context is not initialized in full. SAFETY: a field of a context
    // that is not shared.
    unsafe { (*inside).link = outside };
    // SAFETY: as above.
    unsafe { (*inside).stack = stack.cast() };
    // SAFETY: as above.
    unsafe { (*inside).stack_size = STACK_BYTES };
    let address = ptr::from_mut(&mut task).expose_provenance() as u64;
    #[allow(clippy::cast_possible_truncation, reason = "halves, because arguments are ints")]
    let (high, low) = ((address >> 32) as c_uint, address as c_uint);
    // SAFETY: the type that makecontext expects; it calls the function with two ints, as stated
    // below.
    let begin = unsafe {
        core::mem::transmute::<unsafe extern "C" fn(c_uint, c_uint), unsafe extern "C" fn()>(begin)
    };
    // SAFETY: a context with a stack and a successor, and a function of two ints.
    unsafe { makecontext(inside, begin, 2, high, low) };
    // SAFETY: a new context. When the task returns, execution continues here, on the old stack.
    unsafe { swapcontext(outside, inside) == 0 }
}

unsafe extern "C" fn begin(high: c_uint, low: c_uint) {
    let address = (u64::from(high) << 32) | u64::from(low);
    #[allow(clippy::cast_possible_truncation, reason = "it was a pointer")]
    let task = ptr::with_exposed_provenance_mut::<Task<'_>>(address as usize);
    // SAFETY: the task of `enter`, which returns after this function.
    unsafe { (*task)() };
}

#[cfg(test)]
#[path = "../tests/host/stack.rs"]
mod stack;

#[cfg(test)]
mod tests {

    use core::hint::black_box;
    use std::sync::Arc;

    use tollgate_queue::Work;
    use tollgate_rsa::{Hash, PrivateKey, Workspace};

    use super::*;
    use crate::counters::Counters;
    use crate::process_state::EnginePlan;

    #[test]
    fn runs_on_another_stack_and_returns() {
        let here = 0_u8;
        let mut there = 0;
        let sum = on_alt_stack(|| {
            let much = black_box([1_u8; STACK_BYTES / 2]);
            there = ptr::from_ref(&much).addr();
            on_alt_stack(|| much.iter().map(|byte| usize::from(*byte)).sum::<usize>())
        });
        assert_eq!(sum, STACK_BYTES / 2);
        assert!(there.abs_diff(ptr::from_ref(&here).addr()) > STACK_BYTES / 2, "on another stack");
    }

    #[test]
    fn propagates_panics() {
        let caught = catch_unwind(|| on_alt_stack(|| resume_unwind(Box::new(7))));
        let payload = caught.map(|never: ()| never).expect_err("it panicked");
        assert_eq!(payload.downcast_ref(), Some(&7));
        assert_eq!(on_alt_stack(|| 8), 8);
    }

    /// Starts an engine, tests its unit, and runs a full batch with the longest keys.
    #[test]
    fn the_deepest_call_uses_less_than_a_quarter_of_the_stack() {
        let pem = include_str!("../../../vectors/keys/rsa-8192.pem");
        let key = Arc::new(PrivateKey::from_pem(pem).unwrap());
        let digest = Hash::Sha256.digest(b"a message");
        let work = Work::SignPkcs1v15 { hash: Hash::Sha256 };
        let workspace = Workspace::new().unwrap();
        let (limbs, lanes) = (workspace.limb_kernel(), workspace.lane_kernel());
        let counters = Arc::new(Counters::default());
        let start_and_run = || {
            let plan = EnginePlan { limbs, lanes, linger_us_max: 0, counters };
            let running = plan.start(1).unwrap();
            let submit = || running.caller.submit(|job| job.load(&key, work, digest.as_ref()));
            let tickets: Vec<_> = (0..8).map(|_| submit().unwrap()).collect();
            for ticket in tickets {
                assert!(ticket.wait().is_ok());
            }
        };
        let deepest = on_alt_stack(|| stack::depth(STACK_BYTES, start_and_run));
        assert!((1..STACK_BYTES / 4).contains(&deepest), "{deepest}");
    }
}
