//! Room to work in: a job of libcrypto has a stack of 32 KiB, whose end nothing guards. What may
//! need more of it runs on a stack of the thread's own, as long as the call takes.

use core::cell::RefCell;
use core::ffi::{c_int, c_uint, c_ulong, c_void};
use core::mem::MaybeUninit;
use core::panic::AssertUnwindSafe;
use core::ptr;
use std::panic::{catch_unwind, resume_unwind};

/// Enough to make an engine, to test its units and to lead a batch, eight times over.
const STACK_BYTES: usize = 256 << 10;

/// `ucontext_t` of ucontext.h: what is ours to write, and what may follow on any processor.
#[repr(C, align(64))]
struct Context {
    flags: c_ulong,
    link: *mut Self,
    stack: *mut c_void,
    stack_flags: c_int,
    stack_size: usize,
    registers: [u8; 8 << 10],
}

/// A stack, where it was entered from, and how it is entered.
#[repr(C, align(64))]
struct Room {
    outside: Context,
    inside: Context,
    stack: [u8; STACK_BYTES],
}

/// What runs there.
type Task<'a> = &'a mut dyn FnMut();

unsafe extern "C" {
    fn getcontext(context: *mut Context) -> c_int;
    fn makecontext(context: *mut Context, run: unsafe extern "C" fn(), count: c_int, ...);
    fn swapcontext(old: *mut Context, new: *const Context) -> c_int;
}

/// Runs `run` with room, and returns what it returns. It may be called anywhere, but pays in jobs,
/// which must not be paused meanwhile.
pub(crate) fn with_room<T>(run: impl FnOnce() -> T) -> T {
    thread_local! {
        static ROOM: RefCell<Option<Box<MaybeUninit<Room>>>> = const { RefCell::new(None) };
    }
    // Taken out and put back: at a thread's end there is none, and a call within needs another.
    let taken = ROOM.try_with(|cell| cell.take()).ok().flatten();
    let mut room = taken.unwrap_or_else(Box::new_uninit);
    let (mut run, mut result) = (Some(run), None);
    let mut task = || {
        if let Some(run) = run.take() {
            // A panic ends where the stack does.
            result = Some(catch_unwind(AssertUnwindSafe(run)));
        }
    };
    if !enter(&mut room, &mut task) {
        task();
    }
    // At a thread's end it is dropped here.
    let _ = ROOM.try_with(|cell| cell.replace(Some(room)));
    match result.expect("the task has run") {
        Ok(value) => value,
        Err(payload) => resume_unwind(payload),
    }
}

/// Runs a task, which does not panic, in the room; false if there is no way in.
fn enter(room: &mut MaybeUninit<Room>, mut task: Task<'_>) -> bool {
    let room = room.as_mut_ptr();
    // SAFETY: a place in a room that is there.
    let outside = unsafe { &raw mut (*room).outside };
    // SAFETY: as above.
    let inside = unsafe { &raw mut (*room).inside };
    // SAFETY: as above.
    let stack = unsafe { &raw mut (*room).stack };
    // SAFETY: a place for a context, larger than it.
    if unsafe { getcontext(inside) } != 0 {
        return false;
    }
    // No reference: not all of a context is written by now.
    // SAFETY: a place in a context that nobody else knows.
    unsafe { (*inside).link = outside };
    // SAFETY: as above.
    unsafe { (*inside).stack = stack.cast() };
    // SAFETY: as above.
    unsafe { (*inside).stack_size = STACK_BYTES };
    let address = ptr::from_mut(&mut task).expose_provenance() as u64;
    #[allow(clippy::cast_possible_truncation, reason = "halves, because arguments are ints")]
    let (high, low) = ((address >> 32) as c_uint, address as c_uint);
    // SAFETY: the type that makecontext wants; it calls it with as many ints as it is told.
    let begin = unsafe {
        core::mem::transmute::<unsafe extern "C" fn(c_uint, c_uint), unsafe extern "C" fn()>(begin)
    };
    // SAFETY: a context with a stack and a way on, and a function of two ints.
    unsafe { makecontext(inside, begin, 2, high, low) };
    // SAFETY: a context that was just made; its stack is left for good when the task is done.
    unsafe { swapcontext(outside, inside) == 0 }
}

unsafe extern "C" fn begin(high: c_uint, low: c_uint) {
    let address = (u64::from(high) << 32) | u64::from(low);
    #[allow(clippy::cast_possible_truncation, reason = "it was a pointer")]
    let task = ptr::with_exposed_provenance_mut::<Task<'_>>(address as usize);
    // SAFETY: the task of `enter`, which waits for the end of this.
    unsafe { (*task)() };
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use core::hint::black_box;
    use std::sync::Arc;

    use tollgate_queue::Work;
    use tollgate_rsa::{Hash, PrivateKey, Workspace};

    use super::*;
    use crate::counters::Counters;
    use crate::home::Plan;

    #[test]
    fn there_is_room_and_a_way_back() {
        let here = 0_u8;
        let mut there = 0;
        let sum = with_room(|| {
            let much = black_box([1_u8; STACK_BYTES / 2]);
            there = ptr::from_ref(&much).addr();
            with_room(|| much.iter().map(|byte| usize::from(*byte)).sum::<usize>())
        });
        assert_eq!(sum, STACK_BYTES / 2);
        assert!(there.abs_diff(ptr::from_ref(&here).addr()) > STACK_BYTES / 2, "on another stack");
    }

    #[test]
    fn a_panic_comes_out_of_it() {
        let caught = catch_unwind(|| with_room(|| resume_unwind(Box::new(7))));
        let payload = caught.map(|never: ()| never).expect_err("it panicked");
        assert_eq!(payload.downcast_ref(), Some(&7));
        assert_eq!(with_room(|| 8), 8);
    }

    /// Of the stack, what may lie above the place where measuring begins, and what that takes.
    const TOP_BYTES: usize = 4 << 10;
    const OWN_BYTES: usize = 256;
    const PAINT: u8 = 0xa5;

    /// The bytes of the room that `run` takes at most.
    fn depth(run: impl FnOnce()) -> usize {
        with_room(|| {
            let here = 0_u8;
            // The compiler shall not conclude that nobody else writes below.
            let top = black_box(ptr::from_ref(&here).cast_mut());
            let span = OWN_BYTES..STACK_BYTES - TOP_BYTES;
            for depth in span.clone() {
                // SAFETY: the room's own stack, below everything that is on it.
                unsafe { top.wrapping_sub(depth).write_volatile(PAINT) };
            }
            run();
            let untouched = span.clone().rev().take_while(|&depth| {
                // SAFETY: as above.
                let byte = unsafe { top.wrapping_sub(depth).read_volatile() };
                byte == PAINT
            });
            span.end - untouched.count()
        })
    }

    /// The engine is made, its unit tested, and a full batch of the longest keys done.
    #[test]
    fn the_deepest_way_leaves_three_quarters_of_it() {
        let pem = include_str!("../../../vectors/keys/rsa-8192.pem");
        let key = Arc::new(PrivateKey::from_pem(pem).unwrap());
        let digest = Hash::Sha256.digest(b"a message");
        let work = Work::SignPkcs1v15 { hash: Hash::Sha256 };
        let workspace = Workspace::new().unwrap();
        let (limbs, lanes) = (workspace.limb_kernel(), workspace.lane_kernel());
        let counters = Arc::new(Counters::default());
        let deepest = depth(|| {
            let plan = Plan { limbs, lanes, linger_us_max: 0, counters };
            let open = plan.open(1).unwrap();
            let submit = || open.caller.submit(|job| job.load(&key, work, digest.as_ref()));
            let tickets: Vec<_> = (0..8).map(|_| submit().unwrap()).collect();
            for ticket in tickets {
                assert!(ticket.wait().is_ok());
            }
        });
        assert!((OWN_BYTES..STACK_BYTES / 4).contains(&deepest), "{deepest}");
    }
}
