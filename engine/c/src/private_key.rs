//! Private keys.

use core::ffi::{c_char, c_int};
use std::sync::Arc;

use tollgate_rsa::PrivateKey;

use crate::arguments::{Place, bytes};
use crate::border::enter;
use crate::code::Failure;
use crate::handle::{self, Handle};
use crate::public_key::{size_of_key, text, tollgate_public_key};

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
