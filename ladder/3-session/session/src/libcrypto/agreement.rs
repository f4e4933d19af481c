//! Key agreement: the ephemeral key pair, the encoded public key, the shared secret.

use core::ffi::{CStr, c_char, c_int, c_uchar};
use core::ptr;

use foreign_types::{ForeignType, ForeignTypeRef};
use openssl::error::ErrorStack;
use openssl::pkey::{PKey, PKeyRef, Private, Public};
use openssl::pkey_ctx::PkeyCtx;
use openssl_sys as sys;
use tollgate_server::in_memory::Source;

use super::check;

unsafe extern "C" {
    fn EVP_PKEY_CTX_set_group_name(ctx: *mut sys::EVP_PKEY_CTX, name: *const c_char) -> c_int;
    fn EVP_PKEY_set1_encoded_public_key(
        key: *mut sys::EVP_PKEY,
        public: *const c_uchar,
        length: usize,
    ) -> c_int;
    fn EVP_PKEY_get1_encoded_public_key(
        key: *mut sys::EVP_PKEY,
        public: *mut *mut c_uchar,
    ) -> usize;
}

/// Returns a new key pair of a group, generated as `ssl_generate_pkey_group` does. `algorithm` is
/// OpenSSL's name, such as `X25519` or `EC`; `group` is the curve or the field.
///
/// # Errors
///
/// OpenSSL does not know the algorithm or the group, or has no random numbers.
pub fn generate(
    source: Source<'_>,
    algorithm: &CStr,
    group: Option<&CStr>,
) -> Result<PKey<Private>, ErrorStack> {
    let (library, query) = (source.library.as_ptr(), source.query.as_ptr());
    // SAFETY: valid pointers.
    let ctx = unsafe { sys::EVP_PKEY_CTX_new_from_name(library, algorithm.as_ptr(), query) };
    if ctx.is_null() {
        return Err(ErrorStack::get());
    }
    // SAFETY: a new context that nobody else owns; it has no key yet.
    let mut ctx: PkeyCtx<()> = unsafe { PkeyCtx::from_ptr(ctx) };
    ctx.keygen_init()?;
    if let Some(group) = group {
        // SAFETY: initialised for generation; the name ends with NUL.
        check(unsafe { EVP_PKEY_CTX_set_group_name(ctx.as_ptr(), group.as_ptr()) })?;
    }
    ctx.keygen()
}

/// The public key, encoded as in a message.
///
/// # Errors
///
/// OpenSSL cannot encode the key.
pub fn encoded_public(key: &PKeyRef<Private>) -> Result<Vec<u8>, ErrorStack> {
    let mut bytes = ptr::null_mut();
    // SAFETY: a valid key; `bytes` is writable.
    let length = unsafe { EVP_PKEY_get1_encoded_public_key(key.as_ptr(), &raw mut bytes) };
    if length == 0 {
        return Err(ErrorStack::get());
    }
    // SAFETY: OpenSSL allocated `length` bytes there.
    let public = unsafe { core::slice::from_raw_parts(bytes, length) }.to_vec();
    // SAFETY: allocated by OpenSSL, freed once.
    unsafe { sys::CRYPTO_free(bytes.cast(), c"".as_ptr(), 0) };
    Ok(public)
}

/// Reads the peer's public key and derives the shared secret, as `ssl_derive` does.
///
/// # Errors
///
/// The peer's key is not valid for the group.
pub fn agree(
    source: Source<'_>,
    own: &PKeyRef<Private>,
    peer: &[u8],
) -> Result<Vec<u8>, ErrorStack> {
    // SAFETY: no conditions.
    let public = unsafe { sys::EVP_PKEY_new() };
    if public.is_null() {
        return Err(ErrorStack::get());
    }
    // SAFETY: a new key that nobody else owns; it will hold a public key.
    let public: PKey<Public> = unsafe { PKey::from_ptr(public) };
    // SAFETY: two valid keys.
    check(unsafe { sys::EVP_PKEY_copy_parameters(public.as_ptr(), own.as_ptr()) })?;
    // SAFETY: `peer` is readable for its whole length.
    check(unsafe { EVP_PKEY_set1_encoded_public_key(public.as_ptr(), peer.as_ptr(), peer.len()) })?;
    let mut ctx = source.key_context(own)?;
    ctx.derive_init()?;
    ctx.derive_set_peer(&public)?;
    let mut secret = vec![0; ctx.derive(None)?];
    let length = ctx.derive(Some(&mut secret))?;
    secret.truncate(length);
    Ok(secret)
}

#[cfg(test)]
mod tests {

    use super::super::each_engine;
    use super::*;

    #[test]
    fn both_sides_agree() {
        each_engine(|source, _| {
            for (algorithm, group, length) in [
                (c"X25519", None, 32),
                (c"EC", Some(c"P-256"), 65),
                (c"DH", Some(c"ffdhe2048"), 256),
            ] {
                let [a, b] = [(); 2].map(|()| generate(source, algorithm, group).unwrap());
                let [to_a, to_b] = [&b, &a].map(|key| encoded_public(key).unwrap());
                assert_eq!(to_a.len(), length);
                assert_eq!(agree(source, &a, &to_a).unwrap(), agree(source, &b, &to_b).unwrap());
                assert!(length == 256 || agree(source, &a, &to_a[1..]).is_err(), "a number");
            }
        });
    }
}
