//! Fork detection without a system call, by a fork generation.
//!
//! On Linux the generation is stored in a page that the kernel fills with zeros in a child process
//! (`MADV_WIPEONFORK`). A process that finds zero in the page stores the next number there. A child
//! continues its parent's count, so the child's number differs from every number in the memory that
//! the child inherits. A process id does not guarantee this difference: a child in a new PID
//! namespace can have the same id as its parent.

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Address of the generation. At first it is [`UNDECIDED`]; later it is a page or [`NO_PAGE`], and
/// then never changes.
static ADDRESS: AtomicPtr<AtomicU64> = AtomicPtr::new((&raw const UNDECIDED).cast_mut());
/// Zero, as in a page that the kernel has just filled with zeros.
static UNDECIDED: AtomicU64 = AtomicU64::new(0);
/// Always zero. While [`ADDRESS`] points here, the generation is the process id.
static NO_PAGE: AtomicU64 = AtomicU64::new(0);
/// Number of generations assigned in this process and its ancestors.
static ASSIGNED: AtomicU64 = AtomicU64::new(0);

/// Returns the fork generation of this process, from 1 to below 2^63. Each call in a process
/// returns the same number. In a forked child the number differs from every number that an ancestor
/// had before the fork.
///
/// Compare the number with a generation that was stored in memory. Two processes of which neither
/// is an ancestor of the other may have the same generation. Two copies of this crate in one
/// process may also have the same generation. Processes that share their memory (`vfork`,
/// `CLONE_VM`) share the generation.
///
/// A call takes two loads. The first call maps the page, and the first call in a child increments
/// the count. Neither of these calls allocates or locks, so a child may call this function at any
/// time, whatever the other threads of its parent are doing. Where such a page is not available
/// (other systems, Linux before 4.14, a sandbox), this function returns the process id, by a system
/// call each time. It then cannot detect a child that has the same id as its parent.
#[must_use]
#[inline]
pub fn fork_generation() -> u64 {
    // SAFETY: the address points to a static, or to a page that is never unmapped.
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
    // If several threads get here at once, one thread stores its number. The other numbers stay
    // unused.
    match place.compare_exchange(0, next, Ordering::Release, Ordering::Acquire) {
        Ok(_) => next,
        Err(generation) => generation,
    }
}

/// Chooses the place of the generation, once for this process and its children. If several threads
/// choose at once, the choice of the first thread counts.
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

    /// The size of the mapping. The kernel rounds it up to a page.
    const BYTES: usize = size_of::<AtomicU64>();

    /// Maps a page of zeros that the kernel fills with zeros again in a child process.
    pub(super) fn map() -> Option<&'static AtomicU64> {
        // Some emulators accept this advice and ignore it, such as `qemu-user` 7. To detect such an
        // emulator, advise a shared page: Linux refuses to wipe it.
        let shared = new_page(MapFlags::SHARED)?;
        let is_checked = wipe_on_fork(shared).is_err();
        unmap(shared);
        let place = new_page(MapFlags::PRIVATE)?;
        if is_checked && wipe_on_fork(place).is_ok() {
            return Some(place);
        }
        unmap(place);
        None
    }

    fn new_page(kind: MapFlags) -> Option<&'static AtomicU64> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: this maps new memory, at an address that the kernel chooses.
        let mapped = unsafe { mmap_anonymous(ptr::null_mut(), BYTES, access, kind) };
        // SAFETY: the new page is zero, a valid value of the type, and stays mapped until `unmap`.
        Some(unsafe { &*mapped.ok()?.cast() })
    }

    fn wipe_on_fork(page: &AtomicU64) -> Result<()> {
        // SAFETY: a child finds zero in the page, which is a valid value of the type.
        unsafe { madvise(page.as_ptr().cast(), BYTES, Advice::LinuxWipeOnFork) }
    }

    /// Unmaps a page from [`map`] that no other thread has seen and that is not used again.
    pub(super) fn unmap(place: &'static AtomicU64) {
        // SAFETY: `map` mapped the page, and this is the last reference to it.
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
