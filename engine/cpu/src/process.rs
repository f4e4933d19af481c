//! Whether this process was forked since: its fork generation, known without a system call.
//!
//! On Linux it lies in a page that the system wipes in a child (`MADV_WIPEONFORK`). Who finds zero
//! there puts the next number in: a child's count goes on where its parent's stood, so nothing that
//! it has from an ancestor bears its number. The process id has a hole there: a child in a PID
//! namespace of its own can have its parent's.

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Where the generation lies: at first [`UNDECIDED`], then in a page or [`NOWHERE`], for good.
static PLACE: AtomicPtr<AtomicU64> = AtomicPtr::new((&raw const UNDECIDED).cast_mut());
/// Zero, as a page that was wiped.
static UNDECIDED: AtomicU64 = AtomicU64::new(0);
/// Zero, always: the process id serves.
static NOWHERE: AtomicU64 = AtomicU64::new(0);
/// Generations given out, in this process and before the forks that led to it.
static GIVEN: AtomicU64 = AtomicU64::new(0);

/// The fork generation of this process, from 1 to below 2^63: the same on each call, and in a
/// forked child another than any that its ancestors got before the forks.
///
/// It serves to be compared with one that was kept in memory. Processes that only share an ancestor
/// may have the same, and so may copies of this crate in one process. Processes that share their
/// memory (`vfork`, `CLONE_VM`) share it.
///
/// Takes two loads. The first call asks the system for the page, and the first in a child counts;
/// neither allocates or locks, so a child may call at any moment, whatever its parent's other
/// threads did. Where there is no such page (other systems, Linux before 4.14, a sandbox) this is
/// the process id, from a system call each time: then a child that has its parent's id is not told
/// from it.
#[must_use]
#[inline]
pub fn fork_generation() -> u64 {
    // SAFETY: one of the statics, or a page that is never given back.
    let place: &'static AtomicU64 = unsafe { &*PLACE.load(Ordering::Acquire) };
    // Acquire: who knows a generation knows that it is counted, and so do the children.
    match place.load(Ordering::Acquire) {
        0 => next(place),
        generation => generation,
    }
}

#[cold]
fn next(place: &'static AtomicU64) -> u64 {
    let place = if ptr::eq(place, &UNDECIDED) { decide() } else { place };
    if ptr::eq(place, &NOWHERE) {
        return std::process::id().into();
    }
    let next = GIVEN.fetch_add(1, Ordering::Relaxed) + 1;
    // Of threads that come at once one is first, and the numbers of the others are nobody's.
    match place.compare_exchange(0, next, Ordering::Release, Ordering::Acquire) {
        Ok(_) => next,
        Err(generation) => generation,
    }
}

/// Decides once for this process and its children, whichever thread is first.
fn decide() -> &'static AtomicU64 {
    let page = page::map();
    let place = ptr::from_ref(page.unwrap_or(&NOWHERE)).cast_mut();
    let undecided = (&raw const UNDECIDED).cast_mut();
    let (order, or) = (Ordering::Release, Ordering::Acquire);
    let place = match PLACE.compare_exchange(undecided, place, order, or) {
        Ok(_) => place,
        Err(other) => {
            page.into_iter().for_each(page::unmap);
            other
        }
    };
    // SAFETY: as in `fork_generation`.
    unsafe { &*place }
}

#[cfg(target_os = "linux")]
mod page {
    use core::ptr;
    use core::sync::atomic::AtomicU64;

    use rustix::io::Result;
    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

    /// The system rounds it up to a page.
    const BYTES: usize = size_of::<AtomicU64>();

    /// A page of zeros that is wiped in a child.
    pub(super) fn map() -> Option<&'static AtomicU64> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: new memory, where the system has room for it.
        let mapped = unsafe { mmap_anonymous(ptr::null_mut(), BYTES, access, MapFlags::PRIVATE) };
        let page = mapped.ok()?.cast::<AtomicU64>();
        // SAFETY: the page above: zeros, a value of the type, and there until `unmap`.
        let place = unsafe { &*page };
        let is_wiped = wipe_on_fork(page).is_ok();
        // Some emulators say yes to all advice and do nothing; Linux refuses an address that is
        // not a page's.
        let is_believed = wipe_on_fork(page.wrapping_byte_add(1)).is_err();
        if is_wiped && is_believed {
            return Some(place);
        }
        unmap(place);
        None
    }

    fn wipe_on_fork(page: *mut AtomicU64) -> Result<()> {
        // SAFETY: changes what a child finds there: zero, which is a value of the type.
        unsafe { madvise(page.cast(), BYTES, Advice::LinuxWipeOnFork) }
    }

    /// Gives back a page of [`map`] that nobody else has seen, and that is not used again.
    pub(super) fn unmap(place: &'static AtomicU64) {
        // SAFETY: out of `map`, and this is the last that is known of it.
        let unmapped = unsafe { munmap(ptr::from_ref(place).cast_mut().cast(), BYTES) };
        debug_assert!(unmapped.is_ok(), "a page that is mapped");
    }
}

#[cfg(not(target_os = "linux"))]
mod page {
    use core::sync::atomic::AtomicU64;

    pub(super) fn map() -> Option<&'static AtomicU64> {
        None
    }

    pub(super) fn unmap(_: &'static AtomicU64) {}
}
