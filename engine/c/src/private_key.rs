//! Private keys.

use core::ffi::{c_char, c_int};
use std::sync::Arc;

use tollgate_rsa::PrivateKey;
use tollgate_rsa::pkcs8::{EncodePrivateKey as _, LineEnding};

use crate::arguments::{Place, bytes};
use crate::border::enter;
use crate::code::Failure;
use crate::handle::{self, Handle};
use crate::public_key::{size_of_key, text, tollgate_public_key, write};

/// A private key of 512 to 8192 bits, checked when it is read. Threads may share it. Operations
/// that were submitted keep what they need of it, so it may be freed before they are done.
pub struct tollgate_private_key(pub(crate) Arc<PrivateKey>);

impl Handle for tollgate_private_key {
    const NAME: &str = "tollgate_private_key";
    const MAGIC: &[u8; 8] = b"tollpriv";
}

/// Reads an unencrypted private key in DER: PKCS#8 or PKCS#1. Free it with
/// tollgate_private_key_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_private_key_from_der(
    der: *const u8,
    der_len: usize,
    key: *mut *mut tollgate_private_key,
) -> c_int {
    enter(|| {
        // SAFETY: the caller's promise.
        let key = unsafe { Place::new("key", key) }?;
        // SAFETY: the caller's promise.
        handle::create(key, || unsafe { bytes("der", der, der_len) }.and_then(read))
    })
}

/// Reads an unencrypted private key in PEM, as tollgate_private_key_from_der(). Other text around
/// the key is skipped. pem_len does not count a NUL at the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_private_key_from_pem(
    pem: *const c_char,
    pem_len: usize,
    key: *mut *mut tollgate_private_key,
) -> c_int {
    enter(|| {
        // SAFETY: the caller's promise.
        let key = unsafe { Place::new("key", key) }?;
        handle::create(key, || {
            // SAFETY: the caller's promise.
            let pem = unsafe { text("pem", pem, pem_len) }?;
            Ok(tollgate_private_key(Arc::new(PrivateKey::from_pem(pem)?)))
        })
    })
}

/// Generates a key of an even number of bits from 2048 to 8192, with e = 65537.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_private_key_generate(
    bits: usize,
    key: *mut *mut tollgate_private_key,
) -> c_int {
    enter(|| {
        // SAFETY: the caller's promise.
        let key = unsafe { Place::new("key", key) }?;
        handle::create(key, || Ok(tollgate_private_key(Arc::new(PrivateKey::generate(bits)?))))
    })
}

/// Writes the key in DER, as PKCS#8, and sets der_len. If der is NULL, only sets der_len, to the
/// bytes that are needed. The result is secret: wipe it after use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_private_key_to_der(
    key: *const tollgate_private_key,
    der: *mut u8,
    der_capacity: usize,
    der_len: *mut usize,
) -> c_int {
    enter(|| {
        // SAFETY: the caller's promise.
        let der_len = unsafe { Place::new("der_len", der_len) }?;
        der_len.set(0);
        // SAFETY: the caller's promise.
        let key = unsafe { handle::borrow("key", key) }?;
        let document = key.0.to_pkcs8_der().map_err(Failure::of_encoding)?;
        // SAFETY: the caller's promise.
        unsafe { write("der", document.as_bytes(), der, der_capacity, der_len) }
    })
}

/// Writes the key in PEM, as tollgate_private_key_to_der(), without a NUL at the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_private_key_to_pem(
    key: *const tollgate_private_key,
    pem: *mut c_char,
    pem_capacity: usize,
    pem_len: *mut usize,
) -> c_int {
    enter(|| {
        // SAFETY: the caller's promise.
        let pem_len = unsafe { Place::new("pem_len", pem_len) }?;
        pem_len.set(0);
        // SAFETY: the caller's promise.
        let key = unsafe { handle::borrow("key", key) }?;
        let document = key.0.to_pkcs8_pem(LineEnding::LF).map_err(Failure::of_encoding)?;
        // SAFETY: the caller's promise.
        unsafe { write("pem", document.as_bytes(), pem.cast(), pem_capacity, pem_len) }
    })
}

/// Returns the length of the modulus in bits, or 0 if key is no key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_private_key_bits(key: *const tollgate_private_key) -> usize {
    // SAFETY: the caller's promise.
    size_of_key(|| Ok(unsafe { handle::borrow("key", key) }?.0.bits()))
}

/// Returns the length in bytes of the modulus, of a signature and of a ciphertext, or 0 if key is
/// no key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_private_key_size(key: *const tollgate_private_key) -> usize {
    // SAFETY: the caller's promise.
    size_of_key(|| Ok(unsafe { handle::borrow("key", key) }?.0.size()))
}

/// Copies the public half. Free it with tollgate_public_key_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_private_key_public(
    key: *const tollgate_private_key,
    public_key: *mut *mut tollgate_public_key,
) -> c_int {
    enter(|| {
        // SAFETY: the caller's promise.
        let public_key = unsafe { Place::new("public_key", public_key) }?;
        handle::create(public_key, || {
            // SAFETY: the caller's promise.
            let key = unsafe { handle::borrow("key", key) }?;
            Ok(tollgate_public_key(key.0.public().clone()))
        })
    })
}

/// Frees a key and wipes its secrets, once no submitted operation uses it. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_private_key_free(key: *mut tollgate_private_key) -> c_int {
    // SAFETY: the caller's promise.
    enter(|| unsafe { handle::free("key", key) })
}

fn read(der: &[u8]) -> Result<tollgate_private_key, Failure> {
    Ok(tollgate_private_key(Arc::new(PrivateKey::from_der(der)?)))
}
