//! Contexts of operations, freed on drop.

use core::ffi::{CStr, c_int};
use core::mem::ManuallyDrop;
use core::ptr;

use super::libcrypto::{self, EVP_MD_CTX, EVP_PKEY_CTX, OSSL_PARAM};
use super::{Key, check, errors};

/// A message digest context.
pub(crate) struct MdContext(pub(crate) *mut EVP_MD_CTX);

impl MdContext {
    pub(crate) fn new() -> Self {
        // SAFETY: no arguments.
        Self(unsafe { libcrypto::EVP_MD_CTX_new() })
    }

    /// Signs a message in one call.
    pub(crate) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, String> {
        let (tbs, tbs_len) = (message.as_ptr(), message.len());
        // SAFETY: the context and the message are valid. `out` is a buffer of `len` bytes, or NULL
        // to query the length.
        with_buffer(|out, len| unsafe { libcrypto::EVP_DigestSign(self.0, out, len, tbs, tbs_len) })
    }

    /// Returns the key context, which this context owns.
    pub(crate) fn operation(&self) -> ManuallyDrop<Operation> {
        // SAFETY: a context.
        ManuallyDrop::new(Operation(unsafe { libcrypto::EVP_MD_CTX_get_pkey_ctx(self.0) }))
    }

    /// Verifies the signature of a message in one call.
    pub(crate) fn verify(&self, signature: &[u8], message: &[u8]) -> c_int {
        let (sig, sig_len) = (signature.as_ptr(), signature.len());
        let (tbs, tbs_len) = (message.as_ptr(), message.len());
        // SAFETY: a context, the signature, the message.
        unsafe { libcrypto::EVP_DigestVerify(self.0, sig, sig_len, tbs, tbs_len) }
    }
}

/// Calls `run` with NULL to get the length of its output, and then with a buffer of this length.
fn with_buffer(run: impl Fn(*mut u8, *mut usize) -> c_int) -> Result<Vec<u8>, String> {
    let mut len = 0;
    check(run(ptr::null_mut(), &mut len))?;
    let mut output = vec![0; len];
    check(run(output.as_mut_ptr(), &mut len))?;
    output.truncate(len);
    Ok(output)
}

impl Drop for MdContext {
    fn drop(&mut self) {
        // SAFETY: freed once.
        unsafe { libcrypto::EVP_MD_CTX_free(self.0) };
    }
}

/// A key context.
pub(crate) struct Operation(pub(crate) *mut EVP_PKEY_CTX);

/// The type of the functions that sign, encrypt and decrypt.
pub(crate) type Step =
    unsafe extern "C" fn(*mut EVP_PKEY_CTX, *mut u8, *mut usize, *const u8, usize) -> c_int;
/// The type of the functions that initialize signing, encryption and decryption.
pub(crate) type Init = unsafe extern "C" fn(*mut EVP_PKEY_CTX, *const OSSL_PARAM) -> c_int;
/// The type of the functions that initialize other operations, and of those that check a key.
type Call = unsafe extern "C" fn(*mut EVP_PKEY_CTX) -> c_int;
type Describe = unsafe extern "C" fn(*const EVP_PKEY_CTX) -> *const OSSL_PARAM;

/// An operation: how it starts, and how it runs.
pub(crate) type Kind = (Init, Step);
pub(crate) const SIGN: Kind = (libcrypto::EVP_PKEY_sign_init_ex, libcrypto::EVP_PKEY_sign);
pub(crate) const ENCRYPT: Kind = (libcrypto::EVP_PKEY_encrypt_init_ex, libcrypto::EVP_PKEY_encrypt);
pub(crate) const DECRYPT: Kind = (libcrypto::EVP_PKEY_decrypt_init_ex, libcrypto::EVP_PKEY_decrypt);

impl Operation {
    pub(crate) fn init(&self, init: Init, params: &[OSSL_PARAM]) -> Result<(), String> {
        let params: Vec<_> = params.iter().copied().chain([libcrypto::END]).collect();
        // SAFETY: a context, and parameters that outlive the call.
        check(unsafe { init(self.0, params.as_ptr()) })
    }

    /// Calls a function that takes the context alone.
    pub(crate) fn call(&self, function: Call) -> Result<(), String> {
        // SAFETY: a context.
        check(unsafe { function(self.0) })
    }

    /// Calls a function that checks the key, and returns its result.
    pub(crate) fn checked(&self, function: Call) -> c_int {
        // SAFETY: a context.
        let result = unsafe { function(self.0) };
        errors();
        result
    }

    pub(crate) fn set(&self, params: &[OSSL_PARAM]) -> Result<(), String> {
        self.init(libcrypto::EVP_PKEY_CTX_set_params, params)
    }

    /// Gets parameters. Returns them with their sizes.
    pub(crate) fn get(&self, params: &[OSSL_PARAM]) -> Result<Vec<OSSL_PARAM>, String> {
        let mut params: Vec<_> = params.iter().copied().chain([libcrypto::END]).collect();
        // SAFETY: a context, and parameters that outlive the call.
        let got = unsafe { libcrypto::EVP_PKEY_CTX_get_params(self.0, params.as_mut_ptr()) };
        check(got).map(|()| params)
    }

    /// Returns the parameters that can be got, or set.
    pub(crate) fn table(&self, describe: Describe) -> Vec<(&CStr, OSSL_PARAM)> {
        // SAFETY: a context.
        libcrypto::list(unsafe { describe(self.0) })
    }

    /// Starts the generation of a key.
    pub(crate) fn begin_key(&self) -> Result<(), String> {
        self.call(libcrypto::EVP_PKEY_keygen_init)
    }

    /// Creates a key of these values.
    pub(crate) fn key_from_data(
        &self,
        selection: c_int,
        params: *mut OSSL_PARAM,
    ) -> Result<Key, String> {
        self.call(libcrypto::EVP_PKEY_fromdata_init)?;
        let mut key = ptr::null_mut();
        // SAFETY: a context, a pointer to the key, parameters that outlive the call.
        check(unsafe { libcrypto::EVP_PKEY_fromdata(self.0, &mut key, selection, params) })?;
        Ok(Key(key))
    }

    /// Generates a key.
    pub(crate) fn generate(&self) -> Result<Key, String> {
        let mut key = ptr::null_mut();
        // SAFETY: a context and a pointer to the key.
        check(unsafe { libcrypto::EVP_PKEY_generate(self.0, &mut key) })?;
        Ok(Key(key))
    }

    /// Derives a shared secret.
    pub(crate) fn derive(&self) -> Result<Vec<u8>, String> {
        // SAFETY: the context is valid. `out` is a buffer of `len` bytes, or NULL to query the
        // length.
        with_buffer(|out, len| unsafe { libcrypto::EVP_PKEY_derive(self.0, out, len) })
    }

    pub(crate) fn run(&self, step: Step, input: &[u8]) -> Result<Vec<u8>, String> {
        // SAFETY: the context and the input are valid. `out` is a buffer of `len` bytes, or NULL to
        // query the length.
        with_buffer(|out, len| unsafe { step(self.0, out, len, input.as_ptr(), input.len()) })
    }

    /// Verifies the signature of a digest, or of bytes.
    pub(crate) fn verify(&self, signature: &[u8], digest: &[u8]) -> c_int {
        let (sig, sig_len) = (signature.as_ptr(), signature.len());
        let (tbs, tbs_len) = (digest.as_ptr(), digest.len());
        // SAFETY: a context, a signature and a digest.
        unsafe { libcrypto::EVP_PKEY_verify(self.0, sig, sig_len, tbs, tbs_len) }
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        // SAFETY: freed once.
        unsafe { libcrypto::EVP_PKEY_CTX_free(self.0) };
    }
}
