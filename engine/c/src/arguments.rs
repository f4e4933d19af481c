//! Arguments from C: pointers and lengths become slices and places for results.

use core::slice;

use crate::code::Failure;

/// Borrows `len` bytes. NULL is allowed for an empty string.
///
/// # Safety
///
/// `bytes` is NULL or has `len` readable bytes that nobody writes during `'a`.
pub(crate) unsafe fn bytes<'a>(
    name: &str,
    bytes: *const u8,
    len: usize,
) -> Result<&'a [u8], Failure> {
    check_len(name, len)?;
    if len == 0 {
        return Ok(&[]);
    }
    check_pointer(name, bytes)?;
    // SAFETY: the caller's promise; the length fits an object.
    Ok(unsafe { slice::from_raw_parts(bytes, len) })
}

/// Borrows an array of `count` structures. NULL is allowed for an empty array.
///
/// # Safety
///
/// `array` is NULL or has `count` structures that nobody else uses during `'a`.
pub(crate) unsafe fn array<'a, T>(
    name: &str,
    array: *mut T,
    count: usize,
) -> Result<&'a mut [T], Failure> {
    check_len(name, count.saturating_mul(size_of::<T>()))?;
    if count == 0 {
        return Ok(&mut []);
    }
    check_pointer(name, array)?;
    // SAFETY: the caller's promise; the pointer is aligned and the length fits an object.
    Ok(unsafe { slice::from_raw_parts_mut(array, count) })
}

/// Borrows a structure.
///
/// # Safety
///
/// `object` is NULL or valid, and nobody writes it during `'a`.
pub(crate) unsafe fn object<'a, T>(name: &str, object: *const T) -> Result<&'a T, Failure> {
    check_pointer(name, object)?;
    // SAFETY: the caller's promise; the pointer is neither NULL nor misaligned.
    Ok(unsafe { &*object })
}

/// A place to which a result is written.
#[derive(Clone, Copy)]
pub(crate) struct Place<T>(*mut T);

impl<T> Place<T> {
    /// # Safety
    ///
    /// `place` is NULL or writable until the last call of [`set`](Self::set).
    pub(crate) unsafe fn new(name: &str, place: *mut T) -> Result<Self, Failure> {
        check_pointer(name, place).map(|()| Self(place))
    }

    pub(crate) fn set(self, value: T) {
        // SAFETY: writable, as the caller of `new` promised.
        unsafe { self.0.write(value) };
    }
}

/// A buffer for a result, which may overlap the input.
#[derive(Clone, Copy)]
pub(crate) struct Buffer {
    bytes: *mut u8,
    capacity: usize,
}

impl Buffer {
    /// # Safety
    ///
    /// `bytes` is NULL or has `capacity` writable bytes, until the last call of
    /// [`write`](Self::write).
    pub(crate) unsafe fn new(name: &str, bytes: *mut u8, capacity: usize) -> Result<Self, Failure> {
        check_pointer(name, bytes)?;
        check_len(name, capacity)?;
        Ok(Self { bytes, capacity })
    }

    /// Checks that the buffer has room for `needed` bytes.
    pub(crate) fn check(self, name: &str, needed: usize) -> Result<(), Failure> {
        if self.capacity >= needed {
            return Ok(());
        }
        let capacity = self.capacity;
        Err(Failure::misuse(format!(
            "{name} has room for {capacity} bytes and needs {needed}: pass a larger buffer"
        )))
    }

    /// Copies a result to the start of the buffer. No borrow of the buffer is alive.
    ///
    /// # Panics
    ///
    /// If the result is longer than the buffer; [`check`](Self::check) comes first.
    pub(crate) fn write(self, result: &[u8]) {
        assert!(result.len() <= self.capacity, "the length was checked");
        // SAFETY: `capacity` bytes are writable, as the caller of `new` promised, and `result` is
        // memory of this library.
        unsafe { self.bytes.copy_from_nonoverlapping(result.as_ptr(), result.len()) };
    }
}

pub(crate) fn check_pointer<T>(name: &str, pointer: *const T) -> Result<(), Failure> {
    if pointer.is_null() {
        return Err(Failure::misuse(format!("{name} is NULL: pass a valid pointer")));
    }
    if !pointer.is_aligned() {
        return Err(Failure::misuse(format!("{name} is misaligned: pass a valid pointer")));
    }
    Ok(())
}

/// Checks that an object can have this size.
fn check_len(name: &str, len: usize) -> Result<(), Failure> {
    if isize::try_from(len).is_ok() {
        return Ok(());
    }
    Err(Failure::misuse(format!("{name} has an impossible length: was it negative?")))
}

/// Checks that a length is exactly the key's size.
pub(crate) fn check_size(name: &str, len: usize, size: usize) -> Result<(), Failure> {
    if len == size {
        return Ok(());
    }
    Err(Failure::misuse(format!("{name} is {len} and the key's size {size}: pass {size}")))
}
