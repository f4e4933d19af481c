//! A private operation as C code describes it, and the place for its result.

use core::ffi::{c_int, c_void};
use std::sync::Arc;

use tollgate_queue::{PrivateError, PrivateJob, Work};
use tollgate_rsa::{Error, PrivateKey};

use crate::arguments::{Buffer, bytes, check_pointer};
use crate::code::{Failure, tollgate_code};
use crate::handle;
use crate::private_key::tollgate_private_key;
use crate::scheme::{Scheme, tollgate_scheme};

/// A signature or a decryption, for batches and queues: the scheme says which.
///
/// key, scheme and input are read when the operation is submitted. The structure and its output
/// must stay valid until the operation is done; nobody else may use them until then.
#[repr(C)]
#[derive(Debug)]
pub struct tollgate_operation {
    /// The key.
    pub key: *const tollgate_private_key,
    /// The scheme.
    pub scheme: *const tollgate_scheme,
    /// A digest to sign, or a ciphertext to decrypt.
    pub input: *const u8,
    /// Bytes of input.
    pub input_len: usize,
    /// Receives the signature or the message.
    pub output: *mut u8,
    /// Bytes of output: at least the key's size.
    pub output_capacity: usize,
    /// Set at the end: bytes of the result, 0 after an error.
    pub output_len: usize,
    /// Set at the end: one of tollgate_code.
    pub code: c_int,
    /// Free for the caller.
    pub context: *mut c_void,
}

/// A checked operation.
pub(crate) struct Asked<'a> {
    pub(crate) key: &'a Arc<PrivateKey>,
    pub(crate) work: Work,
    pub(crate) input: &'a [u8],
    pub(crate) target: Target,
}

impl Asked<'_> {
    /// Reads an operation.
    ///
    /// # Safety
    ///
    /// `operation` is NULL or valid, with all that it points to, for the lifetime of the result; it
    /// and its output until the last call of [`Target::finish`].
    pub(crate) unsafe fn read(operation: *mut tollgate_operation) -> Result<Self, Failure> {
        check_pointer("operation", operation)?;
        // SAFETY: valid, as the caller promised, and no reference to it is alive.
        let asked = unsafe { operation.read() };
        // SAFETY: the caller's promise.
        let key = &unsafe { handle::borrow("operation.key", asked.key) }?.0;
        // SAFETY: the caller's promise.
        let work = unsafe { Scheme::read(asked.scheme) }?.work();
        // SAFETY: the caller's promise.
        let input = unsafe { bytes("operation.input", asked.input, asked.input_len) }?;
        // SAFETY: the caller's promise.
        let output =
            unsafe { Buffer::new("operation.output", asked.output, asked.output_capacity) }?;
        output.check("operation.output", key.size())?;
        Ok(Self { key, work, input, target: Target { operation, output } })
    }

    /// Writes the operation into a job.
    pub(crate) fn load(&self, job: &mut PrivateJob) -> Result<(), Error> {
        job.load(self.key, self.work, self.input)
    }
}

/// The place for the result of an operation.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    operation: *mut tollgate_operation,
    output: Buffer,
}

// SAFETY: as the header demands, only the thread that ends the operation uses it until its end.
unsafe impl Send for Target {}

impl Target {
    pub(crate) fn operation(self) -> *mut tollgate_operation {
        self.operation
    }

    /// Writes the end of the operation, and returns it.
    pub(crate) fn finish(self, end: Result<&PrivateJob, PrivateError>) -> Result<(), Failure> {
        let end = end.map(|job| {
            self.output.write(job.output());
            job.output().len()
        });
        self.end(end.map_err(Failure::from))
    }

    fn end(self, end: Result<usize, Failure>) -> Result<(), Failure> {
        // SAFETY: the caller of `read` promised that it is valid until now.
        let operation = unsafe { &mut *self.operation };
        operation.end(end)
    }
}

impl tollgate_operation {
    /// Sets the length of the result, or the code of a failure.
    pub(crate) fn end(&mut self, end: Result<usize, Failure>) -> Result<(), Failure> {
        self.output_len = *end.as_ref().unwrap_or(&0);
        self.code = end.as_ref().map_or_else(Failure::code, |_| OK);
        end.map(|_| ())
    }

    /// Sets the code of a failure of the whole call.
    pub(crate) fn refuse(&mut self, code: c_int) {
        (self.output_len, self.code) = (0, code);
    }
}

const OK: c_int = tollgate_code::TOLLGATE_OK as c_int;
