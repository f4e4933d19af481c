//! Operations with a key in a library context other than the default one, which the `openssl` crate
//! does not support. This module initializes the operations in the same way as libssl. The
//! `openssl` crate completes them.
//!
//! Declarations follow OpenSSL 3.0's headers.
#![allow(unsafe_code, reason = "declarations of libcrypto")]

use core::ffi::{CStr, c_char, c_int};
use core::fmt;
use core::ptr;

use foreign_types::{ForeignType, ForeignTypeRef};
use openssl::error::ErrorStack;
use openssl::lib_ctx::LibCtxRef;
use openssl::md_ctx::MdCtxRef;
use openssl::pkey::{PKeyRef, Private};
use openssl::pkey_ctx::{PkeyCtx, PkeyCtxRef};
use openssl_sys as sys;

use crate::ffi::{check, non_null};

unsafe extern "C" {
    fn EVP_PKEY_CTX_new_from_pkey(
        libctx: *mut sys::OSSL_LIB_CTX,
        key: *mut sys::EVP_PKEY,
        propq: *const c_char,
    ) -> *mut sys::EVP_PKEY_CTX;
    fn EVP_PKEY_CTX_get0_provider(ctx: *const sys::EVP_PKEY_CTX) -> *const sys::OSSL_PROVIDER;
    fn EVP_DigestSignInit_ex(
        ctx: *mut sys::EVP_MD_CTX,
        key_ctx: *mut *mut sys::EVP_PKEY_CTX,
        digest: *const c_char,
        libctx: *mut sys::OSSL_LIB_CTX,
        propq: *const c_char,
        key: *mut sys::EVP_PKEY,
        params: *const sys::OSSL_PARAM,
    ) -> c_int;
    fn OSSL_PROVIDER_get0_name(provider: *const sys::OSSL_PROVIDER) -> *const c_char;
}

/// The library context and property query of a session's algorithms.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// The library context of all fetches.
    pub library: &'a LibCtxRef,
    /// The property query of all fetches.
    pub query: &'static CStr,
}

impl Source<'_> {
    /// Creates a context for an operation with `key`.
    ///
    /// # Errors
    ///
    /// OpenSSL is out of memory, or no provider supports the key.
    pub fn key_context<T>(self, key: &PKeyRef<T>) -> Result<PkeyCtx<T>, ErrorStack> {
        let (library, query) = (self.library.as_ptr(), self.query.as_ptr());
        // SAFETY: valid pointers; the context takes its own reference to the key.
        let ctx = unsafe { EVP_PKEY_CTX_new_from_pkey(library, key.as_ptr(), query) };
        // SAFETY: a new context without another owner.
        non_null(ctx).map(|ctx| unsafe { PkeyCtx::from_ptr(ctx) })
    }

    /// Initializes `digest` to sign with `key` and the digest of this name, as
    /// `tls_construct_cert_verify` and `tls_construct_server_key_exchange` do. The returned context
    /// sets the padding.
    ///
    /// # Errors
    ///
    /// No provider signs with the key.
    pub fn begin_signature<'d>(
        self,
        digest: &'d mut MdCtxRef,
        key: &PKeyRef<Private>,
        name: Option<&CStr>,
    ) -> Result<&'d mut PkeyCtxRef<Private>, ErrorStack> {
        let mut key_ctx = ptr::null_mut();
        // SAFETY: valid pointers, texts that end with NUL (a name may be NULL), no parameters.
        check(unsafe {
            EVP_DigestSignInit_ex(
                digest.as_ptr(),
                &raw mut key_ctx,
                name.map_or(ptr::null(), CStr::as_ptr),
                self.library.as_ptr(),
                self.query.as_ptr(),
                key.as_ptr(),
                ptr::null(),
            )
        })?;
        // SAFETY: `key_ctx` is valid, and `digest`'s: it lives as long as the borrow.
        Ok(unsafe { PkeyCtxRef::from_ptr_mut(key_ctx) })
    }
}

impl fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("query", &self.query).finish_non_exhaustive()
    }
}

/// Returns the name of the provider of the initialized operation.
pub(crate) fn provider_name<T>(ctx: &PkeyCtxRef<T>) -> String {
    // SAFETY: a valid context.
    let provider = unsafe { EVP_PKEY_CTX_get0_provider(ctx.as_ptr()) };
    if provider.is_null() {
        return "none".to_owned();
    }
    // SAFETY: a provider that `ctx` holds.
    let name = unsafe { OSSL_PROVIDER_get0_name(provider) };
    // SAFETY: a provider's name ends with NUL and lives as long as the provider.
    let name = unsafe { CStr::from_ptr(name) };
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use openssl::md_ctx::MdCtx;

    use super::*;
    use crate::in_memory::Worker;
    use crate::{Config, Engine};

    /// OpenSSL's X25519MLKEM768 fetches its halves so.
    #[test]
    fn fetches_without_a_query_prefer_the_engine() {
        for engine in [Engine::OpenSsl, Engine::Tollgate] {
            let worker = Worker::new(&Config { engine, ..Config::default() }).unwrap();
            let source = Source { query: c"", ..worker.source() };
            let mut digest = MdCtx::new().unwrap();
            let ctx = source.begin_signature(&mut digest, worker.key(), Some(c"SHA256")).unwrap();
            assert_eq!(provider_name(ctx), engine.provider());
        }
    }
}
