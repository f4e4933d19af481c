//! Contexts of operations, freed on drop.

use core::ffi::c_int;
use core::ptr;

use super::libcrypto::{self, EVP_MD_CTX, EVP_PKEY_CTX, OSSL_PARAM};
use super::{Key, check};

/// A message digest context.
pub(crate) struct MdContext(pub(crate) *mut EVP_MD_CTX);

impl MdContext {
    pub(crate) fn new() -> Self {
        // SAFETY: no arguments.
        Self(unsafe { libcrypto::EVP_MD_CTX_new() })
    }
}

impl Drop for MdContext {
    fn drop(&mut self) {
        // SAFETY: freed once.
        unsafe { libcrypto::EVP_MD_CTX_free(self.0) };
    }
}

/// A key context.
pub(crate) struct Operation(pub(crate) *mut EVP_PKEY_CTX);

/// The type of sign, encrypt and decrypt.
pub(crate) type Step =
    unsafe extern "C" fn(*mut EVP_PKEY_CTX, *mut u8, *mut usize, *const u8, usize) -> c_int;
/// The type of their init functions.
pub(crate) type Init = unsafe extern "C" fn(*mut EVP_PKEY_CTX, *const OSSL_PARAM) -> c_int;

impl Operation {
    pub(crate) fn init(&self, init: Init, params: &[OSSL_PARAM]) -> Result<(), String> {
        let params: Vec<_> = params.iter().copied().chain([libcrypto::END]).collect();
        // SAFETY: a context, and parameters that outlive the call.
        check(unsafe { init(self.0, params.as_ptr()) })
    }

    /// Starts the generation of a key.
    pub(crate) fn begin_key(&self) -> Result<(), String> {
        // SAFETY: a context.
        check(unsafe { libcrypto::EVP_PKEY_keygen_init(self.0) })
    }

    /// Generates a key.
    pub(crate) fn generate(&self) -> Result<Key, String> {
        let mut key = ptr::null_mut();
        // SAFETY: a context and a pointer to the key.
        check(unsafe { libcrypto::EVP_PKEY_generate(self.0, &mut key) })?;
        Ok(Key(key))
    }

    pub(crate) fn run(&self, step: Step, input: &[u8]) -> Result<Vec<u8>, String> {
        let mut len = 0;
        // SAFETY: a context, a query of the length, the input.
        let asked = unsafe { step(self.0, ptr::null_mut(), &mut len, input.as_ptr(), input.len()) };
        check(asked)?;
        let mut output = vec![0; len];
        // SAFETY: a context, a buffer of the returned length, the input.
        let done =
            unsafe { step(self.0, output.as_mut_ptr(), &mut len, input.as_ptr(), input.len()) };
        check(done)?;
        output.truncate(len);
        Ok(output)
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        // SAFETY: freed once.
        unsafe { libcrypto::EVP_PKEY_CTX_free(self.0) };
    }
}
