//! A larger stack for code that runs in a job of libcrypto, or where a program has small stacks. A
//! job has a stack of 32 KiB without a guard page; calls that may need more run on an alternative
//! stack that belongs to the thread.

use core::alloc::Layout;
use core::cell::RefCell;
use core::hint::black_box;
use core::mem::MaybeUninit;
use core::ops::Range;
use core::panic::AssertUnwindSafe;
use core::ptr::{self, NonNull};
use std::alloc::handle_alloc_error;
use std::panic::{catch_unwind, resume_unwind};

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

/// The size is eight times what is needed to start an engine, to test its units and to run a batch.
const STACK_BYTES: usize = 256 << 10;

/// The part that is wiped after each call. Private operations wipe what lies deeper themselves.
const WIPED_BYTES: usize = 16 << 10;

/// The memory on each side that cannot be accessed: the largest page of any supported system.
const GUARD_BYTES: usize = 64 << 10;

const MAPPED_BYTES: usize = GUARD_BYTES + STACK_BYTES + GUARD_BYTES;

/// A stack between two guards: an overflow ends the process, and does not overwrite other memory.
struct AltStack {
    /// The first byte of the lower guard.
    mapping: NonNull<u8>,
}

impl AltStack {
    fn new() -> Option<Self> {
        let (address, flags) = (ptr::null_mut(), MapFlags::PRIVATE);
        // SAFETY: new memory, at an address that the kernel chooses.
        let mapping =
            unsafe { mmap_anonymous(address, MAPPED_BYTES, ProtFlags::empty(), flags) }.ok()?;
        let stack = Self { mapping: NonNull::new(mapping.cast())? };
        let access = MprotectFlags::READ | MprotectFlags::WRITE;
        // SAFETY: the pages between the guards, which nothing refers to.
        unsafe { mprotect(stack.lowest().cast(), STACK_BYTES, access) }.ok()?;
        Some(stack)
    }

    /// Returns the lowest byte of the stack.
    fn lowest(&self) -> *mut u8 {
        self.mapping.as_ptr().wrapping_add(GUARD_BYTES)
    }

    /// Calls `run`, which must not unwind, on this stack, and wipes what it may have left there.
    fn run<T>(&mut self, run: impl FnOnce() -> T) -> T {
        // SAFETY: a stack of this size that nothing else uses; stacks grow down to their lowest
        // byte.
        let result = unsafe { psm::on_stack(self.lowest(), STACK_BYTES, run) };
        let used = self.lowest().wrapping_add(STACK_BYTES - WIPED_BYTES);
        // The compiler keeps these writes: the memory outlives this call.
        // SAFETY: the upper part of the stack, which nothing refers to any more.
        unsafe { used.write_bytes(0, WIPED_BYTES) };
        result
    }
}

impl Drop for AltStack {
    fn drop(&mut self) {
        // Unmapping fails for addresses that are not mapped, and these are.
        // SAFETY: the whole mapping, which nothing refers to any more.
        let _ = unsafe { munmap(self.mapping.as_ptr().cast(), MAPPED_BYTES) };
    }
}

/// Calls `run` on the alternative stack and returns its result. This function may be called on any
/// stack, but only jobs need it. `run` must not pause the job.
///
/// If the system has no memory for a stack, ends the process, as for any other memory: the stack of
/// a job is too small, and what it would overwrite is libcrypto's.
pub(crate) fn on_alt_stack<T>(run: impl FnOnce() -> T) -> T {
    thread_local! {
        static STACK: RefCell<Option<AltStack>> = const { RefCell::new(None) };
    }
    // The stack is taken out and put back, because a nested call needs another one. If the thread
    // is ending, `try_with` fails, because there is no thread-local value any more.
    let taken = STACK.try_with(|cell| cell.take()).ok().flatten();
    let mut stack = taken.or_else(AltStack::new).unwrap_or_else(|| {
        handle_alloc_error(Layout::new::<[u8; MAPPED_BYTES]>());
    });
    // A panic must not unwind past the start of the stack.
    let result = stack.run(|| catch_unwind(AssertUnwindSafe(run)));
    // If the thread is ending, `try_with` fails and drops the stack.
    let _ = STACK.try_with(|cell| cell.replace(Some(stack)));
    result.unwrap_or_else(|payload| resume_unwind(payload))
}

/// The room that [`with_room`] asks for: twice what the deepest call needs.
const ROOM_BYTES: usize = 128 << 10;

/// Calls `run` where it has [`ROOM_BYTES`]: on this stack if that is the thread's own and has so
/// much left, otherwise on the alternative stack. Jobs and coroutines have other stacks.
pub(crate) fn with_room<T>(run: impl FnOnce() -> T) -> T {
    thread_local! {
        static OWN: Range<usize> = stack_of_thread().unwrap_or_default();
    }
    let here = here();
    let has_room = OWN.try_with(|own| own.contains(&here) && here - own.start >= ROOM_BYTES);
    if has_room == Ok(true) { run() } else { on_alt_stack(run) }
}

/// Returns an address in the caller's frame, or just below it.
#[inline(always)]
fn here() -> usize {
    let byte = 0_u8;
    ptr::from_ref(black_box(&byte)).addr()
}

/// Returns the addresses of this thread's stack. `None` if the system does not say, as for a main
/// thread without `/proc`.
fn stack_of_thread() -> Option<Range<usize>> {
    let mut attributes = MaybeUninit::uninit();
    // SAFETY: no conditions.
    let this = unsafe { libc::pthread_self() };
    // SAFETY: this thread, and a place for its attributes.
    if unsafe { libc::pthread_getattr_np(this, attributes.as_mut_ptr()) } != 0 {
        return None;
    }
    let (mut lowest, mut bytes) = (ptr::null_mut(), 0);
    // SAFETY: the attributes that the call above filled, and places for the results.
    let got = unsafe {
        libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut lowest, &raw mut bytes)
    };
    // SAFETY: as above; freed once.
    unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
    (got == 0).then(|| lowest.addr()..lowest.addr() + bytes)
}

#[cfg(test)]
#[path = "../tests/host/stack.rs"]
pub(crate) mod stack;

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::{fs, thread};

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
    fn calls_stay_on_a_stack_with_room() {
        let is_here = || {
            let outside = here();
            with_room(|| here().abs_diff(outside) < 4096)
        };
        let in_thread = |bytes| {
            let thread = thread::Builder::new().stack_size(bytes).spawn(is_here);
            thread.unwrap().join().unwrap()
        };
        assert!(in_thread(4 * ROOM_BYTES), "large");
        assert!(!in_thread(ROOM_BYTES / 2), "small");
        assert!(!on_alt_stack(is_here), "a stack that is not the thread's own");
        assert!(stack_of_thread().unwrap().contains(&here()));
    }

    #[test]
    fn guards_are_on_both_sides() {
        let stack = AltStack::new().unwrap();
        let address = stack.mapping.as_ptr().addr();
        let edges =
            [0, GUARD_BYTES, GUARD_BYTES + STACK_BYTES, MAPPED_BYTES].map(|at| address + at);
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let has = |from: usize, to: usize, access: &str| {
            maps.lines().any(|line| line.starts_with(&format!("{from:x}-{to:x} {access}")))
        };
        // Neighbours of equal access may be one mapping.
        assert!(has(edges[1], edges[2], "rw-p"), "{maps}");
        let is_guard = |address: usize| {
            maps.lines().filter(|line| line.contains(" ---p ")).any(|line| {
                let (from, rest) = line.split_once('-').unwrap();
                let to = rest.split_once(' ').unwrap().0;
                let [from, to] = [from, to].map(|hex| usize::from_str_radix(hex, 16).unwrap());
                (from..to).contains(&address)
            })
        };
        assert!(
            [edges[0], edges[1] - 1, edges[2], edges[3] - 1].into_iter().all(is_guard),
            "{maps}"
        );
    }

    #[test]
    fn the_stack_is_wiped() {
        let mut stack = AltStack::new().unwrap();
        let mut left = 0;
        stack.run(|| {
            let secrets = black_box([0xa5_u8; WIPED_BYTES / 2]);
            left = ptr::from_ref(&secrets).addr();
        });
        assert!(left != 0);
        let lowest = stack.lowest();
        let read = |at| {
            // SAFETY: the memory of the stack, on which nothing runs.
            unsafe { lowest.wrapping_add(at).read() }
        };
        assert!((0..STACK_BYTES).all(|at| read(at) == 0));
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
