//! Key derivation: the PRF of TLS 1.2, extraction and expansion of TLS 1.3.

use core::ffi::{CStr, c_int};

use foreign_types::ForeignTypeRef;
use openssl::error::ErrorStack;
use openssl_sys as sys;
use tollgate_server::in_memory::Source;

use super::check;
use super::params::{end, octets, signed, text};

/// `EVP_KDF_HKDF_MODE_EXTRACT_ONLY` of `openssl/kdf.h`.
const EXTRACT_ONLY: c_int = 1;
/// `EVP_KDF_HKDF_MODE_EXPAND_ONLY` of `openssl/kdf.h`.
const EXPAND_ONLY: c_int = 2;

unsafe extern "C" {
    fn EVP_KDF_CTX_set_params(ctx: *mut sys::EVP_KDF_CTX, params: *const sys::OSSL_PARAM) -> c_int;
}

/// A key derivation function with its hash function and its public input, fetched and set once.
pub(crate) struct Kdf {
    ctx: *mut sys::EVP_KDF_CTX,
    secret: &'static CStr,
}

impl Kdf {
    /// The PRF of TLS 1.2, RFC 5246 §5.
    pub(crate) fn prf(
        source: Source<'_>,
        hash: &'static CStr,
        seed: &[u8],
    ) -> Result<Self, ErrorStack> {
        let params = [text(c"digest", hash), octets(c"seed", seed), end(), end()];
        Self::fetch(source, c"TLS1-PRF", c"secret", params)
    }

    /// HKDF-Extract, RFC 5869 §2.2.
    pub(crate) fn extract(
        source: Source<'_>,
        hash: &'static CStr,
        salt: &[u8],
    ) -> Result<Self, ErrorStack> {
        Self::hkdf(source, hash, EXTRACT_ONLY, octets(c"salt", salt))
    }

    /// HKDF-Expand, RFC 5869 §2.3.
    pub(crate) fn expand(
        source: Source<'_>,
        hash: &'static CStr,
        info: &[u8],
    ) -> Result<Self, ErrorStack> {
        Self::hkdf(source, hash, EXPAND_ONLY, octets(c"info", info))
    }

    fn hkdf(
        source: Source<'_>,
        hash: &'static CStr,
        mode: c_int,
        data: sys::OSSL_PARAM,
    ) -> Result<Self, ErrorStack> {
        let params = [text(c"digest", hash), signed(c"mode", &mode), data, end()];
        Self::fetch(source, c"HKDF", c"key", params)
    }

    fn fetch(
        source: Source<'_>,
        name: &CStr,
        secret: &'static CStr,
        params: [sys::OSSL_PARAM; 4],
    ) -> Result<Self, ErrorStack> {
        let (library, query) = (source.library.as_ptr(), source.query.as_ptr());
        // SAFETY: valid pointers.
        let kdf = unsafe { sys::EVP_KDF_fetch(library, name.as_ptr(), query) };
        if kdf.is_null() {
            return Err(ErrorStack::get());
        }
        // SAFETY: a valid function; the context takes its own reference.
        let ctx = unsafe { sys::EVP_KDF_CTX_new(kdf) };
        // SAFETY: our reference, freed once.
        unsafe { sys::EVP_KDF_free(kdf) };
        if ctx.is_null() {
            return Err(ErrorStack::get());
        }
        let kdf = Self { ctx, secret };
        // SAFETY: a valid context. The parameters end with an empty one. The callers of this
        // function keep the parameters' bytes until it returns, and OpenSSL copies the bytes.
        check(unsafe { EVP_KDF_CTX_set_params(kdf.ctx, params.as_ptr()) })?;
        Ok(kdf)
    }

    /// Derives `out` from a secret.
    pub(crate) fn derive(&mut self, secret: &[u8], out: &mut [u8]) -> Result<(), ErrorStack> {
        let params = [octets(self.secret, secret), end()];
        // SAFETY: a valid context. `out` is writable for its whole length. The parameters end with
        // an empty one, and OpenSSL only reads their bytes.
        let done =
            unsafe { sys::EVP_KDF_derive(self.ctx, out.as_mut_ptr(), out.len(), params.as_ptr()) };
        check(done)
    }
}

impl Drop for Kdf {
    fn drop(&mut self) {
        // SAFETY: owned, freed once.
        unsafe { sys::EVP_KDF_CTX_free(self.ctx) }
    }
}

#[cfg(test)]
mod tests {

    use super::super::each_engine;
    use super::*;

    #[test]
    fn hkdf_is_that_of_rfc_5869() {
        // Appendix A.1, with the output of the expansion cut to the length of one hash.
        let salt: Vec<u8> = (0..=0x0c).collect();
        let info: Vec<u8> = (0xf0..=0xf9).collect();
        each_engine(|source, _| {
            let (mut extracted, mut expanded) = ([0; 32], [0; 32]);
            let mut extract = Kdf::extract(source, c"SHA256", &salt).unwrap();
            let mut expand = Kdf::expand(source, c"SHA256", &info).unwrap();
            for _ in 0..2 {
                extract.derive(&[0x0b; 22], &mut extracted).unwrap();
                assert_eq!(extracted[..4], [0x07, 0x77, 0x09, 0x36]);
                expand.derive(&extracted, &mut expanded).unwrap();
                assert_eq!(expanded[..4], [0x3c, 0xb2, 0x5f, 0x25]);
            }
        });
    }
}
