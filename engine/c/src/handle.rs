//! Handles: objects of this library that C code holds as opaque pointers.
//!
//! An object lies behind a magic number, which `free` erases. The check of this number finds
//! handles of another type, and most handles that were freed before. It cannot find all of them:
//! the memory may belong to another object by then.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::arguments::{Place, check_pointer};
use crate::code::Failure;

/// An object that has handles. Threads may share it, so what one thread at a time may use is
/// locked.
pub(crate) trait Handle: Send + Sync + Sized {
    /// The name of the type, as in C.
    const NAME: &str;
    /// Bytes that no other type has.
    const MAGIC: &[u8; 8];
}

/// The memory to which a handle points.
#[repr(C)]
struct Memory<T> {
    magic: AtomicU64,
    object: T,
}

/// Moves an object to the heap and writes its handle to `place`, which is NULL until then.
pub(crate) fn create<T: Handle>(
    place: Place<*mut T>,
    make: impl FnOnce() -> Result<T, Failure>,
) -> Result<(), Failure> {
    place.set(core::ptr::null_mut());
    let memory = Memory { magic: AtomicU64::new(magic::<T>()), object: make()? };
    place.set(Box::into_raw(Box::new(memory)).cast());
    Ok(())
}

/// Borrows the object of a handle.
///
/// # Safety
///
/// `handle` is NULL, or came from [`create`], and is not freed during `'a`.
pub(crate) unsafe fn borrow<'a, T: Handle>(name: &str, handle: *const T) -> Result<&'a T, Failure> {
    // SAFETY: the caller's promise.
    unsafe { memory(name, handle) }.map(|memory| &memory.object)
}

/// Drops the object of a handle; NULL is ignored. If the check of the handle fails, its memory is
/// left alone.
///
/// # Safety
///
/// `handle` is NULL, or came from [`create`], and is not used again.
pub(crate) unsafe fn free<T: Handle>(name: &str, handle: *mut T) -> Result<(), Failure> {
    if handle.is_null() {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    unsafe { memory(name, handle) }?.magic.store(0, Relaxed);
    // SAFETY: `create` made it from a box of this type, and it is freed once.
    drop(unsafe { Box::from_raw(handle.cast::<Memory<T>>()) });
    Ok(())
}

/// # Safety
///
/// As [`borrow`].
unsafe fn memory<'a, T: Handle>(name: &str, handle: *const T) -> Result<&'a Memory<T>, Failure> {
    let memory = handle.cast::<Memory<T>>();
    check_pointer(name, memory)?;
    // SAFETY: every object of this library begins with its magic number.
    let found = unsafe { &*memory.cast::<AtomicU64>() };
    if found.load(Relaxed) != magic::<T>() {
        let ours = T::NAME;
        return Err(Failure::misuse(format!(
            "{name} is no {ours}: it has another type, or was freed before"
        )));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { &*memory })
}

fn magic<T: Handle>() -> u64 {
    u64::from_ne_bytes(*T::MAGIC)
}
