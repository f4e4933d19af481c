//! What passes the boundary as a bare pointer: our own objects, byte strings, output buffers.
//!
//! libcrypto hands an object's pointer back to us unchanged and frees it once; it uses a context
//! from one thread at a time, and a key from several.

use core::ffi::{CStr, c_char, c_void};
use core::slice;

use tollgate_cpu::memcheck;
use zeroize::Zeroizing;

use crate::reason::Reason;

/// Gives an object away, to be taken back by [`free`].
pub(crate) fn give<T>(object: T) -> *mut c_void {
    Box::into_raw(Box::new(object)).cast()
}

/// Takes an object back and drops it; NULL is left alone.
///
/// # Safety
///
/// `object` is NULL or came from [`give`] of the same `T`, and is not used again.
pub(crate) unsafe fn free<T>(object: *mut c_void) {
    if !object.is_null() {
        // SAFETY: it came out of a box of this type, and nobody else takes it back.
        drop(unsafe { Box::from_raw(object.cast::<T>()) });
    }
}

/// An object to read.
///
/// # Safety
///
/// `object` is NULL or came from [`give`] of the same `T`, lives for `'a`, and is not written
/// meanwhile.
pub(crate) unsafe fn shared<'a, T>(object: *const c_void) -> Option<&'a T> {
    // SAFETY: the caller's promise.
    unsafe { object.cast::<T>().as_ref() }
}

/// An object to write.
///
/// # Safety
///
/// `object` is NULL or came from [`give`] of the same `T`, lives for `'a`, and is used by nobody
/// else meanwhile.
pub(crate) unsafe fn exclusive<'a, T>(object: *mut c_void) -> Option<&'a mut T> {
    // SAFETY: the caller's promise.
    unsafe { object.cast::<T>().as_mut() }
}

/// A byte string; NULL is the empty one.
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

/// A text; `None` for NULL, and for what is not UTF-8.
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

/// A caller's output buffer, or its question how long the output would be.
///
/// It may overlap the input, as libcrypto allows: nothing is written into it until
/// [`hand_over`](Self::hand_over).
pub(crate) struct Output {
    buffer: *mut u8,
    capacity: usize,
    length: *mut usize,
    answer: Option<usize>,
    bytes: Zeroizing<Vec<u8>>,
}

impl Output {
    /// # Safety
    ///
    /// `length` is NULL or writable; `buffer` is NULL, a question for the length, or has `capacity`
    /// writable bytes. Nobody reads or writes them during [`hand_over`](Self::hand_over).
    pub(crate) unsafe fn new(buffer: *mut u8, capacity: usize, length: *mut usize) -> Self {
        Self { buffer, capacity, length, answer: None, bytes: Zeroizing::default() }
    }

    /// Whether only the length is wanted.
    pub(crate) fn is_question(&self) -> bool {
        self.buffer.is_null()
    }

    /// That `len` bytes fit. Asked before the operation, so that it depends on nothing secret.
    ///
    /// # Errors
    ///
    /// [`Reason::BufferSmall`].
    pub(crate) fn check(&self, len: usize) -> Result<(), Reason> {
        if self.capacity < len { Err(Reason::BufferSmall) } else { Ok(()) }
    }

    /// Answers the question for the length.
    pub(crate) fn set_length(&mut self, len: usize) {
        self.answer = Some(len);
    }

    /// # Errors
    ///
    /// [`Reason::BufferSmall`]; then nothing is written.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Reason> {
        self.check(bytes.len())?;
        self.bytes = Zeroizing::new(bytes.to_vec());
        // Whoever runs a server under memcheck hears of no branch of its own on a signature.
        memcheck::declassify(&self.bytes);
        self.set_length(bytes.len());
        Ok(())
    }

    /// Hands bytes and length over to the caller.
    pub(crate) fn hand_over(self) {
        if !self.buffer.is_null() {
            // SAFETY: `capacity` bytes are writable, as `new` was promised, `bytes` has been found
            // to be no longer, and is ours.
            unsafe { self.buffer.copy_from_nonoverlapping(self.bytes.as_ptr(), self.bytes.len()) };
        }
        if let Some(len) = self.answer
            && !self.length.is_null()
        {
            // SAFETY: writable, as `new` was promised.
            unsafe { self.length.write(len) };
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::Output;

    /// An output into these.
    pub(crate) fn output(buffer: &mut [u8], length: &mut usize) -> Output {
        // SAFETY: the tests keep both until the output is handed over.
        unsafe { Output::new(buffer.as_mut_ptr(), buffer.len(), length) }
    }
}
