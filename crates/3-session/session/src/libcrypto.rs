//! The calls of libcrypto that libssl makes for a session, where the `openssl` crate lacks them.
//!
//! The only `unsafe` of this crate is here; each call stands behind a safe function. Signatures are
//! those of OpenSSL 3.0's headers.
#![allow(unsafe_code, reason = "declarations of libcrypto")]

use core::ffi::{CStr, c_char, c_int, c_uchar};
use core::ptr;

use foreign_types::{ForeignType, ForeignTypeRef};
use openssl::error::ErrorStack;
use openssl::lib_ctx::LibCtxRef;
use openssl::pkey::{PKey, PKeyRef, Private, Public};
use openssl_sys as sys;

/// `RSA_PKCS1_PADDING` of `openssl/rsa.h`.
const PKCS1_PADDING: c_int = 1;
/// `RSA_PKCS1_PSS_PADDING` of `openssl/rsa.h`.
const PSS_PADDING: c_int = 6;
/// `RSA_PKCS1_WITH_TLS_PADDING` of `openssl/rsa.h`: always 48 bytes, random ones after an error.
const TLS_PADDING: c_int = 7;
/// `RSA_PSS_SALTLEN_DIGEST` of `openssl/rsa.h`.
const SALT_AS_DIGEST: c_int = -1;
/// `EVP_KDF_HKDF_MODE_EXTRACT_ONLY` of `openssl/kdf.h`.
const EXTRACT_ONLY: c_int = 1;
/// `EVP_KDF_HKDF_MODE_EXPAND_ONLY` of `openssl/kdf.h`.
const EXPAND_ONLY: c_int = 2;
/// `OSSL_PARAM_INTEGER` of `openssl/core.h`.
const INTEGER: u32 = 1;
/// `OSSL_PARAM_UNSIGNED_INTEGER` of `openssl/core.h`.
const UNSIGNED_INTEGER: u32 = 2;
/// `OSSL_PARAM_UTF8_STRING` of `openssl/core.h`.
const UTF8_STRING: u32 = 4;
/// `OSSL_PARAM_OCTET_STRING` of `openssl/core.h`.
const OCTET_STRING: u32 = 5;

/// The most bytes of a signature or a plaintext: RSA of 16384 bits.
const RSA_BYTES_MAX: usize = 2048;

unsafe extern "C" {
    fn EVP_DigestSignInit_ex(
        ctx: *mut sys::EVP_MD_CTX,
        key_ctx: *mut *mut sys::EVP_PKEY_CTX,
        digest: *const c_char,
        libctx: *mut sys::OSSL_LIB_CTX,
        propq: *const c_char,
        key: *mut sys::EVP_PKEY,
        params: *const sys::OSSL_PARAM,
    ) -> c_int;
    fn EVP_PKEY_CTX_new_from_pkey(
        libctx: *mut sys::OSSL_LIB_CTX,
        key: *mut sys::EVP_PKEY,
        propq: *const c_char,
    ) -> *mut sys::EVP_PKEY_CTX;
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
    fn EVP_KDF_CTX_set_params(ctx: *mut sys::EVP_KDF_CTX, params: *const sys::OSSL_PARAM) -> c_int;
}

const fn check(result: c_int) -> Result<(), c_int> {
    if result == 1 { Ok(()) } else { Err(result) }
}

fn stack<E>(_: E) -> ErrorStack {
    ErrorStack::get()
}

/// Where a session's algorithms come from.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) library: &'a LibCtxRef,
    pub(crate) query: &'static CStr,
}

/// How RSA signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Padding {
    Pkcs1,
    Pss,
}

struct KeyContext(*mut sys::EVP_PKEY_CTX);

impl KeyContext {
    fn of(source: Source<'_>, key: *mut sys::EVP_PKEY) -> Result<Self, ErrorStack> {
        let (library, query) = (source.library.as_ptr(), source.query.as_ptr());
        // SAFETY: valid pointers; the context takes its own reference to the key.
        let ctx = unsafe { EVP_PKEY_CTX_new_from_pkey(library, key, query) };
        if ctx.is_null() { Err(ErrorStack::get()) } else { Ok(Self(ctx)) }
    }
}

impl Drop for KeyContext {
    fn drop(&mut self) {
        // SAFETY: owned, freed once.
        unsafe { sys::EVP_PKEY_CTX_free(self.0) }
    }
}

struct DigestContext(*mut sys::EVP_MD_CTX);

impl Drop for DigestContext {
    fn drop(&mut self) {
        // SAFETY: owned, freed once.
        unsafe { sys::EVP_MD_CTX_free(self.0) }
    }
}

/// Signs with SHA-256 as `tls_construct_cert_verify` and `tls_construct_server_key_exchange` do.
pub(crate) fn sign(
    source: Source<'_>,
    key: &PKeyRef<Private>,
    padding: Padding,
    message: &[u8],
) -> Result<Vec<u8>, ErrorStack> {
    // SAFETY: no conditions.
    let digest = DigestContext(unsafe { sys::EVP_MD_CTX_new() });
    if digest.0.is_null() {
        return Err(ErrorStack::get());
    }
    let mut key_ctx = ptr::null_mut();
    // SAFETY: valid pointers, texts that end with NUL, no parameters; `key_ctx` is `digest`'s.
    let begun = unsafe {
        EVP_DigestSignInit_ex(
            digest.0,
            &raw mut key_ctx,
            c"SHA256".as_ptr(),
            source.library.as_ptr(),
            source.query.as_ptr(),
            key.as_ptr(),
            ptr::null(),
        )
    };
    check(begun).map_err(stack)?;
    if padding == Padding::Pss {
        // SAFETY: a context that is initialised for signing.
        check(unsafe { sys::EVP_PKEY_CTX_set_rsa_padding(key_ctx, PSS_PADDING) }).map_err(stack)?;
        // SAFETY: the same.
        check(unsafe { sys::EVP_PKEY_CTX_set_rsa_pss_saltlen(key_ctx, SALT_AS_DIGEST) })
            .map_err(stack)?;
    }
    let mut signature = vec![0_u8; key.size()];
    let mut length = signature.len();
    // SAFETY: `signature` has `length` writable bytes, `message` its readable ones.
    let signed = unsafe {
        sys::EVP_DigestSign(
            digest.0,
            signature.as_mut_ptr(),
            &raw mut length,
            message.as_ptr(),
            message.len(),
        )
    };
    check(signed).map_err(stack)?;
    signature.truncate(length);
    Ok(signature)
}

/// What a client does: encrypts `premaster` to the key, PKCS#1 v1.5.
pub(crate) fn encrypt(
    source: Source<'_>,
    key: &PKeyRef<Private>,
    premaster: &[u8],
) -> Result<Vec<u8>, ErrorStack> {
    let ctx = KeyContext::of(source, key.as_ptr())?;
    // SAFETY: a valid context.
    check(unsafe { sys::EVP_PKEY_encrypt_init(ctx.0) }).map_err(stack)?;
    // SAFETY: initialised for encryption.
    check(unsafe { sys::EVP_PKEY_CTX_set_rsa_padding(ctx.0, PKCS1_PADDING) }).map_err(stack)?;
    let mut out = vec![0_u8; RSA_BYTES_MAX];
    let mut length = out.len();
    // SAFETY: `out` has `length` writable bytes, `premaster` its readable ones.
    let done = unsafe {
        sys::EVP_PKEY_encrypt(
            ctx.0,
            out.as_mut_ptr(),
            &raw mut length,
            premaster.as_ptr(),
            premaster.len(),
        )
    };
    check(done).map_err(stack)?;
    out.truncate(length);
    Ok(out)
}

/// Decrypts a premaster secret as `tls_process_cke_rsa` does.
pub(crate) fn decrypt(
    source: Source<'_>,
    key: &PKeyRef<Private>,
    ciphertext: &[u8],
) -> Result<[u8; 48], ErrorStack> {
    let ctx = KeyContext::of(source, key.as_ptr())?;
    // SAFETY: a valid context.
    check(unsafe { sys::EVP_PKEY_decrypt_init(ctx.0) }).map_err(stack)?;
    // SAFETY: initialised for decryption.
    check(unsafe { sys::EVP_PKEY_CTX_set_rsa_padding(ctx.0, TLS_PADDING) }).map_err(stack)?;
    let version = 0x0303_u32;
    let params = [unsigned(c"tls-client-version", &version), end()];
    // SAFETY: parameters that end with an empty one and live long enough.
    check(unsafe { sys::EVP_PKEY_CTX_set_params(ctx.0, params.as_ptr()) }).map_err(stack)?;
    let mut out = [0_u8; RSA_BYTES_MAX];
    let mut length = out.len();
    // SAFETY: `out` has `length` writable bytes, `ciphertext` its readable ones.
    let done = unsafe {
        sys::EVP_PKEY_decrypt(
            ctx.0,
            out.as_mut_ptr(),
            &raw mut length,
            ciphertext.as_ptr(),
            ciphertext.len(),
        )
    };
    check(done).map_err(stack)?;
    let mut premaster = [0; 48];
    premaster.copy_from_slice(&out[..48]);
    Ok(premaster)
}

/// A new key pair of a group, as `ssl_generate_pkey_group` makes it.
pub(crate) fn generate(
    source: Source<'_>,
    algorithm: &CStr,
    group: Option<&CStr>,
) -> Result<PKey<Private>, ErrorStack> {
    let (library, query) = (source.library.as_ptr(), source.query.as_ptr());
    // SAFETY: valid pointers.
    let ctx = unsafe { sys::EVP_PKEY_CTX_new_from_name(library, algorithm.as_ptr(), query) };
    let ctx = KeyContext(ctx);
    if ctx.0.is_null() {
        return Err(ErrorStack::get());
    }
    // SAFETY: a valid context.
    check(unsafe { sys::EVP_PKEY_keygen_init(ctx.0) }).map_err(stack)?;
    if let Some(group) = group {
        // SAFETY: initialised for generation; the name ends with NUL.
        check(unsafe { EVP_PKEY_CTX_set_group_name(ctx.0, group.as_ptr()) }).map_err(stack)?;
    }
    let mut key = ptr::null_mut();
    // SAFETY: initialised for generation; `key` is writable.
    check(unsafe { sys::EVP_PKEY_keygen(ctx.0, &raw mut key) }).map_err(stack)?;
    // SAFETY: a new key that nobody else owns.
    Ok(unsafe { PKey::from_ptr(key) })
}

/// The public half as it stands in a message.
pub(crate) fn encoded_public(key: &PKeyRef<Private>) -> Result<Vec<u8>, ErrorStack> {
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

/// Reads the peer's public key and agrees on a secret, as `ssl_derive` does. Both groups have
/// secrets of 32 bytes.
pub(crate) fn agree(
    source: Source<'_>,
    own: &PKeyRef<Private>,
    peer: &[u8],
) -> Result<[u8; 32], ErrorStack> {
    // SAFETY: no conditions.
    let public = unsafe { sys::EVP_PKEY_new() };
    if public.is_null() {
        return Err(ErrorStack::get());
    }
    // SAFETY: a new key that nobody else owns; it will hold a public key.
    let public: PKey<Public> = unsafe { PKey::from_ptr(public) };
    // SAFETY: two valid keys.
    check(unsafe { sys::EVP_PKEY_copy_parameters(public.as_ptr(), own.as_ptr()) })
        .map_err(stack)?;
    // SAFETY: `peer` has its readable bytes.
    check(unsafe { EVP_PKEY_set1_encoded_public_key(public.as_ptr(), peer.as_ptr(), peer.len()) })
        .map_err(stack)?;
    let ctx = KeyContext::of(source, own.as_ptr())?;
    // SAFETY: a valid context.
    check(unsafe { sys::EVP_PKEY_derive_init(ctx.0) }).map_err(stack)?;
    // SAFETY: initialised for derivation; a valid key.
    check(unsafe { sys::EVP_PKEY_derive_set_peer(ctx.0, public.as_ptr()) }).map_err(stack)?;
    let mut secret = [0_u8; 32];
    let mut length = secret.len();
    // SAFETY: `secret` has `length` writable bytes.
    check(unsafe { sys::EVP_PKEY_derive(ctx.0, secret.as_mut_ptr(), &raw mut length) })
        .map_err(stack)?;
    Ok(secret)
}

/// A key derivation function with SHA-256 and what goes with the secret, fetched and set once.
pub(crate) struct Kdf {
    ctx: *mut sys::EVP_KDF_CTX,
    secret: &'static CStr,
}

impl Kdf {
    /// The PRF of TLS 1.2, RFC 5246 §5.
    pub(crate) fn prf(source: Source<'_>, seed: &[u8]) -> Result<Self, ErrorStack> {
        let seed = octets(c"seed", seed);
        Self::fetch(
            source,
            c"TLS1-PRF",
            c"secret",
            [text(c"digest", c"SHA256"), seed, end(), end()],
        )
    }

    /// HKDF-Extract, RFC 5869 §2.2.
    pub(crate) fn extract(source: Source<'_>, salt: &[u8]) -> Result<Self, ErrorStack> {
        Self::hkdf(source, EXTRACT_ONLY, octets(c"salt", salt))
    }

    /// HKDF-Expand, RFC 5869 §2.3.
    pub(crate) fn expand(source: Source<'_>, info: &[u8]) -> Result<Self, ErrorStack> {
        Self::hkdf(source, EXPAND_ONLY, octets(c"info", info))
    }

    fn hkdf(source: Source<'_>, mode: c_int, data: sys::OSSL_PARAM) -> Result<Self, ErrorStack> {
        let params = [text(c"digest", c"SHA256"), signed(c"mode", &mode), data, end()];
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
        // SAFETY: a valid context; parameters that end with an empty one, whose bytes the callers
        // of this function keep until it returns; OpenSSL copies them.
        check(unsafe { EVP_KDF_CTX_set_params(kdf.ctx, params.as_ptr()) }).map_err(stack)?;
        Ok(kdf)
    }

    /// Derives `out` from a secret.
    pub(crate) fn derive(&mut self, secret: &[u8], out: &mut [u8]) -> Result<(), ErrorStack> {
        let params = [octets(self.secret, secret), end()];
        // SAFETY: a valid context; `out` has its writable bytes; parameters that end with an empty
        // one, whose bytes are only read.
        let done =
            unsafe { sys::EVP_KDF_derive(self.ctx, out.as_mut_ptr(), out.len(), params.as_ptr()) };
        check(done).map_err(stack)
    }
}

impl Drop for Kdf {
    fn drop(&mut self) {
        // SAFETY: owned, freed once.
        unsafe { sys::EVP_KDF_CTX_free(self.ctx) }
    }
}

const fn param(key: &CStr, data_type: u32, data: *const u8, length: usize) -> sys::OSSL_PARAM {
    sys::OSSL_PARAM {
        key: key.as_ptr(),
        data_type,
        data: data.cast_mut().cast(),
        data_size: length,
        return_size: usize::MAX, // OSSL_PARAM_UNMODIFIED
    }
}

const fn end() -> sys::OSSL_PARAM {
    sys::OSSL_PARAM {
        key: ptr::null(),
        data_type: 0,
        data: ptr::null_mut(),
        data_size: 0,
        return_size: 0,
    }
}

fn text(key: &CStr, value: &'static CStr) -> sys::OSSL_PARAM {
    param(key, UTF8_STRING, value.as_ptr().cast(), value.to_bytes().len())
}

fn octets(key: &CStr, value: &[u8]) -> sys::OSSL_PARAM {
    param(key, OCTET_STRING, value.as_ptr(), value.len())
}

fn signed(key: &CStr, value: &c_int) -> sys::OSSL_PARAM {
    param(key, INTEGER, (&raw const *value).cast(), size_of::<c_int>())
}

fn unsigned(key: &CStr, value: &u32) -> sys::OSSL_PARAM {
    param(key, UNSIGNED_INTEGER, (&raw const *value).cast(), size_of::<u32>())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use openssl::hash::MessageDigest;
    use openssl::rsa::Padding as RsaPadding;
    use openssl::sign::{RsaPssSaltlen, Verifier};
    use tollgate_server::in_memory::Worker;
    use tollgate_server::{Config, Engine};

    use super::*;

    fn each_engine(test: impl Fn(Source<'_>, &PKeyRef<Private>)) {
        for engine in [Engine::OpenSsl, Engine::Tollgate] {
            let worker = Worker::new(&Config { engine, ..Config::default() }).unwrap();
            test(Source { library: worker.library(), query: worker.query() }, worker.key());
        }
    }

    #[test]
    fn signatures_verify_and_premasters_come_back() {
        each_engine(|source, key| {
            let public = PKey::public_key_from_der(&key.public_key_to_der().unwrap()).unwrap();
            for padding in [Padding::Pkcs1, Padding::Pss] {
                let signature = sign(source, key, padding, b"message").unwrap();
                let mut verifier = Verifier::new(MessageDigest::sha256(), &public).unwrap();
                if padding == Padding::Pss {
                    verifier.set_rsa_padding(RsaPadding::PKCS1_PSS).unwrap();
                    verifier.set_rsa_pss_saltlen(RsaPssSaltlen::DIGEST_LENGTH).unwrap();
                }
                assert!(verifier.verify_oneshot(&signature, b"message").unwrap(), "{padding:?}");
            }
            let mut premaster = [6; 48];
            premaster[..2].copy_from_slice(&[3, 3]);
            let mut ciphertext = encrypt(source, key, &premaster).unwrap();
            assert_eq!(decrypt(source, key, &ciphertext).unwrap(), premaster);
            ciphertext[9] ^= 1; // no oracle: something else comes, or nothing, but not the secret
            assert_ne!(decrypt(source, key, &ciphertext).ok(), Some(premaster));
        });
    }

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
    fn hkdf_is_that_of_rfc_5869() {
        // Appendix A.1; the expansion cut to one hash.
        let salt: Vec<u8> = (0..=0x0c).collect();
        let info: Vec<u8> = (0xf0..=0xf9).collect();
        each_engine(|source, _| {
            let (mut extracted, mut expanded) = ([0; 32], [0; 32]);
            let mut extract = Kdf::extract(source, &salt).unwrap();
            let mut expand = Kdf::expand(source, &info).unwrap();
            for _ in 0..2 {
                extract.derive(&[0x0b; 22], &mut extracted).unwrap();
                assert_eq!(extracted[..4], [0x07, 0x77, 0x09, 0x36]);
                expand.derive(&extracted, &mut expanded).unwrap();
                assert_eq!(expanded[..4], [0x3c, 0xb2, 0x5f, 0x25]);
            }
        });
    }
}
