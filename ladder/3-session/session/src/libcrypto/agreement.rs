//! Key agreement: the ephemeral key pair, the encoded public key, the shared secret. With a KEM,
//! one end encapsulates the secret to the public key of the other.

use core::ffi::{CStr, c_char, c_int, c_uchar};
use core::ptr;

use foreign_types::{ForeignType, ForeignTypeRef};
use openssl::error::ErrorStack;
use openssl::pkey::{PKey, PKeyRef, Params, Private, Public};
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

/// Returns whether a provider of the library context has key pairs of this algorithm.
pub(crate) fn has_keys_of(source: Source<'_>, algorithm: &CStr) -> bool {
    let (library, query) = (source.library.as_ptr(), source.query.as_ptr());
    // SAFETY: valid pointers.
    let ctx = unsafe { sys::EVP_PKEY_CTX_new_from_name(library, algorithm.as_ptr(), query) };
    // The entries of the error stack would belong to the next error.
    drop(ErrorStack::get());
    // SAFETY: a context without another owner, or null.
    unsafe { sys::EVP_PKEY_CTX_free(ctx) };
    !ctx.is_null()
}

/// Reads an encoded public key of a KEM, as a server does before `ssl_encapsulate`.
///
/// # Errors
///
/// The key is not valid for the algorithm.
pub fn read_public(
    source: Source<'_>,
    algorithm: &CStr,
    public: &[u8],
) -> Result<PKey<Params>, ErrorStack> {
    let (library, query) = (source.library.as_ptr(), source.query.as_ptr());
    // SAFETY: valid pointers.
    let ctx = unsafe { sys::EVP_PKEY_CTX_new_from_name(library, algorithm.as_ptr(), query) };
    if ctx.is_null() {
        return Err(ErrorStack::get());
    }
    // SAFETY: a new context that nobody else owns; it has no key yet.
    let mut ctx: PkeyCtx<()> = unsafe { PkeyCtx::from_ptr(ctx) };
    ctx.paramgen_init()?;
    let key = ctx.paramgen()?;
    // SAFETY: `public` is readable for its whole length.
    check(unsafe {
        EVP_PKEY_set1_encoded_public_key(key.as_ptr(), public.as_ptr(), public.len())
    })?;
    Ok(key)
}

/// Encapsulates a secret to a public key of a KEM, as `ssl_encapsulate` does. Returns the
/// ciphertext and the secret.
///
/// # Errors
///
/// OpenSSL has no random numbers, or its provider fails.
pub fn encapsulate(
    source: Source<'_>,
    key: &PKeyRef<Params>,
) -> Result<(Vec<u8>, Vec<u8>), ErrorStack> {
    let ctx = source.key_context(key)?;
    // SAFETY: a valid context; there are no parameters.
    check(unsafe { sys::EVP_PKEY_encapsulate_init(ctx.as_ptr(), ptr::null()) })?;
    let (mut sent, mut kept) = (Vec::new(), Vec::new());
    let lengths = |sent: &mut Vec<u8>, kept: &mut Vec<u8>| {
        let (mut sent_bytes, mut kept_bytes) = (sent.len(), kept.len());
        // An empty buffer asks for the lengths.
        let [to, of] = [&mut *sent, kept].map(|buffer| match buffer.is_empty() {
            true => ptr::null_mut(),
            false => buffer.as_mut_ptr(),
        });
        let (sent_bytes_at, kept_bytes_at) = (&raw mut sent_bytes, &raw mut kept_bytes);
        // SAFETY: initialized for encapsulation; both buffers have the lengths beside them.
        check(unsafe {
            sys::EVP_PKEY_encapsulate(ctx.as_ptr(), to, sent_bytes_at, of, kept_bytes_at)
        })?;
        sent.resize(sent_bytes, 0);
        kept.resize(kept_bytes, 0);
        Ok::<_, ErrorStack>(())
    };
    lengths(&mut sent, &mut kept)?;
    lengths(&mut sent, &mut kept)?;
    Ok((sent, kept))
}

/// Returns the secret of a ciphertext, as a client does with `ssl_decapsulate`.
///
/// # Errors
///
/// The ciphertext has a wrong length.
pub fn decapsulate(
    source: Source<'_>,
    key: &PKeyRef<Private>,
    ciphertext: &[u8],
) -> Result<Vec<u8>, ErrorStack> {
    let ctx = source.key_context(key)?;
    // SAFETY: a valid context; there are no parameters.
    check(unsafe { sys::EVP_PKEY_decapsulate_init(ctx.as_ptr(), ptr::null()) })?;
    let (from, from_bytes) = (ciphertext.as_ptr(), ciphertext.len());
    let decapsulate = |secret: *mut c_uchar, length: &mut usize| {
        let length = &raw mut *length;
        // SAFETY: initialized for decapsulation; both buffers have the lengths beside them.
        check(unsafe { sys::EVP_PKEY_decapsulate(ctx.as_ptr(), secret, length, from, from_bytes) })
    };
    let mut length = 0;
    decapsulate(ptr::null_mut(), &mut length)?;
    let mut secret = vec![0; length];
    decapsulate(secret.as_mut_ptr(), &mut length)?;
    secret.truncate(length);
    Ok(secret)
}

#[cfg(test)]
mod tests {

    use super::super::{each_engine, is_without_hybrid};
    use super::*;

    #[test]
    fn both_sides_agree() {
        each_engine(|source, _| {
            for (algorithm, group, length) in [(c"X25519", None, 32), (c"EC", Some(c"P-256"), 65)] {
                let [a, b] = [(); 2].map(|()| generate(source, algorithm, group).unwrap());
                let [to_a, to_b] = [&b, &a].map(|key| encoded_public(key).unwrap());
                assert_eq!(to_a.len(), length);
                assert_eq!(agree(source, &a, &to_a).unwrap(), agree(source, &b, &to_b).unwrap());
                assert!(agree(source, &a, &to_a[1..]).is_err());
            }
        });
    }

    #[test]
    fn a_kem_encapsulates_a_secret() {
        each_engine(|source, _| {
            assert!(has_keys_of(source, c"X25519") && !has_keys_of(source, c"X25518"));
            if is_without_hybrid(source) {
                return;
            }
            let pair = generate(source, HYBRID, None).unwrap();
            let public = encoded_public(&pair).unwrap();
            let key = read_public(source, HYBRID, &public).unwrap();
            let (ciphertext, secret) = encapsulate(source, &key).unwrap();
            // draft-ietf-tls-ecdhe-mlkem: ML-KEM-768 and X25519, one after the other
            assert_eq!((public.len(), ciphertext.len(), secret.len()), (1184 + 32, 1088 + 32, 64));
            assert_eq!(decapsulate(source, &pair, &ciphertext).unwrap(), secret);
            assert!(decapsulate(source, &pair, &ciphertext[1..]).is_err());
            assert!(read_public(source, HYBRID, &public[1..]).is_err());
        });
    }

    const HYBRID: &CStr = c"X25519MLKEM768";
}
