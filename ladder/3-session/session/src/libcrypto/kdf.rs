//! Key derivation: the PRF of TLS 1.2, extraction and expansion of TLS 1.3.
//!
//! Each call fetches the algorithm, creates a context, and gives it all parameters, as `tls1_PRF`,
//! `tls13_generate_secret` and `tls13_hkdf_expand_ex` of libssl do.

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

/// Computes the PRF of TLS 1.2, RFC 5246 §5.
pub(crate) fn prf(
    source: Source<'_>,
    hash: &'static CStr,
    secret: &[u8],
    seed: &[u8],
    out: &mut [u8],
) -> Result<(), ErrorStack> {
    let inputs = [octets(c"secret", secret), octets(c"seed", seed), end()];
    derive(source, c"TLS1-PRF", hash, inputs, out)
}

/// Computes HKDF-Extract, RFC 5869 §2.2.
pub(crate) fn extract(
    source: Source<'_>,
    hash: &'static CStr,
    secret: &[u8],
    salt: &[u8],
    out: &mut [u8],
) -> Result<(), ErrorStack> {
    let mode = signed(c"mode", &EXTRACT_ONLY);
    derive(source, c"HKDF", hash, [mode, octets(c"key", secret), octets(c"salt", salt)], out)
}

/// Computes HKDF-Expand, RFC 5869 §2.3.
pub(crate) fn expand(
    source: Source<'_>,
    hash: &'static CStr,
    secret: &[u8],
    info: &[u8],
    out: &mut [u8],
) -> Result<(), ErrorStack> {
    let mode = signed(c"mode", &EXPAND_ONLY);
    derive(source, c"HKDF", hash, [mode, octets(c"key", secret), octets(c"info", info)], out)
}

fn derive(
    source: Source<'_>,
    name: &CStr,
    hash: &'static CStr,
    [a, b, c]: [sys::OSSL_PARAM; 3],
    out: &mut [u8],
) -> Result<(), ErrorStack> {
    let (library, query) = (source.library.as_ptr(), source.query.as_ptr());
    let params = [text(c"digest", hash), a, b, c, end()];
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
    // SAFETY: a valid context. `out` is writable for its whole length. The parameters end with an
    // empty one, and their bytes live until the callers of this function return.
    let done = unsafe { sys::EVP_KDF_derive(ctx, out.as_mut_ptr(), out.len(), params.as_ptr()) };
    // SAFETY: owned, freed once.
    unsafe { sys::EVP_KDF_CTX_free(ctx) };
    check(done)
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
            extract(source, c"SHA256", &[0x0b; 22], &salt, &mut extracted).unwrap();
            assert_eq!(extracted[..4], [0x07, 0x77, 0x09, 0x36]);
            expand(source, c"SHA256", &extracted, &info, &mut expanded).unwrap();
            assert_eq!(expanded[..4], [0x3c, 0xb2, 0x5f, 0x25]);
        });
    }
}
