//! Fork detection without a system call, by a fork generation.
//!
//! On Linux the generation is stored in a page that the kernel zeroes in a child
//! (`MADV_WIPEONFORK`). A process that finds zero there stores the next number. A child continues
//! its parent's count, so no state inherited from an ancestor has the child's number. A process id
//! does not guarantee this: a child in a new PID namespace can have its parent's id.

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Address of the generation: [`UNDECIDED`] at first, then permanently a page or [`NO_PAGE`].
static ADDRESS: AtomicPtr<AtomicU64> = AtomicPtr::new((&raw const UNDECIDED).cast_mut());
/// Zero, like a wiped page.
static UNDECIDED: AtomicU64 = AtomicU64::new(0);
/// Always zero: the process id is used instead.
static NO_PAGE: AtomicU64 = AtomicU64::new(0);
/// Number of generations assigned in this process and its ancestors.
static ASSIGNED: AtomicU64 = AtomicU64::new(0);

/// Returns the fork generation of this process, from 1 to below 2^63. It is the same on each call,
/// and in a forked child it differs from all that its ancestors had before the forks.
///
/// Compare it with a generation stored in memory. Processes that only share an ancestor
/// may have the same generation, and so may copies of this crate in one process. Processes that
/// share their memory (`vfork`, `CLONE_VM`) share it.
///
/// Takes two loads. The first call maps the page, and the first call in a child increments the
/// count; neither allocates or locks, so a child may call at any time, regardless of its parent's
/// other threads. Without such a page (other systems, Linux before 4.14, a sandbox) this returns
/// the process id, by a system call each time. Then a child with its parent's id cannot be
/// detected.
#[must_use]
#[inline]
pub fn fork_generation() -> u64 {
    // SAFETY: one of the statics, or a page that is never unmapped.
    let place: &'static AtomicU64 = unsafe { &*ADDRESS.load(Ordering::Acquire) };
    // Acquire: a thread that reads a generation, and its children, also see the increment of the
    // count.
    match place.load(Ordering::Acquire) {
        0 => next(place),
        generation => generation,
    }
}

#[cold]
fn next(place: &'static AtomicU64) -> u64 {
    let place = if ptr::eq(place, &UNDECIDED) { decide() } else { place };
    if ptr::eq(place, &NO_PAGE) {
        return std::process::id().into();
    }
    let next = ASSIGNED.fetch_add(1, Ordering::Relaxed) + 1;
    // If several threads get here at once, one stores its number; the others' numbers stay unused.
    match place.compare_exchange(0, next, Ordering::Release, Ordering::Acquire) {
        Ok(_) => next,
        Err(generation) => generation,
    }
}

/// Decides once for this process and its children; the first thread wins.
fn decide() -> &'static AtomicU64 {
    let page = page::map();
    let place = ptr::from_ref(page.unwrap_or(&NO_PAGE)).cast_mut();
    let undecided = (&raw const UNDECIDED).cast_mut();
    let (order, or) = (Ordering::Release, Ordering::Acquire);
    let place = match ADDRESS.compare_exchange(undecided, place, order, or) {
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

    /// The kernel rounds it up to a page.
    const BYTES: usize = size_of::<AtomicU64>();

    /// Maps a page of zeros that the kernel zeroes in a child.
    pub(super) fn map() -> Option<&'static AtomicU64> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: new memory, at an address that the kernel chooses.
        let mapped = unsafe { mmap_anonymous(ptr::null_mut(), BYTES, access, MapFlags::PRIVATE) };
        let page = mapped.ok()?.cast::<AtomicU64>();
        // SAFETY: the page above: zeros, a value of the type, and mapped until `unmap`.
        let place = unsafe { &*page };
        let is_wiped = wipe_on_fork(page).is_ok();
        // Some emulators accept all advice and do nothing; Linux refuses an address that is not
        // page-aligned.
        let is_checked = wipe_on_fork(page.wrapping_byte_add(1)).is_err();
        if is_wiped && is_checked {
            return Some(place);
        }
        unmap(place);
        None
    }

    fn wipe_on_fork(page: *mut AtomicU64) -> Result<()> {
        // SAFETY: a child finds zero there, which is a value of the type.
        unsafe { madvise(page.cast(), BYTES, Advice::LinuxWipeOnFork) }
    }

    /// Unmaps a page of [`map`] that no other thread has seen and that is not used again.
    pub(super) fn unmap(place: &'static AtomicU64) {
        // SAFETY: mapped by `map`, and this is the last reference.
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
