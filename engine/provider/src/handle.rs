//! Values that cross the C boundary as pointers: objects of this provider, byte strings, and output
//! buffers.
//!
//! libcrypto passes an object's pointer back unchanged and frees it once. It uses a context from
//! one thread at a time, but may use a key from several threads at once.

use core::ffi::{CStr, c_char, c_void};
use core::{ptr, slice};

use tollgate_cpu::memcheck;
use zeroize::Zeroizing;

use crate::boundary::catch;
use crate::reason::Reason;

/// Moves an object to the heap and returns its pointer, for [`free`].
pub(crate) fn give<T>(object: T) -> *mut c_void {
    Box::into_raw(Box::new(object)).cast()
}

/// Runs the body of an entry point that creates an object, and gives the object to libcrypto.
/// Returns NULL if the body returns `None` or panics.
pub(crate) fn create<T>(body: impl FnOnce() -> Option<T>) -> *mut c_void {
    catch(ptr::null_mut(), || body().map_or(ptr::null_mut(), give))
}

/// Drops an object for libcrypto; NULL is ignored.
///
/// # Safety
///
/// `object` is NULL or came from [`give`] of the same `T`, and is not used again.
pub(crate) unsafe extern "C" fn free<T>(object: *mut c_void) {
    if !object.is_null() {
        // SAFETY: from a box of this type, and freed once.
        catch((), || drop(unsafe { Box::from_raw(object.cast::<T>()) }));
    }
}

/// Borrows an object.
///
/// # Safety
///
/// `object` is NULL or came from [`give`] of the same `T`, lives for `'a`, and is not
/// mutated during `'a`.
pub(crate) unsafe fn shared<'a, T>(object: *const c_void) -> Option<&'a T> {
    // SAFETY: the caller's promise.
    unsafe { object.cast::<T>().as_ref() }
}

/// Borrows an object mutably.
///
/// # Safety
///
/// `object` is NULL or came from [`give`] of the same `T`, lives for `'a`, and is not used
/// elsewhere during `'a`.
pub(crate) unsafe fn exclusive<'a, T>(object: *mut c_void) -> Option<&'a mut T> {
    // SAFETY: the caller's promise.
    unsafe { object.cast::<T>().as_mut() }
}

/// Borrows a byte string. NULL stands for an empty string.
///
/// # Safety
///
/// `bytes` is NULL or has `len` readable bytes that live for `'a`.
pub(crate) unsafe fn bytes<'a>(bytes: *const u8, len: usize) -> &'a [u8] {
    if bytes.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(bytes, len) }
}

/// Borrows a text. Returns `None` for NULL and for text that is not UTF-8.
///
/// # Safety
///
/// `text` is NULL or ends with a NUL, and lives for `'a`.
pub(crate) unsafe fn text<'a>(text: *const c_char) -> Option<&'a str> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().ok()
}

/// A caller's output buffer, or its query for the length of the output.
///
/// libcrypto allows the buffer to overlap the input, so nothing is written into it before
/// [`copy_out`](Self::copy_out).
pub(crate) struct Output {
    buffer: *mut u8,
    capacity: usize,
    length: *mut usize,
    result_len: Option<usize>,
    bytes: Zeroizing<Vec<u8>>,
}

impl Output {
    /// # Safety
    ///
    /// `length` is NULL or writable; `buffer` is NULL, to query the length, or has `capacity`
    /// writable bytes. Neither is used elsewhere during [`copy_out`](Self::copy_out).
    pub(crate) unsafe fn new(buffer: *mut u8, capacity: usize, length: *mut usize) -> Self {
        Self { buffer, capacity, length, result_len: None, bytes: Zeroizing::default() }
    }

    pub(crate) fn is_length_query(&self) -> bool {
        self.buffer.is_null()
    }

    /// If the caller only queries the length, sets the length to `len` and returns true. Otherwise
    /// checks that the buffer has room for `len` bytes. Call this before the operation, so that the
    /// check depends on no secret.
    pub(crate) fn is_query_for(&mut self, len: usize) -> Result<bool, Reason> {
        if self.is_length_query() {
            self.set_length(len);
            return Ok(true);
        }
        self.check(len).map(|()| false)
    }

    fn check(&self, len: usize) -> Result<(), Reason> {
        if self.capacity < len { Err(Reason::BufferSmall) } else { Ok(()) }
    }

    pub(crate) fn set_length(&mut self, len: usize) {
        self.result_len = Some(len);
    }

    /// Sets the output, or leaves it unchanged if the buffer is too small.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Reason> {
        self.check(bytes.len())?;
        self.bytes = Zeroizing::new(bytes.to_vec());
        // memcheck no longer treats the output as secret, because a server under memcheck may
        // branch on its own signatures.
        memcheck::declassify(&self.bytes);
        self.set_length(bytes.len());
        Ok(())
    }

    /// Copies the output and its length to the caller.
    pub(crate) fn copy_out(self) {
        if !self.buffer.is_null() {
            // SAFETY: `capacity` bytes are writable, as the caller of `new` promised; `bytes` is
            // no longer than that, and does not overlap.
            unsafe { self.buffer.copy_from_nonoverlapping(self.bytes.as_ptr(), self.bytes.len()) };
        }
        if let Some(len) = self.result_len
            && !self.length.is_null()
        {
            // SAFETY: writable, as the caller of `new` promised.
            unsafe { self.length.write(len) };
        }
    }
}

/// Checks with memcheck that output bytes are no longer marked as secret. The tests of
/// `tollgate-rsa` check the decoding of paddings.
#[cfg(test)]
mod constant_time {
    use tollgate_rerun as rerun;

    use super::*;

    #[test]
    fn output_bytes_are_declassified() {
        if !memcheck::running_on_valgrind() {
            return rerun::under_memcheck("handle::constant_time::output_bytes_are_declassified");
        }
        let (mut buffer, mut length) = ([0; 128], 0);
        let secret = vec![7; 128];
        memcheck::mark_secret(&secret);
        let before = memcheck::count_errors();
        // SAFETY: buffer and length outlive the output.
        let mut output = unsafe { Output::new(buffer.as_mut_ptr(), buffer.len(), &mut length) };
        output.write(&secret).expect("it fits");
        output.copy_out();
        if core::hint::black_box(buffer[100] == 7) {
            core::hint::black_box(&buffer);
        }
        assert_eq!(memcheck::count_errors(), before);
        assert_eq!(length, 128);
    }
}
